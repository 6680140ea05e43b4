//! Marks: what is to be done to one block of a message, and what that makes of its size.

use serde::{Deserialize, Serialize};

use crate::outline::{BlockOutline, Entry};
use crate::units::{Chars, Tokens};

/// What becomes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Only its start and its end stay, around a marker.
    Trim {
        /// How much of its start.
        head: Chars,
        /// How much of its end.
        tail: Chars,
    },
    /// A marker stands for all of it.
    Clear {
        /// How much of its end stays behind the marker, because it is an error.
        tail: Chars,
    },
    /// Only its start stays, before a marker.
    Truncate {
        /// How much of it.
        keep: Chars,
    },
    /// It is left out without a trace.
    Remove,
}

/// The rule that made a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// `tool_result_max_chars`: no result is longer, however new.
    Cap,
    /// `tool_soft_trim_chars`: long results outside the protected zone keep head and tail.
    SoftTrim,
    /// `tool_hard_clear_after`: very old results are cleared.
    HardClear,
    /// `max_message_chars`: long texts of earlier exchanges are cut short.
    LongText,
    /// Thinking that is bound to a prefix goes when the prefix changes.
    BoundThinking,
}

/// A mark on a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marked {
    /// The message's number in the path.
    pub message: usize,
    /// The block's number in the message.
    pub block: usize,
    /// What becomes of the block.
    pub mark: Mark,
    /// Why.
    pub rule: Rule,
    /// Whose text it is: the tool's name, or the speaker's role.
    pub speaker: String,
}

impl Marked {
    /// The block that it is on.
    pub fn subject<'a>(&'a self, path: &'a [Entry]) -> Option<Subject<'a>> {
        let outline = path.get(self.message)?.outline.blocks.get(self.block)?;
        Some(Subject { message: self.message, block: self.block, speaker: &self.speaker, outline })
    }
}

/// What something costs: in tokens, and in bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Tokens.
    pub tokens: Tokens,
    /// Bytes.
    pub bytes: usize,
}

impl Size {
    /// Both sums.
    pub fn plus(self, other: Size) -> Size {
        Size { tokens: self.tokens + other.tokens, bytes: self.bytes.saturating_add(other.bytes) }
    }

    /// Both differences, or zero where one would be negative.
    pub fn minus(self, other: Size) -> Size {
        Size { tokens: self.tokens - other.tokens, bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// Whether it costs fewer tokens than the other and no more bytes.
    pub(crate) fn is_below(self, other: Size) -> bool {
        self.tokens < other.tokens && self.bytes <= other.bytes
    }
}

/// A block that a rule looks at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The message's number in the path.
    pub message: usize,
    /// The block's number in the message.
    pub block: usize,
    /// Whose text it is: the tool's name, or the speaker's role.
    pub speaker: &'a str,
    /// What is known of the block.
    pub outline: &'a BlockOutline,
}

impl Subject<'_> {
    /// The block as it is.
    pub fn size(&self) -> Size {
        Size { tokens: self.outline.tokens, bytes: self.outline.bytes }
    }

    /// The block with a mark on it.
    pub(crate) fn marked(&self, mark: Mark, rule: Rule) -> Marked {
        Marked { message: self.message, block: self.block, mark, rule, speaker: self.speaker.to_owned() }
    }

    /// The thinking block, removed.
    pub(crate) fn removed(&self) -> Marked {
        self.marked(Mark::Remove, Rule::BoundThinking)
    }
}

/// Tells the exact sizes of blocks under a mark.
///
/// The planner asks only for what a decision hangs on, and never twice for the same; an implementation
/// that serves many requests caches by content.
pub trait Sizes {
    /// The block under `mark`; never asked for [`Mark::Remove`].
    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size;
}
