//! Chat Completions message → core message.

use epitome_core::{Block, Message, Opaque, Role, ToolResult, ToolUse};

use super::{INNER, parts};
use crate::content::Content;
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::Kind;
use crate::layout::BlockLayout;
use crate::node::{Node, Object};

const ROLES: [(&str, Role); 6] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
    ("developer", Role::Developer),
    ("tool", Role::Tool),
    ("function", Role::Tool),
];

pub(crate) fn decode(node: Node<'_>) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let mut object = node.object()?.ok_or_else(|| shape(node, "message is not an object"))?;
    let role = match object.role(&ROLES)? {
        Some(Role::Tool) => return tool_message(node, &mut object),
        Some(role) => role,
        None => return Err(shape(node, "message has no role")),
    };
    let mut content = match object.take("content") {
        Some(value) => {
            parts::content(value)?.ok_or_else(|| shape(value, "content is neither text nor an array"))?
        }
        None => Content::default(),
    };
    if let Some(refusal) = object.get("refusal").filter(|refusal| refusal.kind() == Some(Kind::String)) {
        object.take("refusal");
        let raw = Opaque { kind: "refusal".to_owned(), raw: refusal.raw_json() };
        content.push(refusal.span, (Block::Unknown(raw), None));
    }
    for call in tool_calls(&mut object)? {
        content.push(call.span, (tool_call(call)?, None));
    }
    if let Some(call) = object.get("function_call")
        && let Some(block) = function_call(call)?
    {
        object.take("function_call");
        content.push(call.span, (block, None));
    }
    let mut message = Message::new(role, content.blocks);
    message.extra = object.rest();
    Ok((message, content.layouts))
}

fn shape(node: Node<'_>, what: &'static str) -> WireError {
    WireError::Shape { dialect: Dialect::Chat, what, at: node.span.start }
}

// The message is its one block: to take the result out is to drop the message.
fn tool_message(node: Node<'_>, object: &mut Object<'_>) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let call_id = object.string("tool_call_id")?.unwrap_or_default().into_owned();
    let name = object.string("name")?.map(|name| name.into_owned());
    let value = object.take("content");
    let content = match value {
        Some(value) => {
            parts::content(value)?.ok_or_else(|| shape(value, "content is neither text nor an array"))?.blocks
        }
        None => Vec::new(),
    };
    let result = ToolResult { call_id, name, content, is_error: false, extra: Vec::new() };
    let mut message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
    message.extra = object.rest();
    let text = value.filter(|value| !value.is_null()).map(|value| value.span);
    Ok((message, vec![BlockLayout { block: node.span, text }]))
}

fn tool_calls<'a>(object: &mut Object<'a>) -> Result<Vec<Node<'a>>, WireError> {
    object.null("tool_calls");
    let calls = match object.get("tool_calls") {
        Some(calls) => calls.array()?,
        None => return Ok(Vec::new()),
    };
    if calls.is_some() {
        object.take("tool_calls");
    }
    Ok(calls.unwrap_or_default())
}

fn tool_call(node: Node<'_>) -> Result<Block, WireError> {
    let unknown = || Ok(Block::Unknown(node.opaque()?));
    let Some(mut object) = node.object()? else { return unknown() };
    let kind = object.string("type")?.unwrap_or("function".into());
    let (inner_key, input_key) = match &*kind {
        "function" => ("function", "arguments"),
        "custom" => ("custom", "input"),
        _ => return unknown(),
    };
    let Some(mut inner) = object.take(inner_key).map(|inner| inner.object()).transpose()?.flatten() else {
        return unknown();
    };
    let (Some(id), Some(name)) = (object.string("id")?, inner.string("name")?) else { return unknown() };
    let Some(input) = arguments(&mut inner, input_key)? else { return unknown() };
    let mut extra = object.rest_typed(&kind, "function");
    extra.extend(inner.rest().into_iter().map(|(key, raw)| (format!("{INNER}{key}"), raw)));
    Ok(Block::ToolUse(ToolUse { id: id.into_owned(), name: name.into_owned(), input, extra }))
}

// A string by the book; look-alikes write the object itself.
fn arguments(inner: &mut Object<'_>, key: &str) -> Result<Option<String>, WireError> {
    if let Some(text) = inner.string(key)? {
        return Ok(Some(text.into_owned()));
    }
    Ok(match inner.take(key) {
        Some(value) if value.kind() == Some(Kind::Object) => Some(value.raw().to_owned()),
        Some(value) if !value.is_null() => None,
        _ => Some(String::new()),
    })
}

fn function_call(node: Node<'_>) -> Result<Option<Block>, WireError> {
    let Some(mut object) = node.object()? else { return Ok(None) };
    let Some(name) = object.string("name")? else { return Ok(None) };
    let Some(input) = arguments(&mut object, "arguments")? else { return Ok(None) };
    let call = ToolUse { id: String::new(), name: name.into_owned(), input, extra: object.rest() };
    Ok(Some(Block::ToolUse(call)))
}
