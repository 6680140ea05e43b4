//! Codex rollouts: JSON lines of events, among them the Responses items that were sent and received.
//!
//! Newer files wrap each item (`{"timestamp","type","payload"}`), older ones hold the items bare after a
//! first line about the session.

use std::collections::HashMap;

use epitome_core::{Block, Message, Opaque, Role, Tokens, Usage};

use super::assembly::Assembly;
use super::error::FileError;
use super::format::Format;
use super::lines::objects_of;
use super::log::Log;
use super::record::{Link, Record, Target};
use super::time::time;
use super::transcript::RecordedCompaction;
use crate::error::WireError;
use crate::json::Span;
use crate::message::decode_known;
use crate::node::{Node, Object};
use crate::{dialect::Dialect, layout::BlockLayout};

/// Fields of events that repeat a tool's output.
const COPIES: [&str; 4] = ["stdout", "aggregated_output", "formatted_output", "output"];

pub(super) fn read(text: &str, log: &mut Log<'_>) -> Result<Assembly, FileError> {
    let mut rollout = Rollout::default();
    for line in objects_of(Format::Codex, text, log)? {
        let number = rollout.assembly.record(Record { span: line.span, cut: line.cut, ..Record::default() });
        if let Err(error) = rollout.line(Node::new(text, line.span), number) {
            log.report(line.span.start, error.to_string())?;
        }
    }
    Ok(rollout.finish())
}

#[derive(Default)]
struct Rollout {
    assembly: Assembly,
    model: Option<String>,
    head: Option<usize>,
    /// How many messages there were when a reply was last said to be whole.
    whole: usize,
    /// Outputs that events repeat, by call.
    copies: Vec<(String, Span)>,
}

impl Rollout {
    fn line(&mut self, node: Node<'_>, number: usize) -> Result<(), WireError> {
        let Some(mut line) = node.object()? else { return Ok(()) };
        let Some(payload) = line.get("payload") else { return self.bare(node, &mut line, number) };
        match line.string("type")?.as_deref() {
            Some("session_meta") => self.session(payload),
            Some("turn_context") => {
                if let Some(mut context) = payload.object()? {
                    self.model =
                        context.string("model")?.map(|model| model.into_owned()).or(self.model.take());
                }
                Ok(())
            }
            Some("response_item") => self.item(payload, &line, number),
            Some("compacted") => self.compacted(payload, &line, number),
            Some("event_msg") => self.event(payload),
            _ => Ok(()),
        }
    }

    fn bare(&mut self, node: Node<'_>, line: &mut Object<'_>, number: usize) -> Result<(), WireError> {
        if line.get("record_type").is_some() {
            return Ok(());
        }
        match line.get("type").is_some() || line.get("role").is_some() {
            true => self.item(node, line, number),
            false => self.session(node),
        }
    }

    fn session(&mut self, payload: Node<'_>) -> Result<(), WireError> {
        let Some(mut meta) = payload.object()? else { return Ok(()) };
        if self.assembly.id.is_none() {
            self.assembly.id = meta.string("id")?.map(|id| id.into_owned());
        }
        let base = match meta.get("base_instructions") {
            Some(base) => base.object()?.map_or(Ok(None), |mut base| base.string("text"))?,
            None => None,
        };
        let instructions = match base {
            Some(text) => Some(text),
            None => meta.string("instructions")?,
        };
        if let Some(text) = instructions.filter(|text| !text.is_empty()) {
            self.assembly.system = Some(Message::text(Role::System, text));
        }
        Ok(())
    }

    fn item(&mut self, payload: Node<'_>, line: &Object<'_>, number: usize) -> Result<(), WireError> {
        let (mut message, layout) = decode_known(Dialect::Responses, payload.raw())?;
        let base = payload.span.start;
        let shift = |place: BlockLayout| BlockLayout {
            block: place.block.shifted(base),
            text: place.text.map(|text| text.shifted(base)),
        };
        message.meta.id =
            payload.object()?.map_or(Ok(None), |mut item| item.string("id"))?.map(|id| id.into_owned());
        if message.role == Role::Assistant {
            message.meta.model = self.model.clone();
        }
        self.append(message, layout.blocks.into_iter().map(shift).collect(), line, number);
        Ok(())
    }

    fn append(
        &mut self,
        mut message: Message,
        layouts: Vec<BlockLayout>,
        line: &Object<'_>,
        number: usize,
    ) -> usize {
        message.meta.time = line.get("timestamp").and_then(time);
        let at = self.assembly.append(Some(number), message, layouts);
        if let Some(draft) = self.assembly.messages.get_mut(at) {
            draft.parent = self.head;
        }
        self.head = Some(at);
        at
    }

