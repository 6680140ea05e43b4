//! Anthropic message → core message.

use epitome_core::{Block, Fields, Media, MediaSource, Message, Role, Text, Thinking, ToolResult, ToolUse};

use super::RAW_ARGUMENTS;
use crate::content::{Content, Parsed};
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::Kind;
use crate::layout::BlockLayout;
use crate::node::{Node, Object};

const ROLES: [(&str, Role); 3] =
    [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];

pub(crate) fn decode(node: Node<'_>) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let shape = |what| WireError::Shape { dialect: Dialect::Anthropic, what, at: node.span.start };
    let mut object = node.object()?.ok_or_else(|| shape("message is not an object"))?;
    let role = object.role(&ROLES)?.ok_or_else(|| shape("message has no role"))?;
    let value = object.take("content").ok_or_else(|| shape("message has no content"))?;
    let content = content(value)?.ok_or_else(|| shape("content is neither text nor an array"))?;
    let mut message = Message::new(role, content.blocks);
    message.extra = object.rest();
    Ok((message, content.layouts))
}

/// Content as a string or as an array of blocks; `None` if it is neither.
pub(crate) fn content(node: Node<'_>) -> Result<Option<Content>, WireError> {
    Content::read(node, block)
}

fn block(node: Node<'_>) -> Result<Parsed, WireError> {
    if let Some(mut object) = node.object()? {
        let kind = object.string("type")?.unwrap_or_default();
        let parsed = match &*kind {
            "text" => text(&mut object)?,
            "tool_use" => tool_use(&mut object)?.map(|call| (Block::ToolUse(call), None)),
            "tool_result" => tool_result(&mut object)?,
            "image" => media(node, &mut object)?.map(|image| (Block::Image(image), None)),
            "document" => media(node, &mut object)?.map(|document| (Block::Document(document), None)),
            "thinking" => thinking(&mut object)?,
            "redacted_thinking" => Some((Block::RedactedThinking(node.opaque()?), None)),
            "compaction" => Some((Block::Compaction(node.opaque()?), None)),
            "server_tool_use" | "mcp_tool_use" => server_tool_use(&mut object, &kind)?,
            other if other.ends_with("_tool_result") => server_tool_result(&mut object, other)?,
            _ => None,
        };
        if let Some(parsed) = parsed {
            return Ok(parsed);
        }
    }
    Ok((Block::Unknown(node.opaque()?), None))
}

fn text(object: &mut Object<'_>) -> Result<Option<Parsed>, WireError> {
    let at = object.get("text").map(|node| node.span);
    let Some(text) = object.string("text")? else { return Ok(None) };
    Ok(Some((Block::Text(Text { text: text.into_owned(), extra: object.rest() }), at)))
}

fn tool_use(object: &mut Object<'_>) -> Result<Option<ToolUse>, WireError> {
    let (Some(id), Some(name)) = (object.string("id")?, object.string("name")?) else { return Ok(None) };
    let input = match object.take("input") {
        Some(input) => unwrapped(input)?.unwrap_or_else(|| input.raw().to_owned()),
        None => String::new(),
    };
    let (id, name) = (id.into_owned(), name.into_owned());
    Ok(Some(ToolUse { id, name, input, extra: object.rest() }))
}

// The arguments inside our own wrapping; an object inside it was never wrapped by us.
fn unwrapped(input: Node<'_>) -> Result<Option<String>, WireError> {
    let Some(mut object) = input.object()? else { return Ok(None) };
    let Some(inner) = object.string(RAW_ARGUMENTS)? else { return Ok(None) };
    let ours = object.is_exhausted() && !super::encode::is_object(&inner);
    Ok(ours.then(|| inner.into_owned()))
}

fn tool_result(object: &mut Object<'_>) -> Result<Option<Parsed>, WireError> {
    let Some(call_id) = object.string("tool_use_id")? else { return Ok(None) };
    let (blocks, text) = match object.take("content") {
        None => (Vec::new(), None),
        Some(value) => match content(value)? {
            Some(content) => (content.blocks, (!value.is_null()).then_some(value.span)),
            None => return Ok(None),
        },
    };
    Ok(Some((Block::ToolResult(answer(&call_id, blocks, object, |object| object.rest())), text)))
}

fn answer(
    call_id: &str,
    content: Vec<Block>,
    object: &mut Object<'_>,
    rest: impl Fn(&Object<'_>) -> Fields,
) -> ToolResult {
    let is_error = object.boolean("is_error").unwrap_or(false);
    ToolResult { call_id: call_id.to_owned(), name: None, content, is_error, extra: rest(object) }
}

fn thinking(object: &mut Object<'_>) -> Result<Option<Parsed>, WireError> {
    let Some(text) = object.string("thinking")? else { return Ok(None) };
    let signature = object.string("signature")?.map(|signature| signature.into_owned());
    Ok(Some((Block::Thinking(Thinking { text: text.into_owned(), signature, extra: object.rest() }), None)))
}

fn server_tool_use(object: &mut Object<'_>, kind: &str) -> Result<Option<Parsed>, WireError> {
    let Some(mut call) = tool_use(object)? else { return Ok(None) };
    call.extra = object.rest_typed(kind, "server_tool_use");
    Ok(Some((Block::ServerToolUse(call), None)))
}

// Providers sign or encrypt what their own tools return, so such a result has no text to edit.
fn server_tool_result(object: &mut Object<'_>, kind: &str) -> Result<Option<Parsed>, WireError> {
    let (Some(call_id), Some(value)) = (object.string("tool_use_id")?, object.take("content")) else {
        return Ok(None);
    };
    let blocks = match (content(value)?, value.kind()) {
        (Some(content), _) => content.blocks,
        (None, Some(Kind::Object)) => vec![Block::Unknown(value.opaque()?)],
        (None, _) => return Ok(None),
    };
    let result = answer(&call_id, blocks, object, |object| object.rest_typed(kind, ""));
    Ok(Some((Block::ServerToolResult(result), None)))
}

fn media(node: Node<'_>, object: &mut Object<'_>) -> Result<Option<Media>, WireError> {
    let Some(source) = object.take("source") else { return Ok(None) };
    Ok(Some(match known_source(source)? {
        Some(source) => Media { source, detail: None, extra: object.rest() },
        None => Media { source: MediaSource::Other(node.raw_json()), detail: None, extra: Fields::new() },
    }))
}

fn known_source(node: Node<'_>) -> Result<Option<MediaSource>, WireError> {
    let Some(mut object) = node.object()? else { return Ok(None) };
    let source = match object.string("type")?.as_deref() {
        Some("base64") => match (object.string("media_type")?, object.string("data")?) {
            (Some(media_type), Some(data)) => {
                Some(MediaSource::Base64 { media_type: media_type.into_owned(), data: data.into_owned() })
            }
            _ => None,
        },
        Some("url") => object.string("url")?.map(|url| MediaSource::Url(url.into_owned())),
        Some("file") => object.string("file_id")?.map(|id| MediaSource::File(id.into_owned())),
        _ => None,
    };
    Ok(source.filter(|_| object.is_exhausted()))
}
