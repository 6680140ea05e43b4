//! Plans: what a strategy wants, before any summary is written.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

use super::cuts::unseen;
use super::resume;
use super::segment::{Compaction, Level, Segment};
use super::summarizer::{Summarizer, SummaryRequest};
use super::view::{Placement, Wording};
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Marked;
use crate::units::{Chars, Tokens};

/// What a compaction must fit in, and what it must not touch.
#[derive(Clone, Debug, Default)]
pub struct Limits<'a> {
    /// Tokens of the conversation after compaction, without leading system messages and tools.
    pub budget: Tokens,
    /// Messages to be kept as they are, whatever happens; ascending.
    pub pins: &'a [usize],
    /// The compaction in force, whose summaries are merged rather than written anew.
    pub previous: Option<&'a Compaction>,
    /// How many of the last tokens are worth keeping as they are, where somebody has weighed them.
    pub recent: Option<Tokens>,
}

/// A summary that a plan asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryTask {
    /// The messages it stands for.
    pub range: Range<usize>,
    /// Those of them that no earlier summary stands for.
    pub fresh: Range<usize>,
    /// Earlier summaries that it replaces, oldest first.
    pub previous: Vec<String>,
    /// What kind of summary.
    pub level: Level,
    /// How many tokens it may have, the words around it not counted.
    pub max_tokens: Tokens,
    /// How many characters it may have.
    pub max_chars: Option<Chars>,
}

/// A segment, or a summary that is yet to become one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Planned {
    /// Decided.
    Segment(Segment),
    /// To be written.
    Summary(SummaryTask),
}

/// What a strategy wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What becomes of each stretch of the path; they tile it.
    pub parts: Vec<Planned>,
    /// Where summaries stand.
    pub placement: Placement,
    /// The words around summaries.
    pub wording: Wording,
    /// What gives way last where the budget is short.
    pub favours: Favours,
}

/// What a plan would rather keep whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Favours {
    /// Recent messages: summaries are shortened first.
    #[default]
    Recent,
    /// Summaries, which pick what is worth most: large items among recent messages are cut short first.
    Summaries,
}

/// What a strategy says of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing needs to be done, or nothing can be; the reason, for the report.
    Nothing(String),
    /// This is to be done.
    Compact(Plan),
}

/// Decides what to compact: a pure function of the path and the limits.
pub trait Strategy {
    /// The name under which settings and reports know it.
    fn name(&self) -> &'static str;

    /// The plan for a path.
    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome;
}

impl Plan {
    /// Has its summaries written and yields the record.
    ///
    /// A summary that is too long is cut to its cap, one that fails leaves an annotation: a plan always runs to its end.
    pub fn run(
        self,
        messages: &[Message],
        summarizer: &mut dyn Summarizer,
        count: &dyn Fn(&str) -> Tokens,
    ) -> Compaction {
        let marks = self.marks();
        let segments = self.parts.into_iter().map(|part| match part {
            Planned::Segment(segment) => segment,
            Planned::Summary(task) => task.write(messages, &marks, &self.wording, summarizer, count),
        });
        Compaction { segments: segments.collect(), placement: self.placement, wording: self.wording }
    }
}

impl Plan {
    /// The first message that a summary is to stand for.
    pub(super) fn first_summarized(&self) -> Option<usize> {
        self.parts.iter().find_map(|part| match part {
            Planned::Summary(task) => Some(task.range.start),
            Planned::Segment(_) => None,
        })
    }

    /// Whether it leaves out or changes anything of what the model has not seen at the end of this path.
    pub(super) fn touches_unseen(&self, path: &[Entry]) -> bool {
        let unseen = unseen(path);
        self.parts.iter().any(|part| match part {
            Planned::Segment(segment) => segment.touches(unseen),
            Planned::Summary(task) => task.range.end > unseen,
        })
    }

    /// How many messages summaries are to be written of.
    pub fn messages_summarized(&self) -> usize {
        let fresh = |part: &Planned| match part {
            Planned::Summary(task) => task.fresh.len(),
            Planned::Segment(_) => 0,
        };
        self.parts.iter().map(fresh).sum()
    }

    /// Whether anything is to be summarised or left out that is not already.
    pub fn hides_more(&self, previous: Option<&Compaction>) -> bool {
        self.parts.iter().any(|part| match part {
            Planned::Summary(_) => true,
            Planned::Segment(segment) => segment.hides_more(previous),
        })
    }

