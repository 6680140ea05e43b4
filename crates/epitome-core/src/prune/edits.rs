//! Turns a plan into changes of messages: new texts, removed blocks, and what to do with an emptied message.

use std::borrow::Cow;
use std::ops::Range;

use super::facts::TextFacts;
use super::mark::{Mark, Marked};
use super::plan::{Plan, is_only_thinking};
use super::render::render;
use crate::events;
use crate::message::{Block, Message, RawJson, Role};
use crate::outline::Entry;
use crate::units::Tokens;

/// What stands for a reply of nothing but thinking, where leaving it out would put two user messages side by side.
pub const THINKING_REMOVED: &str = "[thinking removed]";

/// The field that marks a cache breakpoint.
pub const CACHE_CONTROL: &str = "cache_control";

/// What becomes of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockEdit {
    /// Its text becomes this one: of a text block the text, of a tool result the whole content.
    Text(String),
    /// It is taken out.
    Remove,
}

/// What becomes of one message.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Some of its blocks change: their numbers, ascending, and what becomes of each.
    Edit(Vec<(usize, BlockEdit)>),
    /// It is left out, as it would be empty.
    Drop,
    /// This message takes its place.
    Replace(Message),
}

/// The messages that a plan changes, ascending, and how.
///
/// `text` gives the text of a block: of a text block its text, of a tool result its joined texts. It is
/// asked only for blocks that the plan marks; a block whose text it does not know stays as it is.
pub fn edits<'t>(
    plan: &Plan,
    path: &[Entry],
    mut text: impl FnMut(usize, usize) -> Option<Cow<'t, str>>,
) -> Vec<(usize, Change)> {
    let change = |(message, fate): (usize, Fate<'_>)| {
        let edit = |marked: &Marked| edit(marked, path, || text(message, marked.block));
        let change = match fate {
            Fate::Marked(marks) => Change::Edit(marks.iter().filter_map(edit).collect()),
            Fate::Dropped => Change::Drop,
            Fate::Replaced => Change::Replace(Message::text(Role::Assistant, THINKING_REMOVED)),
        };
        (message, change)
    };
    fates(&plan.marks, path).map(change).collect()
}

/// What marks make of a message, before any of them is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate<'m> {
    /// It stays, under these marks.
    Marked(&'m [Marked]),
    /// It is left out, as it would be empty.
    Dropped,
    /// [`THINKING_REMOVED`] takes its place.
    Replaced,
}

/// The messages that these marks change, ascending, and how.
pub fn fates<'m>(marks: &'m [Marked], path: &[Entry]) -> impl Iterator<Item = (usize, Fate<'m>)> {
    let mut run = Run::default();
    marks.chunk_by(|left, right| left.message == right.message).filter_map(move |marks| {
        let message = marks.first()?.message;
        if !is_only_thinking(&path.get(message)?.outline) {
            return Some((message, Fate::Marked(marks)));
        }
        if !run.messages.contains(&message) {
            run = Run::around(path, message);
        }
        Some((message, run.without(message, path)))
    })
}

/// What a mark makes of its block, whose text is `text`; nothing where the block has no text to change.
pub(crate) fn edit<'t>(
    marked: &Marked,
    path: &[Entry],
    text: impl FnOnce() -> Option<Cow<'t, str>>,
) -> Option<(usize, BlockEdit)> {
    if marked.mark == Mark::Remove {
        return Some((marked.block, BlockEdit::Remove));
    }
    let facts = TextFacts::of(path.get(marked.message)?.outline.blocks.get(marked.block)?)?;
    let new = render(marked.mark, &text()?, &marked.speaker, &facts)?;
    Some((marked.block, BlockEdit::Text(new)))
}

// A run of assistant messages, one of which would be left empty.
#[derive(Default)]
struct Run {
    messages: Range<usize>,
    speaks_on: bool,
}

impl Run {
    fn around(path: &[Entry], message: usize) -> Self {
        let assistant = |entry: &&Entry| entry.outline.role == Role::Assistant;
        let (before, after) = path.split_at(message.min(path.len()));
        let before = before.iter().rev().take_while(assistant).count();
        let after = after.iter().take_while(assistant).count();
        let messages = message - before..message + after;
        let run = path.get(messages.clone()).unwrap_or_default();
        Self { messages, speaks_on: run.iter().any(|entry| !is_only_thinking(&entry.outline)) }
    }

