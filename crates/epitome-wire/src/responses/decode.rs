//! Responses input item → core message.

use epitome_core::{Block, Message, RawJson, Role, Thinking, ToolResult, ToolUse};

use super::items::{
    COMPACTIONS, CallItem, InputForm, OutputForm, OutputItem, SERVER_CALLS, call_item, output_item,
};
use super::parts;
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::{Span, quote};
use crate::layout::BlockLayout;
use crate::node::{Node, Object};

const ROLES: [(&str, Role); 4] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
    ("developer", Role::Developer),
];

pub(crate) fn decode(node: Node<'_>) -> Result<(Message, Vec<BlockLayout>), WireError> {
    // An input that is a bare string is a user message.
    if let Some(text) = node.string()? {
        let layout = BlockLayout { block: node.span, text: Some(node.span) };
        return Ok((Message::text(Role::User, text), vec![layout]));
    }
    let mut object = node.object()?.ok_or_else(|| shape(node, "item is not an object"))?;
    let kind = object.string("type")?.unwrap_or_default();
    if kind == "message" || kind.is_empty() && object.get("role").is_some() {
        return message(node, &mut object);
    }
    let (role, block, text) = item(node, &mut object, &kind)?;
    let mut message = Message::new(role, vec![block]);
    if matches!(message.blocks.as_slice(), [Block::Unknown(_)]) {
        message.extra.push(("type".to_owned(), RawJson::new(quote(&kind))));
    }
    Ok((message, vec![BlockLayout { block: node.span, text }]))
}

fn shape(node: Node<'_>, what: &'static str) -> WireError {
    WireError::Shape { dialect: Dialect::Responses, what, at: node.span.start }
}

fn message(node: Node<'_>, object: &mut Object<'_>) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let role = object.role(&ROLES)?.ok_or_else(|| shape(node, "message has no role"))?;
    let value = object.take("content").ok_or_else(|| shape(node, "message has no content"))?;
    let content =
        parts::content(role, value)?.ok_or_else(|| shape(value, "content is neither text nor an array"))?;
    let mut message = Message::new(role, content.blocks);
    message.extra = object.rest();
    Ok((message, content.layouts))
}

fn item(
    node: Node<'_>,
    object: &mut Object<'_>,
    kind: &str,
) -> Result<(Role, Block, Option<Span>), WireError> {
    if let Some(item) = call_item(kind)
        && let Some(call) = call(object, item)?
    {
        return Ok((Role::Assistant, Block::ToolUse(call), None));
    }
    if let Some(item) = output_item(kind)
        && let Some((result, text)) = output(object, item)?
    {
        return Ok((Role::Tool, Block::ToolResult(result), text));
    }
    let block = match kind {
        "reasoning" => Block::Thinking(reasoning(object)?),
        _ if COMPACTIONS.contains(&kind) => Block::Compaction(node.opaque()?),
        _ if SERVER_CALLS.contains(&kind) => Block::ServerToolUse(server_call(node, object, kind)?),
        _ => Block::Unknown(node.opaque()?),
    };
    let role = match kind {
        "compaction_trigger" | "mcp_approval_response" => Role::User,
        _ if kind.ends_with("_output") => Role::Tool,
        _ => Role::Assistant,
    };
    Ok((role, block, None))
}

fn call(object: &mut Object<'_>, item: &CallItem) -> Result<Option<ToolUse>, WireError> {
    let Some(id) = object.string("call_id")? else { return Ok(None) };
    let name = match item.tool {
        Some(tool) => tool.to_owned(),
        None => match object.string("name")? {
            Some(name) => name.into_owned(),
            None => return Ok(None),
        },
    };
    let input = match item.form {
        InputForm::Text => object.string(item.input)?.map(|input| input.into_owned()),
        InputForm::Value => object.take(item.input).map(|input| input.raw().to_owned()),
    };
    let extra = object.rest_typed(item.kind, "function_call");
    Ok(Some(ToolUse { id: id.into_owned(), name, input: input.unwrap_or_default(), extra }))
}

fn output(
    object: &mut Object<'_>,
    item: &OutputItem,
) -> Result<Option<(ToolResult, Option<Span>)>, WireError> {
    // The local shell's output names its call by `id`.
    let id = match object.string("call_id")? {
        None if item.kind == "local_shell_call_output" => object.string("id")?,
        id => id,
    };
    let (Some(id), value) = (id, object.take(item.field)) else { return Ok(None) };
    let content = match value {
        Some(value) => match parts::content(Role::Tool, value)? {
            Some(content) => content.blocks,
            None => vec![parts::part(Role::Tool, value)?.0],
        },
        None if item.may_be_mute => Vec::new(),
        None => return Ok(None),
    };
    let is_text = |value: &Node<'_>| item.form == OutputForm::Parts && !value.is_null();
    let text = value.filter(is_text).map(|value| value.span);
    let extra = object.rest_typed(item.kind, "function_call_output");
    let result = ToolResult { call_id: id.into_owned(), name: None, content, is_error: false, extra };
    Ok(Some((result, text)))
}

// Only the summary is text that anyone can read; where it has several parts, they are kept as written.
fn reasoning(object: &mut Object<'_>) -> Result<Thinking, WireError> {
    let mut texts = Vec::new();
    let mut plain = true;
    let summary = object.get("summary");
    for part in summary.map(|summary| summary.array()).transpose()?.flatten().unwrap_or_default() {
        let Some(mut part) = part.object()? else { continue };
        let kind = part.string("type")?;
        texts.extend(part.string("text")?);
        plain &= kind.as_deref() == Some("summary_text") && part.is_exhausted();
    }
    if plain && texts.len() <= 1 {
        object.take("summary");
    }
    let signature = object.string("encrypted_content")?.map(|content| content.into_owned());
    Ok(Thinking { text: texts.join("\n"), signature, extra: object.rest() })
}

fn server_call(node: Node<'_>, object: &mut Object<'_>, kind: &str) -> Result<ToolUse, WireError> {
    let id = object.string("id")?.unwrap_or_default().into_owned();
    let name = object.string("name")?.unwrap_or(kind.trim_end_matches("_call").into()).into_owned();
    Ok(ToolUse { id, name, input: node.raw().to_owned(), extra: Vec::new() })
}
