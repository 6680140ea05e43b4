//! The texts of a message as a reader sees them: what is said, what calls are given, what tools answer.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::message::{Block, Message, Role};
use crate::prune::text_of;

/// Where a text of a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// The user's words.
    User,
    /// The agent's words.
    Agent,
    /// What the agent gives a tool.
    Call,
    /// What the agent thinks, which nobody asks for and which gives it nothing new.
    Thought,
    /// What a tool answers, what the operator says, or anything else.
    Other,
}

/// A text of a message.
#[derive(Clone, Debug)]
pub(super) struct Said<'m> {
    pub(super) voice: Voice,
    pub(super) text: Cow<'m, str>,
    /// The parts of it that its author chose: of a call its values, not the names of its arguments.
    pub(super) own: Vec<Range<usize>>,
}

/// The texts of a message, in order.
pub(super) fn texts(message: &Message) -> Vec<Said<'_>> {
    let voice = match message.role {
        Role::User => Voice::User,
        Role::Assistant => Voice::Agent,
        _ => Voice::Other,
    };
    let said = message.blocks.iter().filter_map(|block| text(block, voice));
    said.filter(|said| !said.text.trim().is_empty()).collect()
}

fn text(block: &Block, voice: Voice) -> Option<Said<'_>> {
    let (voice, text) = match block {
        Block::Text(text) => (voice, Cow::Borrowed(text.text.as_str())),
        Block::ToolUse(call) | Block::ServerToolUse(call) => return Some(Call::read(&call.input)),
        Block::Thinking(thinking) => (Voice::Thought, Cow::Borrowed(thinking.text.as_str())),
        Block::ToolResult(_) => (Voice::Other, text_of(block)?),
        Block::ServerToolResult(result) => (Voice::Other, Cow::Owned(result.joined_text())),
        _ => return None,
    };
    let own = std::iter::once(0..text.len()).collect();
    Some(Said { voice, text, own })
}

/// The arguments of a call, written out with their strings as they were meant: a line break is a line break.
#[derive(Default)]
struct Call {
    text: String,
    own: Vec<Range<usize>>,
}

impl Call {
    // Models sometimes write broken JSON; that is taken as it is.
    fn read(json: &str) -> Said<'static> {
        let mut call = Self::default();
        match serde_json::from_str::<Value>(json) {
            Ok(value) => call.write(&value),
            Err(_) => call.own(json),
        }
        Said { voice: Voice::Call, text: Cow::Owned(call.text), own: call.own }
    }

    fn write(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                self.text.push('"');
                self.own(text);
                self.text.push('"');
            }
            Value::Array(values) => {
                self.text.push('[');
                for (at, value) in values.iter().enumerate() {
                    self.text.push_str(if at > 0 { ", " } else { "" });
                    self.write(value);
                }
                self.text.push(']');
            }
            Value::Object(fields) => {
                self.text.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    self.text.push_str(if at > 0 { ", \"" } else { "\"" });
                    self.text.push_str(name);
                    self.text.push_str("\": ");
                    self.write(value);
                }
                self.text.push('}');
            }
            other => self.own(&other.to_string()),
        }
    }

    fn own(&mut self, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.own.push(start..self.text.len());
    }
}
