//! Before and after, side by side: what each stretch of a conversation opens with, and what stands in its place.

use epitome_core::Message;
use epitome_core::compact::{Compaction, Segment, Stretch};

use crate::print::{Align, Table, grouped, plural, width};

/// A stretch of messages before and after.
pub(super) struct Side {
    /// The messages: `0–34`.
    messages: String,
    before: String,
    tokens_before: u64,
    after: String,
    tokens_after: u64,
}

impl Side {
    /// Every stretch of a report; of summaries that are not written yet there is only what they may become.
    pub(super) fn all(
        stretches: &[Stretch],
        messages: &[Message],
        compaction: Option<&Compaction>,
    ) -> Vec<Self> {
        let segments = compaction.map_or(&[][..], |compaction| &compaction.segments);
        let numbered = stretches.iter().enumerate();
        numbered.map(|(number, stretch)| Self::of(stretch, messages, segments.get(number))).collect()
    }

    fn of(stretch: &Stretch, messages: &[Message], segment: Option<&Segment>) -> Self {
        let range = &stretch.range;
        let first = messages.get(range.start);
        let opening = first.map(|message| format!("{}: {}", message.role, opening(message)));
        Self {
            messages: numbers(range.start, range.end),
            before: opening.unwrap_or_default(),
            tokens_before: stretch.tokens_before.0,
            after: after(stretch, segment),
            tokens_after: stretch.tokens_after.0,
        }
    }
}

/// The stretches as a table as wide as the terminal.
pub(super) fn table(sides: &[Side]) -> String {
    let longest =
        |cell: fn(&Side) -> usize, least: usize| sides.iter().map(cell).chain([least]).max().unwrap_or(least);
    let fixed = longest(|side| side.messages.chars().count(), 8)
        + longest(|side| grouped(side.tokens_before).len(), 6)
        + longest(|side| grouped(side.tokens_after).len(), 6);
    const GAPS: usize = 10;
    let room = (width().saturating_sub(fixed + GAPS) / 2).clamp(16, 60);
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("messages", left),
        ("before", left),
        ("tokens", right),
        ("after", left),
        ("tokens", right),
    ]);
    for side in sides {
        table.row([
            side.messages.clone(),
            short(&side.before, room),
            grouped(side.tokens_before),
            short(&side.after, room),
            grouped(side.tokens_after),
        ]);
    }
    table.render()
}

fn numbers(start: usize, end: usize) -> String {
    if end == start + 1 { start.to_string() } else { format!("{start}–{}", end.saturating_sub(1)) }
}

fn after(stretch: &Stretch, segment: Option<&Segment>) -> String {
    let level = stretch.level.map_or("summary".to_owned(), |level| format!("{level:?}").to_lowercase());
    match segment {
        Some(Segment::Summary { text, .. }) => format!("{level}: {}", start(gist(text))),
        Some(Segment::Pruned { marks, .. }) => format!("pruned, {} shortened", plural(marks.len(), "block")),
        Some(Segment::Omitted { note, .. }) => format!("left out: {note}"),
        _ => match stretch.kind {
            "verbatim" => "as it was".to_owned(),
            "summary" => format!("{level} to be written, at most"),
            "omitted" => "left out".to_owned(),
            other => other.to_owned(),
        },
    }
}

// The first thing that a message says or does.
fn opening(message: &Message) -> String {
    let texts = message.blocks.iter().map(super::history::block);
    let found = texts.map(|text| start(text.trim())).find(|text| !text.is_empty());
    found.unwrap_or_default()
}

// As much of a text as a column could hold.
fn start(text: &str) -> String {
    text.chars().take(200).collect()
}

// The first line of a summary that is no heading.
fn gist(text: &str) -> &str {
    let plain = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    text.lines().find(plain).unwrap_or(text)
}

fn short(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= most {
        return words;
    }
    let start: String = words.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}
