//! Outlines: what a decision needs to know of a message, without its text.
//!
//! Counting and reading a message is done once, when its outline is built. Outlines are cached by the
//! hash of the message's bytes, so a request that repeats 400 known messages costs 400 look-ups.

use std::sync::Arc;

use crate::hash::RecallId;
use crate::message::{Block, BlockKind, Message, Role, ToolResult, ToolUse};
use crate::prune::{Outcome, Pruned, TextFacts, compact_bytes, read_text};
use crate::tokens::{Counter, MESSAGE_OVERHEAD};
use crate::units::{Chars, Time, Tokens};

/// What there is to know of a message without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Who speaks.
    pub role: Role,
    /// Tokens of the whole message, structural overhead included.
    pub tokens: Tokens,
    /// Bytes of the message on the wire.
    pub bytes: usize,
    /// Its blocks, in order.
    pub blocks: Vec<BlockOutline>,
}

impl Outline {
    /// Reads and counts a message that takes `bytes` on the wire.
    pub fn of(message: &Message, counter: &Counter, bytes: usize) -> Self {
        let blocks: Vec<_> = message.blocks.iter().map(|block| BlockOutline::of(block, counter)).collect();
        let tokens = MESSAGE_OVERHEAD + blocks.iter().map(|block| block.tokens).sum();
        Self { role: message.role, tokens, bytes, blocks }
    }

    /// The same, its blocks being written in so many bytes: escapes and spaces can double a text's length.
    pub fn written_in(mut self, bytes: impl IntoIterator<Item = usize>) -> Self {
        for (block, bytes) in self.blocks.iter_mut().zip(bytes) {
            block.bytes = bytes;
        }
        self
    }
}

/// What there is to know of a block without its text.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockOutline {
    /// What kind of block it is.
    pub kind: BlockKind,
    /// The tool call it makes or answers.
    pub tool: Option<ToolRef>,
    /// Its tokens.
    pub tokens: Tokens,
    /// Its text's length: of a tool result all its texts, of a tool call name and arguments.
    pub chars: Chars,
    /// Bytes on the wire of what pruning would replace: its text, of thinking the whole block.
    pub bytes: usize,
    /// Whether it is an image or a document, or a tool result that contains anything but text.
    pub has_media: bool,
    /// Whether a tool reported failure.
    pub is_error: bool,
    /// The recall id of its text.
    pub recall: Option<RecallId>,
    /// How much of its end looks like an error, and so outlives a clearing.
    pub error_tail: Chars,
    /// What an earlier pruning left of a longer text, where the text says so itself.
    pub pruned: Option<Pruned>,
}

impl BlockOutline {
    /// Reads and counts a block.
    pub fn of(block: &Block, counter: &Counter) -> Self {
        let mut outline = Self {
            kind: block.kind(),
            tool: None,
            tokens: counter.block(block),
            chars: Chars::ZERO,
            bytes: compact_bytes(block),
            has_media: false,
            is_error: false,
            recall: None,
            error_tail: Chars::ZERO,
            pruned: None,
        };
        match block {
            Block::Text(text) => outline.take(read_text(&text.text, Outcome::Unknown)),
            Block::ToolUse(call) | Block::ServerToolUse(call) => outline.read_call(call),
            Block::ToolResult(result) | Block::ServerToolResult(result) => outline.read_result(result),
            Block::Thinking(thinking) => outline.chars = Chars::of(&thinking.text),
            Block::Image(_) | Block::Document(_) => outline.has_media = true,
            Block::RedactedThinking(opaque) | Block::Compaction(opaque) | Block::Unknown(opaque) => {
                outline.chars = Chars::of(opaque.raw.as_str());
            }
        }
        outline
    }

    fn take(&mut self, facts: TextFacts) {
        let TextFacts { chars, recall, error_tail, pruned } = facts;
        (self.chars, self.recall, self.error_tail, self.pruned) = (chars, Some(recall), error_tail, pruned);
    }

    fn read_call(&mut self, call: &ToolUse) {
        self.tool = Some(ToolRef { id: call.id.clone(), name: Some(call.name.clone()) });
        self.chars = Chars::of(&call.name) + Chars::of(&call.input);
    }

    fn read_result(&mut self, result: &ToolResult) {
        let outcome = if result.is_error { Outcome::Failed } else { Outcome::Unknown };
        self.take(read_text(&result.joined_text(), outcome));
        self.tool = Some(ToolRef { id: result.call_id.clone(), name: result.name.clone() });
        self.has_media = result.content.iter().any(|block| !matches!(block, Block::Text(_)));
        self.is_error = result.is_error;
    }
}

/// A tool call's id and tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRef {
    /// The call's id.
    pub id: String,
    /// The tool's name; of a result only where its source says it.
    pub name: Option<String>,
}

/// A message's place in a conversation: its outline and when it was written.
///
/// The time stands beside the outline, not in it, because equal messages share one outline.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The message.
    pub outline: Arc<Outline>,
    /// When it was written, where that is known.
    pub time: Option<Time>,
}
