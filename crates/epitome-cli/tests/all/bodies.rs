//! Request bodies and sessions made for a test.

use serde_json::{Value, json};

/// The dialects of request bodies.
pub(crate) const DIALECTS: [&str; 3] = ["anthropic", "chat", "responses"];

/// The field that holds a dialect's messages.
pub(crate) fn field(dialect: &str) -> &'static str {
    if dialect == "responses" { "input" } else { "messages" }
}

/// A conversation of so many tool calls, each with thinking before it where the dialect has it, and a long result.
pub(crate) fn messages(dialect: &str, calls: usize) -> Vec<Value> {
    let mut messages = vec![json!({"role": "user", "content": "Look around."})];
    for call in 0..calls {
        let (id, output) = (format!("call_{call}"), format!("line of output {call}\n").repeat(500));
        match dialect {
            "anthropic" => {
                let thought = json!({"type": "thinking", "thinking": format!("Hm, {call}."), "signature": format!("s{call}")});
                let used = json!({"type": "tool_use", "id": id, "name": "look", "input": {"at": call}});
                messages.push(json!({"role": "assistant", "content": [thought, used]}));
                messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}));
            }
            "chat" => {
                let function = json!({"name": "look", "arguments": format!("{{\"at\":{call}}}")});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]}));
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
            }
            _ => {
                messages.push(json!({"type": "reasoning", "id": format!("rs_{call}"), "summary": [], "encrypted_content": "gAAA"}));
                messages
                    .push(json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"}));
                messages.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
            }
        }
    }
    messages
}

/// A whole request body.
pub(crate) fn body(dialect: &str, model: &str, calls: usize) -> Value {
    match dialect {
        "anthropic" => json!({
            "model": model, "max_tokens": 4096, "system": "Be brief.",
            "tools": [{"name": "look", "input_schema": {"type": "object"}}], "messages": messages(dialect, calls),
        }),
        "chat" => json!({
            "model": model, "messages": messages(dialect, calls),
            "tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}],
        }),
        _ => json!({"model": model, "instructions": "Be brief.", "input": messages(dialect, calls)}),
    }
}

/// A line of a Claude Code session.
pub(crate) fn claude_line(id: &str, parent: Option<&str>, model: &str, message: &Value) -> String {
    let mut message = message.clone();
    let role = message["role"].as_str().unwrap().to_owned();
    if role == "assistant" {
        message["model"] = model.into();
        message["id"] = format!("msg_{id}").into();
    }
    json!({
        "parentUuid": parent, "isSidechain": false, "sessionId": "5e55", "type": role, "message": message, "uuid": id,
        "timestamp": "2026-01-01T00:00:00.000Z",
    })
    .to_string()
        + "\n"
}

/// Lines that continue `parent`, one a message, with ids made of `name` and a number.
pub(crate) fn claude_thread(name: &str, parent: Option<&str>, model: &str, messages: &[Value]) -> String {
    let mut parent = parent.map(str::to_owned);
    let mut lines = String::new();
    for (number, message) in messages.iter().enumerate() {
        let id = format!("{name}{number}");
        lines += &claude_line(&id, parent.as_deref(), model, message);
        parent = Some(id);
    }
    lines
}

/// Plain words, the user's and the assistant's in turn.
pub(crate) fn words(count: usize, first: &str) -> Vec<Value> {
    let other = if first == "user" { "assistant" } else { "user" };
    let role = |at: usize| if at.is_multiple_of(2) { first } else { other };
    (0..count)
        .map(|at| json!({"role": role(at), "content": [{"type": "text", "text": format!("word {at}")}]}))
        .collect()
}
