//! SWE-agent trajectories: one JSON object with the `history` that the model saw.
//!
//! Without function calling, SWE-agent writes the call into the reply's text and the output into a user
//! message. Here the reply gets an (empty) call of the command it ran, and the output becomes its result,
//! so that output is pruned as output.

use std::collections::HashMap;

use epitome_core::{Block, Message, Role, ToolResult, ToolUse};

use super::assembly::Assembly;
use super::error::FileError;
use super::format::Format;
use super::log::Log;
use super::plain::element;
use super::record::{Cut, Record};
use crate::error::WireError;
use crate::json::Span;
use crate::node::{Node, Object};
use crate::{dialect::Dialect, layout::BlockLayout};

pub(super) fn read(text: &str, log: &mut Log<'_>) -> Result<Assembly, FileError> {
    let wrong = |reason| FileError::WrongFormat { format: Format::SweAgent, reason };
    let root = super::plain::root(text, log)?;
    let object = root.object().ok().flatten().ok_or(wrong("not an object"))?;
    let history = object.get("history").and_then(|history| history.array().ok().flatten());
    let history = history.ok_or(wrong("it has no history"))?;
    let mut assembly = Assembly { id: environment(&object), ..Assembly::default() };
    let mut open: Option<(String, String)> = None;
    for node in history {
        let record = Record { span: node.span, cut: Cut::Element, ..Record::default() };
        let number = assembly.record(record);
        match entry(node, number, &mut open) {
            Ok((message, layouts)) => {
                assembly.append(Some(number), message, layouts);
            }
            Err(error) => log.report(node.span.start, error.to_string())?,
        }
    }
    copy_observations(&object, &mut assembly);
    Ok(assembly)
}

fn environment(object: &Object<'_>) -> Option<String> {
    object.get("environment")?.string().ok()?.map(|name| name.into_owned())
}

fn entry(
    node: Node<'_>,
    number: usize,
    open: &mut Option<(String, String)>,
) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let Some(mut object) = node.object()? else {
        return Err(WireError::Shape {
            dialect: Dialect::Chat,
            what: "history entry is not an object",
            at: 0,
        });
    };
    let role = object.string("role")?.unwrap_or_default().into_owned();
    let ids = object.get("tool_call_ids").map_or(Ok(None), |ids| ids.array())?.unwrap_or_default();
    if role == "tool" && object.get("tool_call_id").is_none() && !ids.is_empty() {
        let id = ids.first().map_or(Ok(None), |id| id.string())?.unwrap_or_default().into_owned();
        return output(&object, node.span, (id, None));
    }
    if role == "user"
        && let Some((id, name)) = open.take()
    {
        return output(&object, node.span, (id, Some(name)));
    }
    let (mut message, mut layouts) = element(Dialect::Chat, node)?;
    message.extra.clear();
    let calls = message.blocks.iter().any(|block| matches!(block, Block::ToolUse(_)));
    if let Some(action) =
        object.string("action")?.filter(|action| role == "assistant" && !calls && !action.trim().is_empty())
    {
        let name = action.split_whitespace().next().unwrap_or("action").to_owned();
        let id = format!("action-{number}");
        message.blocks.push(Block::ToolUse(ToolUse {
            id: id.clone(),
            name: name.clone(),
            input: "{}".into(),
            extra: vec![],
        }));
        let place = object.get("action").map_or(node.span, |action| action.span);
        layouts.push(BlockLayout { block: place, text: None });
        *open = Some((id, name));
    } else if role != "system" {
        *open = None;
    }
    Ok((message, layouts))
}

fn output(
    object: &Object<'_>,
    whole: Span,
    (call_id, name): (String, Option<String>),
) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let content = object.get("content");
    let mut texts = Vec::new();
    if let Some(node) = content {
        if let Some(text) = node.string()? {
            texts.push(Block::text(text));
        }
        for part in node.array()?.unwrap_or_default() {
            match part.object()?.map_or(Ok(None), |mut part| part.string("text"))? {
                Some(text) => texts.push(Block::text(text)),
                None => texts.push(Block::Unknown(part.opaque()?)),
            }
        }
    }
    let result = ToolResult { call_id, name, content: texts, is_error: false, extra: Vec::new() };
    let layout = BlockLayout { block: whole, text: content.map(|node| node.span) };
    Ok((Message::new(Role::Tool, vec![Block::ToolResult(result)]), vec![layout]))
}

/// How many steps may lie between an output and its copy: some steps leave no output in the history.
const LOOK_AHEAD: usize = 8;

// Beside the history stands a list of steps that holds every output again: once as it came, and in newer
// files once more in each later `query`.
fn copy_observations(object: &Object<'_>, assembly: &mut Assembly) {
    let steps = object.get("trajectory").and_then(|steps| steps.array().ok().flatten()).unwrap_or_default();
    let steps: Vec<Object<'_>> = steps.iter().filter_map(|step| step.object().ok().flatten()).collect();
    let mut by_content: HashMap<String, usize> = HashMap::new();
    let mut next = 0;
    for (at, draft) in assembly.messages.iter_mut().enumerate() {
        let Some(Block::ToolResult(result)) = draft.message.blocks.first() else { continue };
        let shown = result.joined_text();
        by_content.entry(shown.clone()).or_insert(at);
        let Some(place) = draft.places.first_mut() else { continue };
        let upcoming = steps.iter().enumerate().skip(next).take(LOOK_AHEAD);
        let found = upcoming.filter_map(|(step, object)| Some((step, text_field(object, "observation")?)));
        if let Some((step, (span, _))) = found.into_iter().find(|(_, (_, text))| shown.contains(text.trim()))
        {
            place.copies.push(span);
            next = step + 1;
        }
    }
    for sent in steps.iter().filter_map(|step| step.get("query").or_else(|| step.get("messages"))) {
        for entry in sent.array().ok().flatten().unwrap_or_default() {
            let content = entry.object().ok().flatten().and_then(|entry| text_field(&entry, "content"));
            let Some((span, text)) = content else { continue };
            let draft = by_content.get(&text).and_then(|at| assembly.messages.get_mut(*at));
            if let Some(place) = draft.and_then(|draft| draft.places.first_mut()) {
                place.copies.push(span);
            }
        }
    }
}

fn text_field(object: &Object<'_>, key: &str) -> Option<(Span, String)> {
    let node = object.get(key)?;
    let text = node.string().ok().flatten().filter(|text| !text.trim().is_empty())?;
    Some((node.span, text.into_owned()))
}
