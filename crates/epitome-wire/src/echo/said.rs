//! What a reply says, message by message: its texts, its calls, and what clients may leave out.

use epitome_core::{Block, ToolUse};

use super::thoughts;
use crate::dialect::Dialect;
use crate::json::{Span, members, string, value};
use crate::message::decode_message;

/// A reply, taken apart.
#[derive(Clone, Default)]
pub(super) struct Said {
    /// How many messages it has.
    pub(super) messages: usize,
    /// The ids of those that have one.
    pub(super) ids: Vec<(usize, String)>,
    /// Those that say nothing at all.
    pub(super) empty: Vec<usize>,
    /// Texts that are not blank, each with its message.
    pub(super) texts: Vec<(usize, String)>,
    /// Calls of the client's tools.
    pub(super) calls: Vec<(usize, ToolUse)>,
    /// All else.
    pub(super) rest: Vec<(usize, Block)>,
}

impl Said {
    /// `None` where a message cannot be read.
    pub(super) fn read(dialect: Dialect, reply: &[&str]) -> Option<Self> {
        let mut said = Self { messages: reply.len(), ..Self::default() };
        for (at, json) in reply.iter().enumerate() {
            let (message, _) = decode_message(dialect, json).ok()?;
            said.ids.extend(id_of(json).map(|id| (at, id)));
            let is_blank = |block: &Block| matches!(block, Block::Text(text) if text.text.trim().is_empty());
            if message.blocks.iter().all(is_blank) {
                said.empty.push(at);
            }
            for block in message.blocks {
                match block {
                    block if is_blank(&block) => {}
                    Block::Text(text) => said.texts.push((at, text.text)),
                    Block::ToolUse(call) => said.calls.push((at, call)),
                    block => said.rest.push((at, block)),
                }
            }
        }
        Some(said)
    }

    /// Whether it has text or calls, without which a client may drop it.
    pub(super) fn says_anything(&self) -> bool {
        !self.texts.is_empty() || !self.calls.is_empty()
    }

    /// The same without the thought that stands before the text, which servers of one's own leave there and clients take out.
    pub(super) fn without_thoughts(&self) -> Option<Self> {
        let (_, first) = self.texts.first()?;
        let rest = thoughts::left_of(first)?;
        let mut said = self.clone();
        match rest.trim().is_empty() {
            true => drop(said.texts.remove(0)),
            false => rest.clone_into(&mut said.texts.first_mut()?.1),
        }
        Some(said)
    }
}

/// The `id` of an item.
pub(super) fn id_of(json: &str) -> Option<String> {
    let whole = value(json).ok()?;
    let mut fields = members(json, whole).map_while(Result::ok);
    let (_, span): (_, Span) = fields.find(|(key, _)| key == "id")?;
    string(json, span).ok().map(|id| id.into_owned()).filter(|id| !id.is_empty())
}
