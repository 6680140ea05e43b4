//! Claude Code sessions: JSON lines that form a tree by `uuid` and `parentUuid`.
//!
//! A reply is spread over several lines, one a block, that share a `message.id`; each result of parallel
//! tool calls is a line that hangs on its own call. Both become one message here, as they were one on the
//! wire, and so do user lines in a row.

use std::collections::HashMap;

use epitome_core::{Block, Message, Role, Time, Tokens, Usage};

use super::assembly::{Assembly, Draft};
use super::claude_tree::{Line, LineKind, assemble};
use super::error::FileError;
use super::format::Format;
use super::lines::objects_of;
use super::log::Log;
use super::reader::Summaries;
use super::record::{Link, Record, Target};
use super::time::time;
use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::JsonError;
use crate::message::decode_known;
use crate::node::{Node, Object};

pub(super) fn read(text: &str, summaries: Summaries, log: &mut Log<'_>) -> Result<Assembly, FileError> {
    let mut assembly = Assembly::default();
    let mut lines: Vec<Line> = Vec::new();
    let mut originals: HashMap<String, usize> = HashMap::new();
    for found in objects_of(Format::ClaudeCode, text, log)? {
        let node = Node::new(text, found.span);
        let mut record = Record { span: found.span, cut: found.cut, ..Record::default() };
        let read = link(node, &mut record).map_err(WireError::from).and_then(|()| line(node, &mut assembly));
        // Later versions repeat whole stretches of history after a compaction, line by line.
        if let Some(id) = record.id.clone() {
            let number = assembly.records.len();
            let original = *originals.entry(id).or_insert(number);
            let same = assembly.records.get(original).is_some_and(|other| other.span.of(text) == node.raw());
            record.twin_of = (original != number && same).then_some(original);
        }
        let (id, parent, twin) = (record.id.clone(), record.parent.clone(), record.twin_of.is_some());
        let number = assembly.record(record);
        match read {
            Ok(_) if twin => {}
            Ok(mut line) => {
                (line.record, line.id, line.parent) = (number, id, parent);
                lines.push(line);
            }
            Err(error) => log.report(found.span.start, error.to_string())?,
        }
    }
    assemble(lines, summaries, &mut assembly);
    Ok(assembly)
}

fn link(node: Node<'_>, record: &mut Record) -> Result<(), JsonError> {
    let Some(object) = node.object()? else { return Ok(()) };
    let text_of = |key| object.get(key).map_or(Ok(None), |node| node.string());
    record.id = text_of("uuid")?.map(|id| id.into_owned());
    for key in ["parentUuid", "logicalParentUuid", "leafUuid", "sourceToolAssistantUUID"] {
        if let (Some(node), Some(id)) = (object.get(key), text_of(key)?) {
            let id = id.into_owned();
            if record.parent.is_none() && matches!(key, "parentUuid" | "logicalParentUuid") {
                record.parent = Some(id.clone());
            }
            record.links.push(Link { span: node.span, to: Target::Back(id) });
        }
    }
    Ok(())
}

fn line(node: Node<'_>, assembly: &mut Assembly) -> Result<Line, WireError> {
    let Some(mut object) = node.object()? else { return Ok(Line::default()) };
    if let Some(id) = object.string("sessionId")? {
        assembly.id.get_or_insert_with(|| id.into_owned());
    }
    let mut line = Line::default();
    if object.boolean("isSidechain") == Some(true) {
        line.agent = Some(object.string("agentId")?.unwrap_or_default().into_owned());
    }
    let kind = object.string("type")?.unwrap_or_default().into_owned();
    match kind.as_str() {
        "system" if object.string("subtype")?.as_deref() == Some("compact_boundary") => {
            line.kind = LineKind::Boundary;
            boundary(&object, &mut line)?;
        }
        "user" | "assistant" => {
            if let Some(body) = object.get("message") {
                let written = object.get("timestamp").and_then(time);
                line.draft = Some(draft(body, &mut object, written)?);
                if let Some(mut body) = body.object()? {
                    line.message_id = body.string("id")?.map(|id| id.into_owned());
                    line.ended = ended(body.string("stop_reason")?.as_deref(), line.draft.as_ref());
                }
                line.kind = match object.boolean("isCompactSummary") {
                    Some(true) => LineKind::Summary,
                    _ => LineKind::Plain,
                };
            }
        }
        // What the tool notes about a reply, it notes when the reply has come.
        "system" | "summary" => {
            let leaf = object.string("leafUuid")?.or(object.string("parentUuid")?);
            line.about = leaf.map(|id| id.into_owned());
        }
        _ => {}
    }
    Ok(line)
}

