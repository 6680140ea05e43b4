//! pi sessions: JSON lines, linear in the first version, a tree of entries since the second.
//!
//! pi has a block format of its own. Replies that broke off and shell commands kept from the model are
//! messages of the transcript, but of no thread, because pi does not send them.

use std::collections::HashMap;

use epitome_core::{
    Block, Media, MediaSource, Message, Role, Text, Thinking, Tokens, ToolResult, ToolUse, Usage,
};

use super::assembly::Assembly;
use super::error::FileError;
use super::format::Format;
use super::lines::objects_of;
use super::log::Log;
use super::record::{Link, Record, Target};
use super::time::time;
use super::transcript::RecordedCompaction;
use crate::error::WireError;
use crate::json::{JsonError, Span};
use crate::layout::BlockLayout;
use crate::node::{Node, Object};

pub(super) fn read(text: &str, log: &mut Log<'_>) -> Result<Assembly, FileError> {
    let mut session = Session::default();
    for line in objects_of(Format::Pi, text, log)? {
        let node = Node::new(text, line.span);
        let number = session.assembly.record(Record { span: line.span, cut: line.cut, ..Record::default() });
        if let Err(error) = session.entry(node, number) {
            log.report(line.span.start, error.to_string())?;
        }
    }
    Ok(session.finish())
}

#[derive(Default)]
struct Session {
    assembly: Assembly,
    /// The message that each entry is, or else the one that it continues.
    by_id: HashMap<String, Option<usize>>,
    /// The message that the last entry is or continues.
    head: Option<usize>,
    /// Compactions, and the entry from which on they kept messages.
    kept: Vec<(usize, Target)>,
    /// The first message at or after each entry, for look-ups by number.
    messages_at: Vec<usize>,
}

impl Session {
    fn entry(&mut self, node: Node<'_>, number: usize) -> Result<(), WireError> {
        self.messages_at.push(self.assembly.messages.len());
        let Some(mut entry) = node.object()? else { return Ok(()) };
        let kind = entry.string("type")?.unwrap_or_default().into_owned();
        if kind == "session" {
            self.assembly.id = entry.string("id")?.map(|id| id.into_owned());
            return Ok(());
        }
        self.link(&entry, number)?;
        let id = entry.string("id")?.map(|id| id.into_owned());
        let parent = match entry.get("parentId") {
            Some(parent) => {
                let known = parent.string()?.and_then(|parent| self.by_id.get(parent.as_ref()).copied());
                // The parent may be a line that is damaged; then the entry before this one is the best guess.
                known.unwrap_or(if parent.is_null() { None } else { self.head })
            }
            None => self.head,
        };
        self.head = parent;
        if let Some((mut message, layouts, hidden)) = message(&entry, &kind)? {
            message.meta.id = id.clone();
            message.meta.time = message.meta.time.or(entry.get("timestamp").and_then(time));
            let at = self.assembly.append(Some(number), message, layouts);
            if let Some(draft) = self.assembly.messages.get_mut(at) {
                draft.parent = parent;
                draft.hidden = hidden;
            }
            self.head = Some(at);
            if kind == "compaction" {
                self.compaction(&entry, at)?;
            }
        }
        if let Some(id) = id {
            self.by_id.insert(id, self.head);
        }
        Ok(())
    }

    fn link(&mut self, entry: &Object<'_>, number: usize) -> Result<(), JsonError> {
        let Some(record) = self.assembly.records.get_mut(number) else { return Ok(()) };
        let text_of = |key| entry.get(key).map_or(Ok(None), |node| node.string());
        record.id = text_of("id")?.map(|id| id.into_owned());
        record.parent = text_of("parentId")?.map(|id| id.into_owned());
        for key in ["parentId", "fromId", "targetId", "firstKeptEntryId"] {
            if let (Some(node), Some(id)) = (entry.get(key), text_of(key)?) {
                let id = id.into_owned();
                let to = if key == "firstKeptEntryId" { Target::Ahead(id) } else { Target::Back(id) };
                record.links.push(Link { span: node.span, to });
            }
        }
        if let Some(node) = entry.get("firstKeptEntryIndex")
            && let Ok(number) = node.raw().parse()
        {
            record.links.push(Link { span: node.span, to: Target::Number(number) });
        }
        Ok(())
    }