    // All thinking goes at once, so every message of nothing else is left out. But a run that has nothing
    // else keeps one message between its two neighbours, who would otherwise speak twice in a row.
    fn without(&self, message: usize, path: &[Entry]) -> Fate<'static> {
        let before = path.get(..self.messages.start).unwrap_or_default();
        let spoken = |entry: &Entry| !matches!(entry.outline.role, Role::System | Role::Developer);
        let separates = before.iter().any(spoken) && self.messages.end < path.len();
        if !self.speaks_on && separates && message == self.messages.start {
            Fate::Replaced
        } else {
            Fate::Dropped
        }
    }
}

/// Carries a plan out on messages, and reports it in the log.
///
/// `warn_tokens` is the size above which the result is worth an early warning.
pub fn apply(plan: &Plan, path: &[Entry], messages: &[Message], warn_tokens: Tokens) -> Vec<Message> {
    events::sending(plan, warn_tokens);
    let lookup = |message: usize, block: usize| text_of(messages.get(message)?.blocks.get(block)?);
    let mut changes = edits(plan, path, lookup).into_iter().peekable();
    let mut pruned = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        match changes.next_if(|(changed, _)| *changed == at).map(|(_, change)| change) {
            None => pruned.push(message.clone()),
            Some(Change::Edit(edits)) => pruned.push(edited(message, edits)),
            Some(Change::Replace(new)) => pruned.push(Message { meta: message.meta.clone(), ..new }),
            Some(Change::Drop) => {}
        }
    }
    pruned
}

/// A message with some of its blocks changed.
pub fn edited(message: &Message, edits: Vec<(usize, BlockEdit)>) -> Message {
    let mut edits = edits.into_iter().peekable();
    let blocks = message.blocks.iter().enumerate().filter_map(|(at, block)| {
        match edits.next_if(|(changed, _)| *changed == at).map(|(_, edit)| edit) {
            None => Some(block.clone()),
            Some(BlockEdit::Text(text)) => Some(with_text(block, text, moved_breakpoint(message, at))),
            Some(BlockEdit::Remove) => None,
        }
    });
    let blocks = blocks.collect();
    Message { blocks, meta: message.meta.clone(), extra: message.extra.clone(), role: message.role }
}

fn with_text(block: &Block, text: String, breakpoint: Option<&(String, RawJson)>) -> Block {
    match block.clone() {
        Block::Text(mut old) => {
            old.text = text;
            Block::Text(old)
        }
        Block::ToolResult(mut result) => {
            result.content = vec![Block::text(text)];
            result.extra.extend(breakpoint.cloned());
            Block::ToolResult(result)
        }
        other => other,
    }
}

/// The cache breakpoint that a tool result takes over from its content when that is replaced.
///
/// Only Anthropic knows breakpoints, and there results stand in the user's messages. One inside the content would
/// go with it, and with it the provider's cache of all that stands before; a result that has its own keeps that.
pub fn moved_breakpoint(message: &Message, block: usize) -> Option<&(String, RawJson)> {
    let Some(Block::ToolResult(result)) = message.blocks.get(block) else { return None };
    let is_breakpoint = |(key, _): &&(String, RawJson)| key == CACHE_CONTROL;
    if message.role != Role::User || result.extra.iter().any(|field| is_breakpoint(&field)) {
        return None;
    }
    let inner = result.content.iter().rev().filter_map(|inner| match inner {
        Block::Text(text) => text.extra.iter().rev().find(is_breakpoint),
        _ => None,
    });
    inner.into_iter().find(|(_, value)| value.as_str() != "null")
}

/// The text of a block that pruning can change: a text, or a tool result's joined texts.
pub fn text_of(block: &Block) -> Option<Cow<'_, str>> {
    match block {
        Block::Text(text) => Some(Cow::Borrowed(&text.text)),
        Block::ToolResult(result) => Some(match result.content.as_slice() {
            [Block::Text(only)] => Cow::Borrowed(&only.text),
            _ => Cow::Owned(result.joined_text()),
        }),
        _ => None,
    }
}
