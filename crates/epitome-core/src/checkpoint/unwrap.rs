//! Takes away what models wrap around a summary: thoughts, tags, code fences, JSON, indentation.
//!
//! A text that starts with a heading is not wrapped in anything, so what we wrote ourselves is left alone.

use serde_json::Value;

use super::READERS_NOTE;
use super::fence::Fence;
use super::json;
use super::line::{Line, Style};

/// A text without its wrapping.
pub(super) struct Unwrapped {
    pub(super) text: String,
    /// What stood around it.
    pub(super) ignored: Vec<String>,
}

/// Takes away whatever is wrapped around a text.
pub(super) fn unwrap(text: &str) -> Unwrapped {
    // A summary in a fence in a tag in JSON is as deep as it gets; more would be an attempt to keep us busy.
    const DEEPEST: usize = 5;
    let mut unwrapped =
        Unwrapped { text: text.trim_start_matches('\u{feff}').to_owned(), ignored: Vec::new() };
    for _ in 0..DEEPEST {
        if opens_with_heading(&unwrapped.text) || !unwrapped.step() {
            break;
        }
    }
    unwrapped
}

fn opens_with_heading(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_prefix(READERS_NOTE).unwrap_or(text).trim_start().starts_with('#')
}

impl Unwrapped {
    // Takes one layer away; whether there was one.
    fn step(&mut self) -> bool {
        let layers = [unquoted, without_thoughts, inside_tag, inside_fence, dedented];
        let Some(Layer { before, inside, after }) = layers.iter().find_map(|layer| layer(&self.text)) else {
            return false;
        };
        self.text = inside;
        self.ignored.extend([before, after].into_iter().filter(|text| !text.trim().is_empty()));
        true
    }
}

struct Layer {
    before: String,
    inside: String,
    after: String,
}

impl Layer {
    fn bare(inside: String) -> Self {
        Self { before: String::new(), inside, after: String::new() }
    }

    fn new(before: &str, inside: &str, after: &str) -> Self {
        let trimmed = |text: &str| text.trim().to_owned();
        Self { before: trimmed(before), inside: inside.to_owned(), after: trimmed(after) }
    }
}

// A JSON object or string, and words after it.
fn unquoted(text: &str) -> Option<Layer> {
    let text = text.trim();
    let end = match text.chars().next()? {
        '{' => text.rfind('}')?,
        '"' => text.rfind('"')?,
        _ => return None,
    };
    let value: Value = serde_json::from_str(text.get(..=end)?).ok()?;
    json::markdown(&value).map(Layer::bare)
}

const THOUGHTS: [&str; 6] = ["analysis", "thinking", "think", "scratchpad", "reasoning", "thoughts"];
const WRAPPINGS: [&str; 12] = [
    "summary",
    "checkpoint",
    "conversation_summary",
    "context_summary",
    "state_snapshot",
    "compaction",
    "output",
    "result",
    "answer",
    "response",
    "handoff",
    "context",
];

fn without_thoughts(text: &str) -> Option<Layer> {
    let (open, tag) = first_tag(text, &THOUGHTS)?;
    let close = format!("</{tag}>");
    let length = text.get(open..)?.find(&close)? + close.len();
    let (before, thoughts) = (text.get(..open)?, text.get(open..open + length)?);
    // Behind a heading they are quoted, not thought.
    if has_heading(before) {
        return None;
    }
    let rest = text.get(open + length..)?;
    Some(Layer::new("", &format!("{before}{rest}"), thoughts))
}

fn inside_tag(text: &str) -> Option<Layer> {
    let (open, tag) = first_tag(text, &WRAPPINGS)?;
    let before = text.get(..open)?;
    if has_heading(before) {
        return None;
    }
    let inside = text.get(open + tag.len() + 2..)?;
    let close = format!("</{tag}>");
    // A model that ran out of words did not close what it opened.
    match inside.rfind(&close) {
        Some(end) => Some(Layer::new(before, inside.get(..end)?, inside.get(end + close.len()..)?)),
        None => Some(Layer::new(before, inside, "")),
    }
}

// The first of these tags that opens at the start of a line.
fn first_tag<'t>(text: &str, tags: &[&'t str]) -> Option<(usize, &'t str)> {
    let places = tags.iter().filter_map(|tag| {
        let open = format!("<{tag}>");
        let mut places = text.match_indices(&open).map(|(at, _)| at);
        let at_start = |at: &usize| {
            text.get(..*at).is_some_and(|before| {
                before.trim_end_matches([' ', '\t']).ends_with('\n') || before.trim().is_empty()
            })
        };
        places.find(at_start).map(|at| (at, *tag))
    });
    places.min()
}

fn has_heading(text: &str) -> bool {
    text.lines().any(|line| line.starts_with('#') && matches!(Line::of(line, Style::Hash), Line::Heading(_)))
}

fn inside_fence(text: &str) -> Option<Layer> {
    let lines: Vec<&str> = text.split('\n').collect();
    let open = lines.iter().position(|line| Fence::of(line).is_some())?;
    let fence = Fence::of(lines.get(open)?)?;
    let closes = |line: &&str| Fence::of(line).is_some_and(|other| fence.closed_by(&other));
    let after = lines.get(open + 1..)?;
    let close = after.iter().rposition(closes).unwrap_or(after.len());
    let inside = after.get(..close)?;
    let joined = inside.join("\n");
    let before = lines.get(..open)?.join("\n");
    let text_inside = matches!(
        fence.info.to_lowercase().as_str(),
        "" | "markdown" | "md" | "text" | "txt" | "json" | "xml"
    );
    let structured = || {
        let announces = |line: &&str| matches!(Line::of(line, Style::Plain), Line::Heading(_));
        joined.trim_start().starts_with(['{', '<']) || inside.iter().any(announces)
    };
    if !text_inside || has_heading(&before) || !structured() {
        return None;
    }
    Some(Layer::new(&before, &joined, &after.get(close + 1..).unwrap_or_default().join("\n")))
}

// A text of which every line is indented.
fn dedented(text: &str) -> Option<Layer> {
    let width = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let written = text.split('\n').filter(|line| !line.trim().is_empty());
    let common = written.map(width).min().filter(|common| *common > 0)?;
    let lines: Vec<&str> = text.split('\n').map(|line| line.get(common..).unwrap_or_default()).collect();
    Some(Layer::bare(lines.join("\n")))
}