    // The marks on the messages that are shown, in their order.
    fn marks(&self) -> Vec<Marked> {
        let marks = self.parts.iter().filter_map(|part| match part {
            Planned::Segment(Segment::Pruned { marks, .. }) => Some(marks),
            _ => None,
        });
        marks.flatten().cloned().collect()
    }
}

impl SummaryTask {
    /// The summary of `range`, which takes over what a compaction in force has summarised at its start.
    ///
    /// Summaries are taken over as long as nothing between them is shown: from the first message on that no earlier
    /// summary stands for, everything is read again.
    pub fn over(
        range: Range<usize>,
        level: Level,
        previous: Option<&Compaction>,
        max_tokens: Tokens,
    ) -> Self {
        let mut texts = Vec::new();
        let mut covered = range.start;
        let segments = previous.map_or(&[][..], |previous| &previous.segments);
        let from = segments.partition_point(|segment| segment.range().start < range.start);
        for segment in segments.get(from..).unwrap_or_default() {
            let Range { start, end } = *segment.range();
            match segment {
                _ if start != covered || end > range.end => break,
                Segment::Summary { text, .. } => texts.push(text.clone()),
                Segment::Omitted { .. } => {}
                Segment::Verbatim { .. } | Segment::Pruned { .. } => break,
            }
            covered = end;
        }
        if texts.is_empty() {
            covered = range.start;
        }
        let fresh = covered..range.end;
        Self { range, fresh, previous: texts, level, max_tokens, max_chars: None }
    }

    fn write(
        mut self,
        messages: &[Message],
        marks: &[Marked],
        wording: &Wording,
        summarizer: &mut dyn Summarizer,
        count: &dyn Fn(&str) -> Tokens,
    ) -> Segment {
        let mut messages = Cow::Borrowed(messages.get(self.fresh.clone()).unwrap_or_default());
        if let Some((texts, rest)) = resume::taken_out(&messages, wording) {
            self.previous.extend(texts);
            messages = Cow::Owned(rest);
        }
        let request = SummaryRequest {
            level: self.level,
            range: self.range.clone(),
            messages: &messages,
            first: self.fresh.start,
            previous: &self.previous,
            marks,
            max_tokens: self.max_tokens,
            max_chars: self.max_chars,
            instructions: None,
        };
        let written = summarizer.summarize(&request).ok().filter(|text| !text.trim().is_empty());
        let text = written.unwrap_or_else(|| annotation(self.range.len()));
        Segment::Summary {
            range: self.range,
            text: fitting(text, self.max_tokens, self.max_chars, count),
            level: self.level,
        }
    }
}

/// What stands for messages that nobody could summarise.
fn annotation(messages: usize) -> String {
    format!("Context contained {messages} messages. Summary unavailable.")
}

/// Whether a summary is only such a note, or what a cap left of it.
pub(crate) fn is_annotation(summary: &str) -> bool {
    let number = summary.split(|letter: char| !letter.is_ascii_digit()).find(|digits| !digits.is_empty());
    let messages = number.and_then(|digits| digits.parse().ok());
    messages.is_some_and(|messages| annotation(messages).starts_with(summary))
}

// The longest start of the text, in whole lines where possible, that fits both caps.
fn fitting(
    text: String,
    max_tokens: Tokens,
    max_chars: Option<Chars>,
    count: &dyn Fn(&str) -> Tokens,
) -> String {
    let fits = |text: &str| count(text) <= max_tokens && max_chars.is_none_or(|most| Chars::of(text) <= most);
    if fits(&text) {
        return text;
    }
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let start = |chars: usize| text.get(..ends.get(chars).copied().unwrap_or(text.len())).unwrap_or_default();
    let (mut low, mut high) = (0, max_chars.map_or(ends.len(), |most| most.0.min(ends.len())));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(start(middle)) { low = middle } else { high = middle - 1 }
    }
    let cut = start(low);
    // A shorter start can have more tokens, where its end no longer merges with what followed it.
    let whole_lines = cut.rfind('\n').filter(|at| *at * 2 > cut.len()).and_then(|at| cut.get(..at));
    whole_lines.filter(|lines| fits(lines)).unwrap_or(cut).to_owned()
}