    // The summary, or where the provider wrote one that only it can read, the whole payload.
    fn compacted(&mut self, payload: Node<'_>, line: &Object<'_>, number: usize) -> Result<(), WireError> {
        let Some(mut object) = payload.object()? else { return Ok(()) };
        let place = object.get("message");
        let summary = object.string("message")?.unwrap_or_default().into_owned();
        let (block, layout) = match place.filter(|_| !summary.is_empty()) {
            Some(node) => {
                (Block::text(summary.clone()), BlockLayout { block: node.span, text: Some(node.span) })
            }
            None => {
                let opaque = Opaque { kind: "compacted".to_owned(), raw: payload.raw_json() };
                (Block::Compaction(opaque), BlockLayout { block: payload.span, text: None })
            }
        };
        let position = self.append(Message::new(Role::User, vec![block]), vec![layout], line, number);
        self.assembly.compactions.push(RecordedCompaction {
            position,
            summary,
            first_kept: None,
            tokens_before: None,
        });
        Ok(())
    }

    fn event(&mut self, payload: Node<'_>) -> Result<(), WireError> {
        let Some(mut event) = payload.object()? else { return Ok(()) };
        match event.string("type")?.as_deref() {
            Some("token_count") => self.token_count(&event),
            Some("task_complete" | "turn_complete" | "turn_aborted") => {
                self.whole = self.assembly.messages.len();
                Ok(())
            }
            Some("thread_rolled_back") => {
                if let Some(turns) = event.get("num_turns") {
                    let gone = self.roll_back(turns.raw().parse().unwrap_or(0));
                    if let Some(record) = self.assembly.records.last_mut() {
                        record.links.push(Link { span: turns.span, to: Target::Count(gone) });
                    }
                }
                Ok(())
            }
            _ => {
                if let Some(call) = event.string("call_id")? {
                    let values = COPIES.iter().filter_map(|key| event.get(key));
                    let texts = values.filter(|node| node.raw().starts_with('"') && node.raw().len() > 2);
                    self.copies.extend(texts.map(|node| (call.clone().into_owned(), node.span)));
                }
                Ok(())
            }
        }
    }

    fn token_count(&mut self, event: &Object<'_>) -> Result<(), WireError> {
        let Some(info) = event.get("info") else { return Ok(()) };
        let Some(info) = info.object()? else { return Ok(()) };
        let Some(last) = info.get("last_token_usage") else { return Ok(()) };
        let Some(last) = last.object()? else { return Ok(()) };
        let tokens =
            |key| last.get(key).and_then(|node| node.raw().parse().ok()).map_or(Tokens::ZERO, Tokens);
        let (cache_read, cache_write) = (tokens("cached_input_tokens"), tokens("cache_write_input_tokens"));
        let usage = Usage {
            input: tokens("input_tokens") - cache_read - cache_write,
            cache_read,
            cache_write,
            output: tokens("output_tokens"),
        };
        // The count follows the reply; tool output may already have been written in between.
        let reply =
            self.assembly.messages.iter_mut().rev().find(|draft| draft.message.role == Role::Assistant);
        if let Some(reply) = reply.filter(|_| usage.total_input() > Tokens::ZERO) {
            reply.message.meta.usage = Some(usage);
            self.whole = self.assembly.messages.len();
        }
        Ok(())
    }

    // Moves back over so many of the user's turns; the records in which they began.
    fn roll_back(&mut self, turns: usize) -> Vec<usize> {
        let mut gone = Vec::new();
        while let Some(draft) = self.head.and_then(|at| self.assembly.messages.get(at))
            && gone.len() < turns
        {
            self.head = draft.parent;
            if draft.message.role == Role::User && !is_surroundings(&draft.message) {
                gone.extend(draft.records.first());
            }
        }
        gone
    }

    fn finish(mut self) -> Assembly {
        let mut results: HashMap<&str, (usize, usize)> = HashMap::new();
        let mut places: Vec<(usize, usize, Span)> = Vec::new();
        for (at, draft) in self.assembly.messages.iter().enumerate() {
            for (block, found) in draft.message.blocks.iter().enumerate() {
                if let Block::ToolResult(result) = found {
                    results.insert(&result.call_id, (at, block));
                }
            }
        }
        for (call, span) in self.copies {
            if let Some((message, block)) = results.get(call.as_str()) {
                places.push((*message, *block, span));
            }
        }
        for (message, block, span) in places {
            let draft = self.assembly.messages.get_mut(message);
            if let Some(place) = draft.and_then(|draft| draft.places.get_mut(block)) {
                place.copies.push(span);
            }
        }
        for draft in self.assembly.messages.iter_mut().skip(self.whole) {
            draft.open = draft.message.role == Role::Assistant;
        }
        self.assembly.head = self.head;
        self.assembly
    }
}

// Codex itself puts user messages about the surroundings in front of what the user says.
fn is_surroundings(message: &Message) -> bool {
    let first = message.blocks.first();
    matches!(first, Some(Block::Text(text)) if text.text.starts_with("<environment_context>") || text.text.starts_with("<user_instructions>"))
}
