//! When a call, a thought or another block is the one that was given.

use epitome_core::{Block, Thinking, ToolUse};
use serde_json::Value;

use crate::node::field_string;

/// Whether a client sends back the call that was made: the tool, the id and the arguments.
pub(super) fn call(said: &ToolUse, sent: &ToolUse) -> bool {
    said.name == sent.name && ids(&said.id, &sent.id) && arguments(&said.input, &sent.input)
}

/// Clients put ids into the form that another provider asks for, and some have none to send.
pub(super) fn ids(one: &str, other: &str) -> bool {
    let plain = |id: &str| -> String {
        let sound = |character: char| character.is_ascii_alphanumeric() || character == '-';
        id.chars().take(64).map(|character| if sound(character) { character } else { '_' }).collect()
    };
    one.is_empty() || other.is_empty() || one == other || plain(one) == plain(other)
}

// Arguments that are no JSON come back as they were, or as a string of JSON.
fn arguments(said: &str, sent: &str) -> bool {
    let read = |text: &str| match text.trim() {
        "" => Some(Value::Object(serde_json::Map::new())),
        text => serde_json::from_str::<Value>(text).ok(),
    };
    match (read(said), read(sent)) {
        (Some(said), Some(sent)) => values(&said, &sent),
        (None, Some(Value::String(sent))) => said == sent,
        _ => said == sent,
    }
}

// Numbers as JavaScript reads them: whoever re-writes arguments has read them first.
fn values(said: &Value, sent: &Value) -> bool {
    match (said, sent) {
        (Value::Number(said), Value::Number(sent)) => said == sent || said.as_f64() == sent.as_f64(),
        (Value::Array(said), Value::Array(sent)) => {
            said.len() == sent.len() && said.iter().zip(sent).all(|(said, sent)| values(said, sent))
        }
        (Value::Object(said), Value::Object(sent)) => {
            let alike = |(key, said): (&String, &Value)| sent.get(key).is_some_and(|sent| values(said, sent));
            let is_said = |(key, value): (&String, &Value)| said.contains_key(key) || is_unset(value);
            said.iter().all(alike) && sent.iter().all(is_said)
        }
        _ => said == sent,
    }
}

// What clients put in where the model left an argument out.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether a block that clients may leave out is the same where they do not.
pub(super) fn optional(one: &Block, other: &Block) -> bool {
    match (one, other) {
        (Block::Thinking(one), Block::Thinking(other)) => thinking(one, other),
        (Block::RedactedThinking(one), Block::RedactedThinking(other)) => {
            let data = |raw: &str| serde_json::from_str::<Value>(raw).ok().map(|block| block["data"].clone());
            data(one.raw.as_str()) == data(other.raw.as_str())
        }
        (Block::ServerToolUse(one), Block::ServerToolUse(other)) => {
            one.name == other.name && ids(&one.id, &other.id)
        }
        (Block::ToolResult(one), Block::ToolResult(other))
        | (Block::ServerToolResult(one), Block::ServerToolResult(other)) => ids(&one.call_id, &other.call_id),
        (Block::Unknown(one), Block::Unknown(other)) => one.kind == other.kind,
        _ => one.kind() == other.kind(),
    }
}

/// What a refusal says, if the block is one: Chat Completions has a field for it, Responses a part.
pub(super) fn refusal(block: &Block) -> Option<String> {
    let Block::Unknown(opaque) = block else { return None };
    let json: Value = serde_json::from_str(opaque.raw.as_str()).ok().filter(|_| opaque.kind == "refusal")?;
    json.as_str().or_else(|| json["refusal"].as_str()).map(str::to_owned)
}

fn thinking(one: &Thinking, other: &Thinking) -> bool {
    let id = |thinking: &Thinking| field_string(&thinking.extra, "id");
    let texts = one.text.trim() == other.text.trim();
    match (&one.signature, &other.signature) {
        // A seal vouches for its thought; some clients leave the thought out and keep the seal.
        (Some(one), Some(other)) if !one.is_empty() && !other.is_empty() => one == other,
        _ => texts || id(one).is_some() && id(one) == id(other),
    }
}
