//! Core message → Anthropic message.

use epitome_core::{Block, Media, MediaSource, Message, Role, ToolResult, ToolUse};

use super::RAW_ARGUMENTS;
use crate::dialect::Dialect;
use crate::draft::{Draft, array};
use crate::error::WireError;
use crate::json::{Kind, quote};

pub(crate) fn encode(message: &Message) -> Result<String, WireError> {
    let role = match message.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        // Tool results travel in user messages.
        _ => "user",
    };
    let content = encode_content(message.role, &message.blocks)?;
    Ok(Draft::new().role(role, &message.extra).raw("content", &content).fields(&message.extra).end())
}

/// Blocks as content: a string where that says it all, else an array.
fn encode_content(role: Role, blocks: &[Block]) -> Result<String, WireError> {
    match blocks {
        [Block::Text(text)] if text.extra.is_empty() => Ok(quote(&text.text)),
        _ => Ok(array(&blocks.iter().map(|part| block(role, part)).collect::<Result<Vec<_>, _>>()?)),
    }
}

fn block(role: Role, block: &Block) -> Result<String, WireError> {
    Ok(match block {
        Block::Text(text) => {
            Draft::typed("text", &text.extra).string("text", &text.text).fields(&text.extra).end()
        }
        Block::ToolUse(call) => tool_use(call, "tool_use"),
        Block::ServerToolUse(call) => tool_use(call, "server_tool_use"),
        Block::ToolResult(result) => tool_result(role, result)?,
        Block::ServerToolResult(result) => server_tool_result(role, result)?,
        Block::Image(image) => media(image, "image"),
        Block::Document(document) => media(document, "document"),
        Block::Thinking(thinking) => Draft::new()
            .string("type", "thinking")
            .string("thinking", &thinking.text)
            .optional("signature", thinking.signature.as_deref())
            .fields(&thinking.extra)
            .end(),
        Block::RedactedThinking(opaque) | Block::Compaction(opaque) | Block::Unknown(opaque) => {
            opaque.raw.as_str().to_owned()
        }
        other => {
            return Err(WireError::Inexpressible { dialect: Dialect::Anthropic, role, kind: other.kind() });
        }
    })
}

fn tool_use(call: &ToolUse, usual: &str) -> String {
    Draft::typed(usual, &call.extra)
        .string("id", &call.id)
        .string("name", &call.name)
        .raw("input", &input_object(&call.input))
        .fields(&call.extra)
        .end()
}

/// Arguments as the JSON object that `input` has to be.
fn input_object(arguments: &str) -> String {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return "{}".to_owned();
    }
    if is_object(arguments) {
        return arguments.to_owned();
    }
    Draft::new().string(RAW_ARGUMENTS, arguments).end()
}

pub(super) fn is_object(json: &str) -> bool {
    Kind::of(json.trim_start()) == Some(Kind::Object) && crate::json::check(json).is_ok()
}

fn tool_result(role: Role, result: &ToolResult) -> Result<String, WireError> {
    let mut draft = Draft::new().string("type", "tool_result").string("tool_use_id", &result.call_id);
    if !result.content.is_empty() {
        draft = draft.raw("content", &encode_content(role, &result.content)?);
    }
    if result.is_error {
        draft = draft.raw("is_error", "true");
    }
    Ok(draft.fields(&result.extra).end())
}

// Of the provider's own tools only web search and MCP return lists; the others return one object.
fn server_tool_result(role: Role, result: &ToolResult) -> Result<String, WireError> {
    let content = match result.content.as_slice() {
        [Block::Unknown(only)] if only.kind != "web_search_result" => only.raw.as_str().to_owned(),
        blocks => encode_content(role, blocks)?,
    };
    let mut draft = Draft::typed("web_search_tool_result", &result.extra)
        .string("tool_use_id", &result.call_id)
        .raw("content", &content);
    if result.is_error {
        draft = draft.raw("is_error", "true");
    }
    Ok(draft.fields(&result.extra).end())
}

fn media(media: &Media, kind: &str) -> String {
    let source = match &media.source {
        MediaSource::Base64 { media_type, data } => {
            Draft::new().string("type", "base64").string("media_type", media_type).string("data", data).end()
        }
        MediaSource::Url(url) => Draft::new().string("type", "url").string("url", url).end(),
        MediaSource::File(id) => Draft::new().string("type", "file").string("file_id", id).end(),
        MediaSource::Other(raw) => return raw.as_str().to_owned(),
    };
    Draft::typed(kind, &media.extra).raw("source", &source).fields(&media.extra).end()
}