    fn compaction(&mut self, entry: &Object<'_>, position: usize) -> Result<(), JsonError> {
        let summary =
            entry.get("summary").map_or(Ok(None), |node| node.string())?.unwrap_or_default().into_owned();
        let tokens_before = entry.get("tokensBefore").and_then(|node| node.raw().parse().ok()).map(Tokens);
        let links = self.assembly.records.last().map_or(&[] as &[Link], |record| &record.links);
        let kept = links.iter().find(|link| matches!(link.to, Target::Ahead(_) | Target::Number(_)));
        if let Some(kept) = kept {
            self.kept.push((self.assembly.compactions.len(), kept.to.clone()));
        }
        self.assembly.compactions.push(RecordedCompaction {
            position,
            summary,
            first_kept: None,
            tokens_before,
        });
        Ok(())
    }

    fn finish(mut self) -> Assembly {
        let numbers: HashMap<&str, usize> = self
            .assembly
            .records
            .iter()
            .enumerate()
            .filter_map(|(number, record)| Some((record.id.as_deref()?, number)))
            .collect();
        let firsts: Vec<(usize, Option<usize>)> = self
            .kept
            .iter()
            .map(|(compaction, target)| {
                let number = match target {
                    Target::Ahead(id) | Target::Back(id) => numbers.get(id.as_str()).copied(),
                    Target::Number(number) => Some(*number),
                    Target::Count(_) => None,
                };
                (*compaction, number.and_then(|number| self.messages_at.get(number).copied()))
            })
            .collect();
        for (compaction, first) in firsts {
            if let Some(compaction) = self.assembly.compactions.get_mut(compaction) {
                compaction.first_kept = first.filter(|first| *first < compaction.position);
            }
        }
        self.assembly.head = self.head;
        self.assembly
    }
}

type Read = Option<(Message, Vec<BlockLayout>, bool)>;

// The message that an entry is, where its blocks stand, and whether pi keeps it from the model.
fn message(entry: &Object<'_>, kind: &str) -> Result<Read, WireError> {
    match kind {
        "message" => match entry.get("message") {
            Some(node) => agent_message(node),
            None => Ok(None),
        },
        "custom_message" => Ok(entry.get("content").map(content).transpose()?.map(shown)),
        "compaction" | "branch_summary" => Ok(entry.get("summary").map(content).transpose()?.map(shown)),
        _ => Ok(None),
    }
}

fn agent_message(node: Node<'_>) -> Result<Read, WireError> {
    let Some(mut object) = node.object()? else { return Ok(None) };
    let role = object.string("role")?.unwrap_or_default().into_owned();
    let time = object.get("timestamp").and_then(time);
    let read = match role.as_str() {
        "user" | "custom" | "hookMessage" => object.get("content").map(content).transpose()?.map(shown),
        "branchSummary" | "compactionSummary" => object.get("summary").map(content).transpose()?.map(shown),
        "assistant" => assistant(&mut object)?,
        "toolResult" => tool_result(node, &mut object)?,
        "bashExecution" => bash_execution(&mut object)?,
        _ => None,
    };
    Ok(read.map(|(mut message, layouts, hidden)| {
        message.meta.time = time;
        (message, layouts, hidden)
    }))
}

fn shown((blocks, layouts): (Vec<Block>, Vec<BlockLayout>)) -> (Message, Vec<BlockLayout>, bool) {
    (Message::new(Role::User, blocks), layouts, false)
}

fn assistant(object: &mut Object<'_>) -> Result<Read, WireError> {
    let (blocks, layouts) = object.get("content").map_or(Ok((Vec::new(), Vec::new())), content)?;
    let mut message = Message::new(Role::Assistant, blocks);
    message.meta.model = object.string("model")?.map(|model| model.into_owned());
    message.meta.usage = object.get("usage").map_or(Ok(None), usage)?;
    let broke_off = matches!(object.string("stopReason")?.as_deref(), Some("error" | "aborted"));
    Ok(Some((message, layouts, broke_off)))
}

