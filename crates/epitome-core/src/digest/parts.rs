//! What a stretch of messages says, block by block, as text that can be quoted.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use serde_json::Value;

use super::quick::{QuickHasher, QuickMap};
use crate::compact::is_summary;
use crate::message::{Block, Message, Role};
use crate::outline::Entry;
use crate::secrets::masked;
use crate::turn::is_framed;

/// Who speaks, which says a lot about what will be needed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Voice {
    /// A person.
    User,
    /// The agent, to the user or to itself.
    Agent,
    /// The agent, to a tool.
    Call,
    /// A tool.
    Tool,
    /// The program around the agent, in a person's name: the state of a folder, reminders, what tools there are.
    Frame,
}

impl Voice {
    /// The role under which a quotation stands.
    pub(super) fn role(self) -> Role {
        match self {
            Voice::User | Voice::Frame => Role::User,
            Voice::Agent | Voice::Call => Role::Assistant,
            Voice::Tool => Role::Tool,
        }
    }
}

/// Instructions between two turns are short; what is longer describes the place of work.
const INSTRUCTION: usize = 400;

/// The text of one block.
pub(super) struct Part<'m> {
    /// The message's number in the path, and the block's in it.
    pub(super) message: usize,
    pub(super) block: usize,
    pub(super) voice: Voice,
    pub(super) text: Cow<'m, str>,
    /// Tokens for a byte of it.
    pub(super) density: f32,
    /// Whether the same call was answered again later: a file that was read again, a test that was run again.
    pub(super) stale: bool,
}

/// The parts of these messages, in their order.
pub(super) fn parts<'m>(
    path: &[Entry],
    messages: &'m [Message],
    range: Range<usize>,
    masks: bool,
) -> Vec<Part<'m>> {
    let mut parts = Vec::new();
    let mut answers = Answers::default();
    for at in range {
        let (Some(entry), Some(message)) = (path.get(at), messages.get(at)) else { continue };
        if is_summary(message) {
            continue;
        }
        for (number, (block, outline)) in message.blocks.iter().zip(&entry.outline.blocks).enumerate() {
            let Some((voice, text)) = said(message.role, block, masks) else { continue };
            let text = if masks { without_secrets(text) } else { text };
            if !text.trim().is_empty() {
                let density = outline.tokens.0 as f32 / text.len() as f32;
                answers.take(block, &text, parts.len());
                parts.push(Part { message: at, block: number, voice, text, density, stale: false });
            }
        }
    }
    for stale in answers.stale {
        if let Some(part) = parts.get_mut(stale) {
            part.stale = true;
        }
    }
    parts
}

/// Which results were replaced by a later one of the same call.
#[derive(Default)]
struct Answers<'m> {
    /// What each call asks for.
    calls: QuickMap<&'m str, u64>,
    /// The part that answers it last.
    last: QuickMap<u64, usize>,
    stale: Vec<usize>,
}

impl<'m> Answers<'m> {
    fn take(&mut self, block: &'m Block, text: &str, part: usize) {
        match block {
            Block::ToolUse(call) => {
                let mut hasher = QuickHasher::default();
                text.hash(&mut hasher);
                self.calls.insert(&call.id, hasher.finish());
            }
            Block::ToolResult(result) => {
                if let Some(call) = self.calls.get(result.call_id.as_str()) {
                    self.stale.extend(self.last.insert(*call, part));
                }
            }
            _ => {}
        }
    }
}

fn without_secrets(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => masked(text),
        Cow::Owned(text) => match masked(&text) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(masked) => Cow::Owned(masked),
        },
    }
}

fn said(role: Role, block: &Block, masks: bool) -> Option<(Voice, Cow<'_, str>)> {
    match block {
        Block::Text(text) => {
            let voice = match role {
                Role::Assistant => Voice::Agent,
                Role::Tool => Voice::Tool,
                Role::System if text.text.len() > INSTRUCTION => Voice::Frame,
                _ if is_framed(&text.text) => Voice::Frame,
                _ => Voice::User,
            };
            Some((voice, Cow::Borrowed(&text.text)))
        }
        Block::ToolUse(call) | Block::ServerToolUse(call) => {
            // The name of a field may tell that it is a secret, and may be gone once it is written down.
            let input = if masks { masked(&call.input) } else { Cow::Borrowed(call.input.as_str()) };
            Some((Voice::Call, Cow::Owned(written(&call.name, &input))))
        }
        Block::ToolResult(result) | Block::ServerToolResult(result) => {
            let text = match result.content.as_slice() {
                [Block::Text(only)] => Cow::Borrowed(only.text.as_str()),
                _ => Cow::Owned(result.joined_text()),
            };
            Some((Voice::Tool, text))
        }
        // Thinking belongs to the turn it was thought in; media and what is opaque cannot be quoted.
        _ => None,
    }
}

/// A call as a person would write it down: a script with its own line breaks, not with those that JSON puts into it.
pub(crate) fn written(name: &str, input: &str) -> String {
    let arguments = match input.contains('\\') {
        true => serde_json::from_str(input).ok(),
        false => None,
    };
    match arguments {
        Some(Value::Object(fields)) if !fields.is_empty() => {
            let only = fields.len() == 1;
            let written = fields.iter().map(|(key, value)| match value {
                Value::String(text) if only => text.clone(),
                Value::String(text) => format!("{key}: {text}"),
                other => format!("{key}: {other}"),
            });
            format!("{name} {}", written.collect::<Vec<_>>().join("\n"))
        }
        _ => format!("{name} {input}"),
    }
}
