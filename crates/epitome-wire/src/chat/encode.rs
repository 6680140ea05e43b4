//! Core message → Chat Completions messages.

use epitome_core::{Block, Message, Role, ToolResult, ToolUse};

use super::INNER;
use super::parts::encode_part;
use crate::dialect::Dialect;
use crate::draft::{Draft, array};
use crate::error::WireError;
use crate::json::{Kind, quote};
use crate::node::field_string;

/// One message for every tool result, then one for all other blocks.
pub(crate) fn encode(message: &Message) -> Result<Vec<String>, WireError> {
    let (results, others): (Vec<_>, Vec<_>) =
        message.blocks.iter().partition(|block| matches!(block, Block::ToolResult(_)));
    let mut messages = Vec::with_capacity(results.len() + 1);
    for block in &results {
        if let Block::ToolResult(result) = block {
            // Only a message that is one result has its own fields on it.
            let extra = if message.blocks.len() == 1 { message.extra.as_slice() } else { &[] };
            messages.push(tool_message(message.role, result, extra)?);
        }
    }
    if !others.is_empty() || results.is_empty() {
        messages.push(plain_message(message, &others)?);
    }
    Ok(messages)
}

fn inexpressible(role: Role, block: &Block) -> WireError {
    WireError::Inexpressible { dialect: Dialect::Chat, role, kind: block.kind() }
}

fn content(role: Role, blocks: &[&Block]) -> Result<String, WireError> {
    match blocks {
        [Block::Text(text)] if text.extra.is_empty() => Ok(quote(&text.text)),
        _ => {
            let part = |block: &&Block| encode_part(block).ok_or_else(|| inexpressible(role, block));
            Ok(array(&blocks.iter().map(part).collect::<Result<Vec<_>, _>>()?))
        }
    }
}

fn tool_message(
    role: Role,
    result: &ToolResult,
    extra: &[(String, epitome_core::RawJson)],
) -> Result<String, WireError> {
    let content = content(role, &result.content.iter().collect::<Vec<_>>())?;
    let draft = match (result.call_id.as_str(), &result.name) {
        ("", Some(name)) => Draft::new().string("role", "function").string("name", name),
        (id, name) => {
            Draft::new().string("role", "tool").string("tool_call_id", id).optional("name", name.as_deref())
        }
    };
    Ok(draft.raw("content", &content).fields(&result.extra).fields(extra).end())
}

fn plain_message(message: &Message, blocks: &[&Block]) -> Result<String, WireError> {
    let role = message.role;
    let mut parts = Vec::new();
    let mut calls = Vec::new();
    let mut draft = Draft::new().role(role_name(role), &message.extra);
    let mut refusal = None;
    let mut legacy = None;
    for block in blocks {
        match block {
            Block::ToolUse(call) if call.id.is_empty() => legacy = Some(function_call(call)),
            Block::ToolUse(call) => calls.push(tool_call(call)),
            Block::Unknown(opaque) if Kind::of(opaque.raw.as_str()) == Some(Kind::String) => {
                refusal = Some(opaque.raw.as_str());
            }
            Block::Unknown(opaque) if opaque.kind == "function" || opaque.kind == "custom" => {
                calls.push(opaque.raw.as_str().to_owned());
            }
            other => parts.push(*other),
        }
    }
    draft = match parts.is_empty() && role == Role::Assistant {
        true => draft.raw("content", "null"),
        false => draft.raw("content", &content(role, &parts)?),
    };
    if let Some(refusal) = refusal {
        draft = draft.raw("refusal", refusal);
    }
    if !calls.is_empty() {
        draft = draft.raw("tool_calls", &array(&calls));
    }
    if let Some(call) = legacy {
        draft = draft.raw("function_call", &call);
    }
    Ok(draft.fields(&message.extra).end())
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::Assistant => "assistant",
        // A message of role tool that holds more than its result speaks for the user.
        _ => "user",
    }
}

fn tool_call(call: &ToolUse) -> String {
    let custom = field_string(&call.extra, "type").as_deref() == Some("custom");
    let (inner_key, input_key) = if custom { ("custom", "input") } else { ("function", "arguments") };
    let (inner, outer): (Vec<_>, Vec<_>) = call.extra.iter().partition(|(key, _)| key.starts_with(INNER));
    let mut body = Draft::new().string("name", &call.name).string(input_key, &call.input);
    for (key, raw) in inner {
        body = body.raw(key.trim_start_matches(INNER), raw.as_str());
    }
    Draft::typed("function", &call.extra)
        .string("id", &call.id)
        .raw(inner_key, &body.end())
        .fields(outer)
        .end()
}

fn function_call(call: &ToolUse) -> String {
    Draft::new().string("name", &call.name).string("arguments", &call.input).fields(&call.extra).end()
}
