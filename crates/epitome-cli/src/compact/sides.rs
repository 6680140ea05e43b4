//! Before and after, side by side: what each stretch of a conversation opens with, and what stands in its place.

use epitome_core::Message;
use epitome_core::compact::{Segment, Stretch};

use crate::print::{Align, Table, grouped, is_terminal, plural, width};

/// A stretch of messages before and after.
pub(super) struct Side {
    /// The messages: `0–34`.
    messages: String,
    before: String,
    tokens_before: u64,
    after: After,
    tokens_after: u64,
}

impl Side {
    /// Every stretch of a report; of summaries that are not written yet there is only what they may become.
    pub(super) fn all<'s>(
        stretches: &[Stretch],
        messages: &[Message],
        segments: impl Iterator<Item = Option<&'s Segment>>,
    ) -> Vec<Self> {
        let segments = segments.chain(std::iter::repeat(None));
        stretches
            .iter()
            .zip(segments)
            .map(|(stretch, segment)| Self::of(stretch, messages, segment))
            .collect()
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
        let mut after = side.after.lines(room).into_iter();
        table.row([
            side.messages.clone(),
            short(&side.before, room),
            grouped(side.tokens_before),
            after.next().unwrap_or_default(),
            grouped(side.tokens_after),
        ]);
        for more in after {
            table.row([String::new(), String::new(), String::new(), more, String::new()]);
        }
    }
    table.render()
}

/// What stands in the place of a stretch.
enum After {
    /// The start of what it says, of which a column shows as much as it holds.
    Excerpt(String),
    /// A reason, which is told to its end.
    Reason(String),
}

impl After {
    // A reason goes over several lines of a terminal; a file or a pipe is as wide as need be.
    fn lines(&self, room: usize) -> Vec<String> {
        match self {
            After::Excerpt(text) => vec![short(text, room)],
            After::Reason(text) if is_terminal() => wrapped(text, room),
            After::Reason(text) => vec![text.clone()],
        }
    }
}

fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn numbers(start: usize, end: usize) -> String {
    if end == start + 1 { start.to_string() } else { format!("{start}–{}", end.saturating_sub(1)) }
}

fn after(stretch: &Stretch, segment: Option<&Segment>) -> After {
    let level = stretch.level.map_or("summary".to_owned(), |level| format!("{level:?}").to_lowercase());
    After::Reason(match segment {
        Some(Segment::Summary { text, .. }) => {
            return After::Excerpt(format!("{level}: {}", start(gist(text))));
        }
        Some(Segment::Pruned { marks, .. }) => format!("pruned, {} shortened", plural(marks.len(), "block")),
        Some(Segment::Omitted { note, .. }) => format!("left out: {note}"),
        _ => match stretch.kind {
            "verbatim" => "as it was".to_owned(),
            "summary" => format!("{level} to be written, at most"),
            "omitted" => "left out".to_owned(),
            other => other.to_owned(),
        },
    })
}

// The first thing that a message says or does.
fn opening(message: &Message) -> String {
    let texts = message.blocks.iter().map(super::show::block);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_to_their_end() {
        let reason = "left out: no room for a summary beside what must stay";
        assert_eq!(wrapped(reason, 24), ["left out: no room for a", "summary beside what must", "stay"]);
        assert_eq!(wrapped(reason, 100), [reason]);
        assert_eq!(wrapped("unbreakable", 3), ["unbreakable"]);
    }
}