fn tool_result(node: Node<'_>, object: &mut Object<'_>) -> Result<Read, WireError> {
    let (blocks, layouts) = object.get("content").map_or(Ok((Vec::new(), Vec::new())), content)?;
    // Editing the one text inside keeps the array around it, which pi expects.
    let inner = match layouts.as_slice() {
        [only] => only.text,
        _ => None,
    };
    let text = inner.or(object.get("content").map(|node| node.span));
    let result = ToolResult {
        call_id: object.string("toolCallId")?.unwrap_or_default().into_owned(),
        name: object.string("toolName")?.map(|name| name.into_owned()),
        content: blocks,
        is_error: object.boolean("isError").unwrap_or(false),
        extra: Vec::new(),
    };
    let message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
    Ok(Some((message, vec![BlockLayout { block: node.span, text }], false)))
}

fn bash_execution(object: &mut Object<'_>) -> Result<Read, WireError> {
    let mut blocks = Vec::new();
    let mut layouts = Vec::new();
    for key in ["command", "output"] {
        if let Some(node) = object.get(key)
            && let Some(text) = node.string()?
        {
            blocks.push(Block::text(text));
            layouts.push(BlockLayout { block: node.span, text: Some(node.span) });
        }
    }
    let hidden = object.boolean("excludeFromContext").unwrap_or(false);
    Ok(Some((Message::new(Role::User, blocks), layouts, hidden)))
}

fn content(node: Node<'_>) -> Result<(Vec<Block>, Vec<BlockLayout>), WireError> {
    if let Some(text) = node.string()? {
        return Ok((vec![Block::text(text)], vec![BlockLayout { block: node.span, text: Some(node.span) }]));
    }
    let mut read = (Vec::new(), Vec::new());
    for element in node.array()?.unwrap_or_default() {
        let (parsed, text) = block(element)?;
        read.0.push(parsed);
        read.1.push(BlockLayout { block: element.span, text });
    }
    Ok(read)
}

fn block(node: Node<'_>) -> Result<(Block, Option<Span>), WireError> {
    let unknown = || Ok((Block::Unknown(node.opaque()?), None));
    let Some(mut object) = node.object()? else { return unknown() };
    match object.string("type")?.as_deref() {
        Some("text") => {
            let at = object.get("text").map(|node| node.span);
            let Some(text) = object.string("text")? else { return unknown() };
            Ok((Block::Text(Text { text: text.into_owned(), extra: object.rest() }), at))
        }
        Some("thinking") if object.boolean("redacted") == Some(true) => {
            Ok((Block::RedactedThinking(node.opaque()?), None))
        }
        Some("thinking") => {
            let text = object.string("thinking")?.unwrap_or_default().into_owned();
            let signature = object.string("thinkingSignature")?.map(|signature| signature.into_owned());
            Ok((Block::Thinking(Thinking { text, signature, extra: object.rest() }), None))
        }
        Some("toolCall") => {
            let id = object.string("id")?.unwrap_or_default().into_owned();
            let name = object.string("name")?.unwrap_or_default().into_owned();
            let input =
                object.take("arguments").map_or_else(|| "{}".to_owned(), |node| node.raw().to_owned());
            Ok((Block::ToolUse(ToolUse { id, name, input, extra: object.rest() }), None))
        }
        Some("image") => match (object.string("data")?, object.string("mimeType")?) {
            (Some(data), Some(media_type)) => {
                let source =
                    MediaSource::Base64 { media_type: media_type.into_owned(), data: data.into_owned() };
                Ok((Block::Image(Media { source, detail: None, extra: object.rest() }), None))
            }
            _ => unknown(),
        },
        _ => unknown(),
    }
}

// A call that never reached the provider reports zeros, which would pass for a free one.
fn usage(node: Node<'_>) -> Result<Option<Usage>, JsonError> {
    let Some(object) = node.object()? else { return Ok(None) };
    let tokens = |key| object.get(key).and_then(|node| node.raw().parse().ok()).map_or(Tokens::ZERO, Tokens);
    let usage = Usage {
        input: tokens("input"),
        cache_read: tokens("cacheRead"),
        cache_write: tokens("cacheWrite"),
        output: tokens("output"),
    };
    Ok((usage != Usage::default()).then_some(usage))
}