// Some versions say on every line of a reply why the whole reply ended; only words are surely the last of it.
fn ended(reason: Option<&str>, draft: Option<&Draft>) -> bool {
    let last = draft.and_then(|draft| draft.message.blocks.last());
    matches!(last, Some(Block::Text(_))) && !matches!(reason, None | Some("tool_use" | "pause_turn"))
}

fn draft(body: Node<'_>, line: &mut Object<'_>, written: Option<Time>) -> Result<Draft, WireError> {
    let (mut message, layout) = decode_known(Dialect::Anthropic, body.raw())?;
    let base = body.span.start;
    let mut layouts = layout.blocks;
    for place in &mut layouts {
        place.block = place.block.shifted(base);
        place.text = place.text.map(|text| text.shifted(base));
    }
    reply(body, &mut message)?;
    message.meta.time = written;
    let is_reply = message.role == Role::Assistant;
    let mut draft = Draft::new(message, layouts);
    draft.hidden = is_reply && line.boolean("isApiErrorMessage").unwrap_or(false);
    // The line keeps the tool's output a second time, for display.
    if let Some(copy) = line.get("toolUseResult") {
        let blocks = draft.message.blocks.iter().zip(&mut draft.places);
        for (_, place) in blocks.filter(|(block, _)| matches!(block, Block::ToolResult(_))).take(1) {
            place.copies.push(copy.span);
        }
    }
    Ok(draft)
}

// What the API said about the reply goes into its meta data; none of it is part of the message that is sent.
fn reply(body: Node<'_>, message: &mut Message) -> Result<(), WireError> {
    message.extra.clear();
    let Some(mut object) = body.object()? else { return Ok(()) };
    message.meta.model = object.string("model")?.map(|model| model.into_owned());
    let Some(usage) = object.get("usage") else { return Ok(()) };
    let Some(usage) = usage.object()? else { return Ok(()) };
    let tokens = |key| usage.get(key).and_then(|node| node.raw().parse().ok()).map_or(Tokens::ZERO, Tokens);
    let usage = Usage {
        input: tokens("input_tokens"),
        cache_read: tokens("cache_read_input_tokens"),
        cache_write: tokens("cache_creation_input_tokens"),
        output: tokens("output_tokens"),
    };
    message.meta.usage = (usage != Usage::default()).then_some(usage);
    Ok(())
}

fn boundary(object: &Object<'_>, line: &mut Line) -> Result<(), JsonError> {
    let Some(metadata) = object.get("compactMetadata") else { return Ok(()) };
    let Some(metadata) = metadata.object()? else { return Ok(()) };
    line.tokens_before = metadata.get("preTokens").and_then(|node| node.raw().parse().ok()).map(Tokens);
    if let Some(kept) = metadata.get("preservedMessages")
        && let Some(kept) = kept.object()?
        && let Some(ids) = kept.get("uuids")
        && let Some(first) = ids.array()?.unwrap_or_default().first()
    {
        line.first_kept = first.string()?.map(|id| id.into_owned());
    } else if let Some(kept) = metadata.get("preservedSegment")
        && let Some(mut kept) = kept.object()?
    {
        line.first_kept = kept.string("headUuid")?.map(|id| id.into_owned());
    }
    Ok(())
}
