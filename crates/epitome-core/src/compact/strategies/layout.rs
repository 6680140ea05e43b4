//! Lays out the parts of a plan, one after another: what every strategy has in common.
//!
//! It minds leading system messages, pins and the summaries that are there already. Where the cut is and what
//! stands for the old part is up to the strategies.

use std::ops::Range;

use crate::compact::cuts::{Cuts, leading};
use crate::compact::plan::{Favours, Limits, Plan, Planned, SummaryTask};
use crate::compact::segment::{Compaction, Level, Segment};
use crate::compact::settings::Settings;
use crate::outline::Entry;
use crate::prune::Marked;
use crate::units::{Chars, Tokens};

/// A plan in the making. It starts with the operator's messages; every call adds what follows, up to `to`.
pub(crate) struct Layout<'a> {
    path: &'a [Entry],
    previous: Option<&'a Compaction>,
    pins: Vec<usize>,
    parts: Vec<Planned>,
}

/// How large a summary may be.
#[derive(Clone, Copy)]
pub(crate) struct Cap {
    pub(crate) tokens: Tokens,
    pub(crate) chars: Option<Chars>,
}

impl<'a> Layout<'a> {
    pub(crate) fn new(path: &'a [Entry], limits: &Limits<'a>, cuts: &Cuts) -> Self {
        let pins = cuts.pinned(limits.pins).into_iter().flatten().collect();
        let mut layout = Self { path, previous: limits.previous, pins, parts: Vec::new() };
        layout.verbatim(leading(path));
        layout
    }

    /// These messages are to be shown like pins, if what makes plans fit does not need their room.
    pub(crate) fn retain(&mut self, messages: Vec<usize>) {
        self.pins.extend(messages);
        self.pins.sort_unstable();
        self.pins.dedup();
    }

    pub(crate) fn verbatim(&mut self, to: usize) {
        let range = self.at()..to;
        if range.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Planned::Segment(Segment::Verbatim { range: before })) => before.end = to,
            _ => self.push(Segment::Verbatim { range }),
        }
    }

    /// Pins are shown as they were, whatever the marks say.
    pub(crate) fn pruned(&mut self, to: usize, mut marks: Vec<Marked>) {
        let range = self.at()..to;
        marks.retain(|marked| range.contains(&marked.message) && !self.is_pinned(marked.message));
        match marks.is_empty() || range.is_empty() {
            true => self.verbatim(to),
            false => self.push(Segment::Pruned { range, marks }),
        }
    }

    pub(crate) fn omitted(&mut self, to: usize, note: &str) {
        for run in self.runs(to) {
            match self.is_pinned(run.start) {
                true => self.verbatim(run.end),
                false => self.push(Segment::Omitted { range: run, note: note.to_owned() }),
            }
        }
    }

    /// Pins split the stretch; its parts share the cap by their size.
    pub(crate) fn summary(&mut self, to: usize, level: Level, cap: Cap) {
        self.summaries(to, level, cap, |stretch, most| vec![(stretch, most)]);
    }

    /// The same with each part told in as many summaries as `split` makes of it.
    pub(crate) fn summaries(
        &mut self,
        to: usize,
        level: Level,
        cap: Cap,
        split: impl Fn(Range<usize>, Tokens) -> Vec<(Range<usize>, Tokens)>,
    ) {
        let runs = self.runs(to);
        let path = self.path;
        let size = |run: &Range<usize>| tokens(path.get(run.clone()).unwrap_or_default());
        let sizes: Vec<Tokens> =
            runs.iter().map(|run| if self.is_pinned(run.start) { Tokens::ZERO } else { size(run) }).collect();
        let all: Tokens = sizes.iter().copied().sum();
        for (run, tokens) in runs.into_iter().zip(sizes) {
            if self.is_pinned(run.start) {
                self.verbatim(run.end);
                continue;
            }
            let share = u128::from(cap.tokens.0) * u128::from(tokens.0) / u128::from(all.0.max(1));
            let share = Tokens(u64::try_from(share).unwrap_or(u64::MAX));
            let tasks = split(run, share).into_iter().map(|(range, most)| SummaryTask {
                fresh: range.clone(),
                previous: Vec::new(),
                level,
                // A summary longer than what it stands for would be of no use.
                max_tokens: most.min(size(&range)).max(Tokens(1)),
                max_chars: cap.chars,
                range,
            });
            self.parts.extend(tasks.map(Planned::Summary));
        }
    }

    /// What the compaction in force has up to the last message that it hides. A pin among what it hides is shown again.
    pub(crate) fn as_before(&mut self) {
        let Some(previous) = self.previous else { return };
        let standing = previous.standing();
        for segment in &previous.segments {
            let Range { start, end } = *segment.range();
            if start >= standing {
                break;
            }
            let next_pin = self.pins.partition_point(|pin| *pin < start);
            let pinned = self.pins.get(next_pin).is_some_and(|pin| *pin < end);
            match segment {
                _ if end <= self.at() => {}
                Segment::Verbatim { .. } => self.verbatim(end),
                Segment::Pruned { marks, .. } => self.pruned(end, marks.clone()),
                _ if pinned || start != self.at() => self.verbatim(end),
                hidden => self.push(hidden.clone()),
            }
        }
    }

    pub(crate) fn finish(mut self, settings: &Settings) -> Plan {
        self.verbatim(self.path.len());
        Plan {
            parts: self.parts,
            placement: settings.placement,
            wording: settings.wording(),
            favours: Favours::Recent,
        }
    }

    /// Where the next part starts.
    pub(crate) fn at(&self) -> usize {
        self.parts.last().map_or(0, |part| range_of(part).end)
    }

    fn push(&mut self, segment: Segment) {
        self.parts.push(Planned::Segment(segment));
    }

    fn is_pinned(&self, message: usize) -> bool {
        self.pins.binary_search(&message).is_ok()
    }

    // Stretches of messages that are all pinned, or none of them.
    fn runs(&self, to: usize) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut at = self.at();
        let first = self.pins.partition_point(|pin| *pin < at);
        for pin in self.pins.iter().skip(first).copied().take_while(|pin| *pin < to) {
            runs.push(at..pin);
            runs.push(pin..pin + 1);
            at = pin + 1;
        }
        runs.push(at..to);
        runs.retain(|run| !run.is_empty());
        runs
    }
}

/// The messages that a part is about.
pub(crate) fn range_of(part: &Planned) -> &Range<usize> {
    match part {
        Planned::Segment(segment) => segment.range(),
        Planned::Summary(task) => &task.range,
    }
}

/// The tokens of messages.
pub(crate) fn tokens(path: &[Entry]) -> Tokens {
    path.iter().map(|entry| entry.outline.tokens).sum()
}
