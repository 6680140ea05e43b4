//! The body of a request. Parts that were sent before go in as they are, byte for byte.

use epitome_core::{Message, Role};
use epitome_wire::{Dialect, WireError, count_breakpoints, encode_message, room_for_breakpoint};
use serde_json::{Value, json};

use crate::call::{Call, Delivery};
use crate::manners::{Effort, Manners};

/// The body that asks `model` for this.
pub(crate) fn body(
    dialect: Dialect,
    model: &str,
    call: &Call,
    manners: Manners,
) -> Result<String, WireError> {
    let mut fields = vec![("model", json!(model).to_string())];
    let prefix = call.prefix.clone().unwrap_or_default();
    let marks: usize = prefix.system.iter().chain(&prefix.tools).map(|json| count_breakpoints(json)).sum();
    let mut messages = prefix.messages;
    match dialect {
        Dialect::Anthropic => fields.extend(system("system", prefix.system, &call.system)),
        Dialect::Responses => fields.extend(system("instructions", prefix.system, &call.system)),
        // What went before already begins with the system prompt.
        _ if call.prefix.is_none() && !call.system.is_empty() => {
            messages.extend(encode_message(dialect, &Message::text(Role::System, call.system.as_str()))?);
        }
        _ => {}
    }
    if let Some(tools) = prefix.tools {
        fields.push(("tools", tools));
    }
    for message in &call.messages {
        messages.extend(encode_message(dialect, message)?);
    }
    let is_behind = dialect == Dialect::Anthropic && call.prefix.is_some();
    if is_behind
        && room_for_breakpoint(marks, &mut messages)
        && let Some(last) = messages.last_mut()
    {
        *last = with_breakpoint(last);
    }
    let list = if dialect == Dialect::Responses { "input" } else { "messages" };
    fields.push((list, format!("[{}]", messages.join(","))));
    let own = limits(dialect, call, manners).into_iter().map(|(key, value)| (key, value.to_string()));
    let sent = prefix.fields.iter().map(|(key, json)| (key.as_str(), json.clone()));
    fields.extend(own.filter(|(key, _)| prefix.fields.iter().all(|(sent, _)| sent != key)));
    fields.extend(sent);
    let members: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    Ok(format!("{{{}}}", members.join(",")))
}

// Anthropic looks for what it has cached at such marks, and at what stands shortly before them.
fn with_breakpoint(message: &str) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(message) else { return message.to_owned() };
    let mark = json!({"type": "ephemeral"});
    match &mut message["content"] {
        Value::Array(blocks) => {
            if let Some(Value::Object(last)) = blocks.last_mut() {
                last.insert("cache_control".to_owned(), mark);
            }
        }
        content => *content = json!([{"type": "text", "text": content.take(), "cache_control": mark}]),
    }
    message.to_string()
}

fn system(key: &'static str, before: Option<String>, text: &str) -> Option<(&'static str, String)> {
    let own = || (!text.is_empty()).then(|| json!(text).to_string());
    before.or_else(own).map(|json| (key, json))
}

fn limits(dialect: Dialect, call: &Call, manners: Manners) -> Vec<(&'static str, Value)> {
    let max_output = match dialect {
        Dialect::Anthropic => "max_tokens",
        Dialect::Responses => "max_output_tokens",
        _ if manners.new_max_tokens => "max_completion_tokens",
        _ => "max_tokens",
    };
    let mut fields = vec![(max_output, json!(call.max_output.0.clamp(1, manners.max_output)))];
    if let Some(temperature) = call.temperature.filter(|_| manners.temperature) {
        fields.push(("temperature", json!(temperature)));
    }
    match (dialect, manners.effort.map(Effort::as_str)) {
        (Dialect::Chat, Some(effort)) => fields.push(("reasoning_effort", json!(effort))),
        (Dialect::Responses, Some(effort)) => fields.push(("reasoning", json!({"effort": effort}))),
        _ => {}
    }
    if dialect == Dialect::Responses {
        fields.push(("store", json!(false)));
    }
    if call.delivery == Delivery::Streamed {
        fields.push(("stream", json!(true)));
        if dialect == Dialect::Chat && manners.stream_options {
            fields.push(("stream_options", json!({"include_usage": true})));
        }
    }
    fields
}
