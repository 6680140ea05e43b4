//! Outlines: what a decision needs to know of a message, without its text.
//!
//! Counting and reading a message is done once, when its outline is built. Outlines are cached by the
//! hash of the message's bytes, so a request that repeats 400 known messages costs 400 look-ups.

use std::sync::Arc;

use crate::hash::RecallId;
use crate::message::{BlockKind, Role};
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
    /// Whether it is or contains an image or a document.
    pub has_media: bool,
    /// Whether a tool reported failure.
    pub is_error: bool,
    /// The recall id of its text.
    pub recall: Option<RecallId>,
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
