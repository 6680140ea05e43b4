//! Core message → Responses input items.

use epitome_core::{Block, Message, Role, Thinking, ToolResult, ToolUse};

use super::items::{InputForm, OutputForm, call_item, output_item};
use super::parts::{encode_content, encode_part};
use crate::dialect::Dialect;
use crate::draft::{Draft, array};
use crate::error::WireError;
use crate::node::field_string;

/// An item for every call, result and reasoning, and one for every run of plain content between them.
pub(crate) fn encode(message: &Message) -> Result<Vec<String>, WireError> {
    let role = message.role;
    // An item that was kept whole: its type tells it from an unknown part of a message.
    if let [Block::Unknown(opaque)] = message.blocks.as_slice()
        && field_string(&message.extra, "type").is_some()
    {
        return Ok(vec![opaque.raw.as_str().to_owned()]);
    }
    let mut items = Vec::new();
    let mut plain: Vec<Block> = Vec::new();
    for block in &message.blocks {
        let Some(item) = item(role, block)? else {
            plain.push(block.clone());
            continue;
        };
        flush(message, &mut plain, &mut items)?;
        items.push(item);
    }
    if !plain.is_empty() || items.is_empty() {
        flush_always(message, &plain, &mut items)?;
    }
    Ok(items)
}

fn flush(message: &Message, plain: &mut Vec<Block>, items: &mut Vec<String>) -> Result<(), WireError> {
    let run = std::mem::take(plain);
    if run.is_empty() { Ok(()) } else { flush_always(message, &run, items) }
}

fn flush_always(message: &Message, run: &[Block], items: &mut Vec<String>) -> Result<(), WireError> {
    let role = message.role;
    let content = encode_content(role, run).map_err(|block| inexpressible(role, block))?;
    let name = match role {
        Role::System => "system",
        Role::Developer => "developer",
        Role::Assistant => "assistant",
        _ => "user",
    };
    let draft = Draft::new().string("type", "message").role(name, &message.extra).raw("content", &content);
    items.push(draft.fields(&message.extra).end());
    Ok(())
}

fn inexpressible(role: Role, block: &Block) -> WireError {
    WireError::Inexpressible { dialect: Dialect::Responses, role, kind: block.kind() }
}

/// The item that this block is by itself; `None` if it is part of a message.
fn item(role: Role, block: &Block) -> Result<Option<String>, WireError> {
    Ok(Some(match block {
        Block::ToolUse(tool_use) => call(tool_use),
        Block::ToolResult(result) => output(result).map_err(|block| inexpressible(role, block))?,
        Block::Thinking(thinking) => reasoning(thinking),
        Block::ServerToolUse(call) => call.input.clone(),
        Block::Compaction(opaque) => opaque.raw.as_str().to_owned(),
        _ => return Ok(None),
    }))
}

fn call(call: &ToolUse) -> String {
    let kind = field_string(&call.extra, "type");
    let item = call_item(kind.as_deref().unwrap_or("function_call"));
    let draft = Draft::typed("function_call", &call.extra).string("call_id", &call.id);
    let draft = match item {
        Some(item) if item.tool.is_some() => draft,
        _ => draft.string("name", &call.name),
    };
    let draft = match item {
        Some(item) if item.form == InputForm::Value && call.input.is_empty() => draft,
        Some(item) if item.form == InputForm::Value => draft.raw(item.input, &call.input),
        Some(item) => draft.string(item.input, &call.input),
        None => draft.string("arguments", &call.input),
    };
    draft.fields(&call.extra).end()
}

fn output(result: &ToolResult) -> Result<String, &Block> {
    let kind = field_string(&result.extra, "type");
    let item = kind.as_deref().and_then(output_item);
    let (field, form) = item.map_or(("output", OutputForm::Parts), |item| (item.field, item.form));
    let value = match (form, result.content.as_slice()) {
        (OutputForm::Object, [only]) => encode_part(Role::Tool, only)?,
        (OutputForm::Records, blocks) => {
            array(&blocks.iter().map(|block| encode_part(Role::Tool, block)).collect::<Result<Vec<_>, _>>()?)
        }
        (_, blocks) => encode_content(Role::Tool, blocks)?,
    };
    let has_id = result.extra.iter().any(|(key, _)| key == "id");
    let id_key = match kind.as_deref() {
        Some("local_shell_call_output") if !has_id => "id",
        _ => "call_id",
    };
    let draft = Draft::typed("function_call_output", &result.extra);
    let draft = draft.string(id_key, &result.call_id);
    let is_mute = item.is_some_and(|item| item.may_be_mute) && result.content.is_empty();
    let draft = if is_mute { draft } else { draft.raw(field, &value) };
    Ok(draft.fields(&result.extra).end())
}

fn reasoning(thinking: &Thinking) -> String {
    let mut draft = Draft::new().string("type", "reasoning");
    if !thinking.extra.iter().any(|(key, _)| key == "summary") {
        let part = Draft::new().string("type", "summary_text").string("text", &thinking.text).end();
        let parts = if thinking.text.is_empty() { Vec::new() } else { vec![part] };
        draft = draft.raw("summary", &array(&parts));
    }
    draft.optional("encrypted_content", thinking.signature.as_deref()).fields(&thinking.extra).end()
}
