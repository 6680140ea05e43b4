//! Compactions for tests: conversations of known sizes, summarisers that tell what they were asked, shapes to compare.

use epitome_core::compact::{
    Compacted, Compaction, Preset, Request, Segment, Summarizer, SummaryError, SummaryRequest, SystemPlace,
    compact, view,
};
use epitome_core::pressure::Occasion;
use epitome_core::settings::Settings;
use epitome_core::{Block, Message, Role};

use crate::support::*;

/// A text of exactly so many tokens.
pub(crate) fn words(tokens: usize) -> String {
    format!("word{}", " word".repeat(tokens.saturating_sub(1)))
}

/// A message of exactly so many tokens, its frame included.
pub(crate) fn sized(role: Role, tokens: usize) -> Message {
    Message::text(role, words(tokens - 4))
}

/// Question and answer by turns, each message of so many tokens.
pub(crate) fn chat(messages: usize, tokens: usize) -> Vec<Message> {
    let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    (0..messages).map(|at| sized(role(at), tokens)).collect()
}

/// Question and answer by turns, each message saying its number, from 1.
pub(crate) fn numbered(messages: usize) -> Vec<Message> {
    let role = |at: usize| if at.is_multiple_of(2) { Role::Assistant } else { Role::User };
    (1..=messages).map(|at| Message::text(role(at), format!("msg {at}"))).collect()
}

/// A preset's settings with its seed's own way of failing.
pub(crate) fn literal(preset: Preset) -> Settings {
    let mut settings = preset.settings();
    settings.compact.fallback = epitome_core::compact::Fallback::Seed;
    settings
}

/// Writes the same summary every time, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Scribe {
    pub(crate) text: String,
    pub(crate) asked: Vec<Asked>,
}

/// What a summariser was asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) first: usize,
    pub(crate) messages: usize,
    pub(crate) previous: Vec<String>,
}

impl Scribe {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), asked: Vec::new() }
    }
}

impl Summarizer for Scribe {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let (first, messages) = (request.first, request.messages.len());
        self.asked.push(Asked { first, messages, previous: request.previous.to_vec() });
        Ok(self.text.clone())
    }
}

/// Never writes anything.
pub(crate) struct Broken;

impl Summarizer for Broken {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        Err(SummaryError("no connection".to_owned()))
    }
}

/// A checkpoint that passes validation.
pub(crate) fn checkpoint(goal: &str) -> String {
    let context = "- a path that must not get lost: src/engine/mod.rs\n".repeat(5);
    format!("## Goal\n{goal}\n\n## Progress\n### Done\n- [x] looked around\n\n## Critical Context\n{context}")
}

pub(crate) fn run(messages: &[Message], request: &Request<'_>, summarizer: &mut dyn Summarizer) -> Compacted {
    compact(&path(messages), messages, request, summarizer, &|text: &str| counter().text(text))
}

/// A compaction that somebody asks for.
pub(crate) fn asked<'a>(settings: &'a Settings) -> Request<'a> {
    Request { occasion: Occasion::Asked, ..Request::new(settings) }
}

/// What the model sees.
pub(crate) fn seen(compaction: &Compaction, messages: &[Message]) -> Vec<Message> {
    view(compaction, &path(messages), messages, SystemPlace::Message(Role::System)).messages(messages)
}

/// The segments in short: `V0..1 S1..19 V19..25`.
pub(crate) fn shape(compaction: &Compaction) -> String {
    let letter = |segment: &Segment| match segment {
        Segment::Verbatim { .. } => "V",
        Segment::Pruned { .. } => "P",
        Segment::Summary { .. } => "S",
        Segment::Omitted { .. } => "O",
    };
    let segments =
        compaction.segments.iter().map(|segment| format!("{}{:?}", letter(segment), segment.range()));
    segments.collect::<Vec<_>>().join(" ")
}

/// The messages in short: role's initial and the first text.
pub(crate) fn lines(messages: &[Message]) -> Vec<String> {
    let text = |message: &Message| {
        let texts = message.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.clone()),
            Block::ToolUse(call) => Some(format!("+{}", call.id)),
            Block::ToolResult(result) => Some(format!("-{}", result.call_id)),
            _ => None,
        });
        texts.collect::<Vec<_>>().join(" ")
    };
    messages.iter().map(|message| format!("{}: {}", message.role, text(message))).collect()
}

/// Whether user and assistant take turns, the user first.
pub(crate) fn alternates(messages: &[Message]) -> bool {
    let spoken: Vec<Role> = messages.iter().map(|m| m.role).filter(|role| *role != Role::System).collect();
    spoken.first().is_none_or(|role| *role == Role::User) && spoken.windows(2).all(|pair| pair[0] != pair[1])
}
