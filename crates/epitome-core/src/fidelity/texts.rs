//! The texts of a message as a reader sees them: what is said, what calls are given, what tools answer.

use std::borrow::Cow;

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

/// The texts of a message, in order.
pub(super) fn texts(message: &Message) -> Vec<(Voice, Cow<'_, str>)> {
    let said = match message.role {
        Role::User => Voice::User,
        Role::Assistant => Voice::Agent,
        _ => Voice::Other,
    };
    let found = message.blocks.iter().filter_map(|block| text(block, said));
    found.filter(|(_, text)| !text.trim().is_empty()).collect()
}

fn text(block: &Block, said: Voice) -> Option<(Voice, Cow<'_, str>)> {
    match block {
        Block::Text(text) => Some((said, Cow::Borrowed(text.text.as_str()))),
        Block::ToolUse(call) | Block::ServerToolUse(call) => {
            Some((Voice::Call, Cow::Owned(values(&call.input))))
        }
        Block::Thinking(thinking) => Some((Voice::Thought, Cow::Borrowed(thinking.text.as_str()))),
        Block::ToolResult(_) => text_of(block).map(|text| (Voice::Other, text)),
        Block::ServerToolResult(result) => Some((Voice::Other, Cow::Owned(result.joined_text()))),
        _ => None,
    }
}

/// The strings and numbers of a JSON text, each on lines of its own; of broken JSON the text itself.
///
/// Names of arguments belong to the tool, not to what was done with it.
pub(super) fn values(json: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(json) else { return json.to_owned() };
    let mut found = Vec::new();
    collect(&value, &mut found);
    found.join("\n")
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        Value::Null | Value::Bool(_) => {}
    }
}
