//! A conversation as text for a model that is to summarise it.
//!
//! Labels are those of spec 008.1 v4; previews of tool results and inputs and the cap on the whole are
//! those of the micro agent. The messages are numbered where the reader is to say what comes from where.

use crate::message::{Block, Message, Role, ToolResult, ToolUse};
use crate::units::Chars;

/// How a conversation is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranscriptOptions {
    /// Tool results that are longer are told as head and tail.
    pub tool_result: Chars,
    /// How much of the start of a long tool result is told.
    pub tool_result_head: Chars,
    /// How much of its end.
    pub tool_result_tail: Chars,
    /// How much of a tool's input is told.
    pub tool_input: Chars,
    /// How long the whole may be; what is too much goes from its middle.
    pub most: Chars,
    /// The number of the first message, where messages are to be numbered.
    pub first: Option<usize>,
}

impl Default for TranscriptOptions {
    fn default() -> Self {
        Self {
            tool_result: Chars(700),
            tool_result_head: Chars(500),
            tool_result_tail: Chars(200),
            tool_input: Chars(200),
            most: Chars(100_000),
            first: None,
        }
    }
}

/// The conversation as text; never longer than [`TranscriptOptions::most`].
pub fn serialize_for_summary(messages: &[Message], options: &TranscriptOptions) -> String {
    let told = messages.iter().enumerate().filter_map(|(number, message)| {
        let parts: Vec<String> = message.blocks.iter().filter_map(|block| part(block, options)).collect();
        let speaker = speaker(message);
        let label = match options.first {
            Some(first) => format!("{speaker} (#{})", first + number),
            None => speaker.to_owned(),
        };
        (!parts.is_empty()).then(|| format!("**{label}:** {}", parts.join("\n")))
    });
    let text = told.collect::<Vec<_>>().join("\n\n");
    middle_cut(&text, options.most)
}

fn speaker(message: &Message) -> &'static str {
    let answers = |block: &Block| matches!(block, Block::ToolResult(_));
    match message.role {
        Role::User if !message.blocks.is_empty() && message.blocks.iter().all(answers) => "Tool",
        Role::User => "User",
        Role::Tool => "Tool",
        Role::System | Role::Developer => "System",
        Role::Assistant => "Assistant",
    }
}

fn part(block: &Block, options: &TranscriptOptions) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.text.clone()).filter(|text| !text.trim().is_empty()),
        Block::ToolUse(call) | Block::ServerToolUse(call) => Some(told_call(call, options)),
        Block::ToolResult(result) | Block::ServerToolResult(result) => Some(told_result(result, options)),
        Block::Image(_) => Some("[image]".to_owned()),
        Block::Document(_) => Some("[document]".to_owned()),
        Block::Thinking(_) | Block::RedactedThinking(_) | Block::Compaction(_) | Block::Unknown(_) => None,
    }
}

fn told_call(call: &ToolUse, options: &TranscriptOptions) -> String {
    let input = first(&call.input, options.tool_input);
    let more = if input.len() < call.input.len() { "…" } else { "" };
    format!("[called {}: {input}{more}]", call.name)
}

fn told_result(result: &ToolResult, options: &TranscriptOptions) -> String {
    let text = result.joined_text();
    let length = Chars::of(&text);
    let shown = options.tool_result_head + options.tool_result_tail;
    let failed = if result.is_error { " failed" } else { "" };
    let images = result.content.iter().filter(|block| matches!(block, Block::Image(_))).count();
    let images = if images > 0 { format!(" ({images} images)") } else { String::new() };
    if length <= options.tool_result || length <= shown {
        return format!("[tool result{failed}{images}: {text}]");
    }
    let (head, tail) = (first(&text, options.tool_result_head), last(&text, options.tool_result_tail));
    let left_out = length - shown;
    format!("[tool result{failed}{images}: {head}\n... [{left_out} chars omitted] ...\n{tail}]")
}

fn middle_cut(text: &str, most: Chars) -> String {
    let length = Chars::of(text);
    if length <= most {
        return text.to_owned();
    }
    let marker = format!("\n\n[... {length} chars, middle omitted ...]\n\n");
    let room = most.saturating_sub(Chars::of(&marker));
    if room == Chars::ZERO {
        return first(text, most).to_owned();
    }
    let tail = Chars(room.0 / 2);
    [first(text, room - tail), &marker, last(text, tail)].concat()
}

fn first(text: &str, chars: Chars) -> &str {
    let end = text.char_indices().nth(chars.0).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn last(text: &str, chars: Chars) -> &str {
    let Some(before) = chars.0.checked_sub(1) else { return "" };
    let start = text.char_indices().rev().nth(before).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or(text)
}
