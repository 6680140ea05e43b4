//! What can be searched for in a body: the texts in it, whatever notation it is in.
//!
//! A body may be the record of a message as a tool wrote it, with the message inside, or several such records, some of which
//! are not messages. Only messages are read.

use serde_json::{Map, Value};

/// Keys whose values are names and proofs for machines, not words for people.
const SILENT: &[&str] = &[
    "cache_control",
    "call_id",
    "encrypted_content",
    "id",
    "media_type",
    "role",
    "signature",
    "thinkingSignature",
    "thoughtSignature",
    "tool_call_id",
    "tool_use_id",
    "toolCallId",
    "type",
    "usage",
];

/// Keys of a message that tell of the call, not of what was said.
const CIRCUMSTANCES: &[&str] =
    &["api", "model", "provider", "status", "stop_reason", "stop_sequence", "stopReason", "timestamp"];

/// Keys under which the records of tools hold a message.
const ENVELOPES: &[&str] = &["message", "payload"];

/// Keys of which a message has at least one.
const SPEAKING: &[&str] = &["role", "content", "output", "arguments", "input", "action", "summary"];

/// Texts longer than this without a space are content in base64, not words.
const LONGEST_UNBROKEN: usize = 1024;

/// The texts of a body, apart by line breaks: its strings where it is JSON, else all of it.
pub(crate) fn text_of(body: &[u8]) -> String {
    let whole = String::from_utf8_lossy(body);
    let mut text = String::with_capacity(body.len());
    match records(&whole) {
        Some(records) => records.iter().for_each(|record| message(record, &mut text)),
        None => text.push_str(&whole),
    }
    text
}

fn message(value: &Value, text: &mut String) {
    let Some(object) = value.as_object().filter(|object| speaks(object)) else { return collect(value, text) };
    let said = |key: &str| !SILENT.contains(&key) && !CIRCUMSTANCES.contains(&key);
    object.iter().filter(|(key, _)| said(key)).for_each(|(_, field)| collect(field, text));
}

// One value is what it is; of several only messages count.
fn records(text: &str) -> Option<Vec<Value>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut values = values.collect::<Result<Vec<_>, _>>().ok()?;
    if values.len() > 1 {
        values.retain(|value| {
            value.as_object().is_some_and(|object| inside(object).is_some() || speaks(object))
        });
    }
    let opened = values.into_iter().map(|value| match value.as_object().and_then(inside) {
        Some(message) => Value::Object(message.clone()),
        None => value,
    });
    Some(opened.collect())
}

// The message that a record holds.
fn inside(record: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let inner = ENVELOPES.iter().find_map(|key| record.get(*key)?.as_object());
    inner.filter(|inner| speaks(inner))
}

fn speaks(object: &Map<String, Value>) -> bool {
    object.keys().any(|key| SPEAKING.contains(&key.as_str()))
}

fn structured(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten()
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => say(string, text),
        Value::Number(number) => say(&number.to_string(), text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::Object(fields) => {
            let audible = fields.iter().filter(|(key, _)| !SILENT.contains(&key.as_str()));
            audible.for_each(|(_, field)| collect(field, text));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn say(string: &str, text: &mut String) {
    // Tool arguments are often JSON inside a string, with escapes that would stick to the words.
    if let Some(inner) = structured(string) {
        return collect(&inner, text);
    }
    let unbroken = || !string.contains(|letter: char| letter.is_whitespace());
    if string.len() > LONGEST_UNBROKEN && unbroken() {
        return;
    }
    text.push_str(string);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_are_read() {
        let cases = [
            (r#"{"role":"user","content":"one"}"#, "one\n"),
            (r#"{"role":"user","content":"one","model":"m","usage":{"input":7}}"#, "one\n"),
            (r#"{"role":"assistant","content":[{"input":{"model":"one"}}]}"#, "one\n"),
            (r#"{"type":"user","uuid":"u","cwd":"/x","message":{"role":"user","content":"one"}}"#, "one\n"),
            (r#"{"timestamp":"t","payload":{"type":"message","content":[{"text":"one"}]}}"#, "one\n"),
            ("{\"type\":\"mode\",\"mode\":\"x\"}\n{\"role\":\"user\",\"content\":\"one\"}", "one\n"),
            ("{\"payload\":{\"stdout\":\"x\"}}\n{\"payload\":{\"output\":\"one\"}}", "one\n"),
            (r#"{"message":"a channel's event"}"#, "a channel's event\n"),
            ("plain words", "plain words"),
            ("{broken", "{broken"),
        ];
        for (body, expected) in cases {
            assert_eq!(text_of(body.as_bytes()), expected, "{body}");
        }
    }
}
