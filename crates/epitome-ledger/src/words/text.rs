//! What can be searched for in a body: the texts in it, whatever notation it is in.

use serde_json::Value;

/// Keys whose values are names and proofs for machines, not words for people.
const SILENT: &[&str] = &[
    "cache_control",
    "call_id",
    "encrypted_content",
    "id",
    "media_type",
    "role",
    "signature",
    "thoughtSignature",
    "tool_call_id",
    "tool_use_id",
    "type",
];

/// Texts longer than this without a space are content in base64, not words.
const LONGEST_UNBROKEN: usize = 1024;

/// The texts of a body, apart by line breaks: its strings where it is JSON, else all of it.
pub(crate) fn text_of(body: &[u8]) -> String {
    let whole = String::from_utf8_lossy(body);
    let mut text = String::with_capacity(body.len());
    match structured(&whole) {
        Some(value) => collect(&value, &mut text),
        None => text.push_str(&whole),
    }
    text
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
