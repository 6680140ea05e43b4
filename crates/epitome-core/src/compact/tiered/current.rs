//! The current topic: step 1 of ADR 033's escalation, and what to do where an exchange is too large by itself.

use std::collections::HashMap;
use std::ops::Range;

use crate::compact::cuts::Cuts;
use crate::compact::{Planned, Segment};
use crate::message::{BlockKind, Message};
use crate::outline::{BlockOutline, Entry};
use crate::prune::{Count, Mark, Marked, PathSizes, PrunedForm, Rule};
use crate::turn::ToolNames;
use crate::units::{Chars, Tokens};

/// Marks on messages that are shown, with what each message costs under them.
pub(super) struct Shown<'a> {
    path: &'a [Entry],
    messages: &'a [Message],
    count: &'a dyn Count,
    names: ToolNames<'a>,
    range: Range<usize>,
    /// What each message of `range` costs.
    costs: Vec<Tokens>,
    marks: HashMap<(usize, usize), Marked>,
    /// Whether a mark was added that an earlier compaction had not made.
    pub(super) changed: bool,
}

impl<'a> Shown<'a> {
    /// These messages, with the marks that an earlier compaction made.
    pub(super) fn new(
        path: &'a [Entry],
        messages: &'a [Message],
        count: &'a dyn Count,
        range: Range<usize>,
        earlier: impl Iterator<Item = &'a Marked>,
    ) -> Self {
        let entries = path.get(range.clone()).unwrap_or_default();
        let mut names = ToolNames::default();
        entries.iter().for_each(|entry| names.learn(&entry.outline));
        let costs = entries.iter().map(|entry| entry.outline.tokens).collect();
        let marks = HashMap::new();
        let mut shown = Self { path, messages, count, names, range, costs, marks, changed: false };
        for marked in earlier {
            if shown.range.contains(&marked.message) {
                shown.put(marked.clone());
            }
        }
        shown.changed = false;
        shown
    }

    /// What the messages of a stretch cost under the marks.
    pub(super) fn tokens(&self, stretch: Range<usize>) -> Tokens {
        let offset = self.range.start;
        let (start, end) = (stretch.start.saturating_sub(offset), stretch.end.saturating_sub(offset));
        self.costs.get(start..end).unwrap_or_default().iter().copied().sum()
    }

    /// Cuts the long texts and results of a stretch short, but for those of messages that must stay as they are.
    pub(super) fn truncate(&mut self, stretch: Range<usize>, most: Chars, kept: &[Range<usize>]) {
        let stretch = stretch.start.max(self.range.start)..stretch.end.min(self.range.end);
        for message in stretch {
            let after = kept.partition_point(|range| range.end <= message);
            if kept.get(after).is_some_and(|range| range.contains(&message)) {
                continue;
            }
            let Some(entry) = self.path.get(message) else { continue };
            for (block, content) in entry.outline.blocks.iter().enumerate() {
                let known = self.marks.contains_key(&(message, block));
                let Some((mark, rule)) = shortening(content, most).filter(|_| !known) else { continue };
                let speaker = match rule {
                    Rule::LongText => entry.outline.role.to_string(),
                    _ => self.names.of(content).unwrap_or("tool").to_owned(),
                };
                self.put(Marked { message, block, mark, rule, speaker });
            }
        }
    }

    // Takes a mark if it makes its block smaller.
    fn put(&mut self, marked: Marked) {
        let Some(subject) = marked.subject(self.path) else { return };
        let (before, after) =
            (subject.outline.tokens, PathSizes::new(self.messages, self.count).tokens(&subject, marked.mark));
        let Some(cost) = self.costs.get_mut(marked.message - self.range.start) else { return };
        if after >= before {
            return;
        }
        *cost = *cost - (before - after);
        self.marks.insert((marked.message, marked.block), marked);
        self.changed = true;
    }

    /// The segment that shows a stretch.
    pub(super) fn planned(&self, range: Range<usize>) -> Planned {
        let mut marks: Vec<Marked> =
            self.marks.values().filter(|marked| range.contains(&marked.message)).cloned().collect();
        marks.sort_unstable_by_key(|marked| (marked.message, marked.block));
        Planned::Segment(match marks.is_empty() {
            true => Segment::Verbatim { range },
            false => Segment::Pruned { range, marks },
        })
    }

    /// The first legal cut inside the stretch, inside an exchange if need be, behind which at most `most` is left;
    /// or else the last legal cut.
    pub(super) fn cut(&self, cuts: &Cuts, stretch: &Range<usize>, most: Tokens) -> Option<usize> {
        let mut left = Tokens::ZERO;
        let mut found = None;
        for at in stretch.clone().rev() {
            left += self.tokens(at..at + 1);
            if at == stretch.start || cuts.check_turn(at).is_err() {
                continue;
            }
            if left > most {
                return found.or(Some(at));
            }
            found = Some(at);
        }
        found
    }

    /// Parts a stretch into topics of about `most` tokens, at legal cuts.
    pub(super) fn parts(&self, cuts: &Cuts, stretch: Range<usize>, most: Tokens) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut tokens) = (stretch.start, Tokens::ZERO);
        for at in stretch.clone() {
            if tokens > most && cuts.check_turn(at).is_ok() {
                parts.push(start..at);
                (start, tokens) = (at, Tokens::ZERO);
            }
            tokens += self.tokens(at..at + 1);
        }
        parts.push(start..stretch.end);
        parts
    }
}

// ADR 033 cuts a long message off. Of a tool result the end matters as much, so it keeps both.
fn shortening(block: &BlockOutline, most: Chars) -> Option<(Mark, Rule)> {
    let form = block.pruned.as_ref().map(|pruned| pruned.form);
    let (head, tail) = (Chars(most.0.div_ceil(2)), Chars(most.0 / 2));
    match (block.kind, form) {
        _ if block.chars <= most || block.recall.is_none() => None,
        (BlockKind::Text, Some(PrunedForm::Truncated { keep })) if keep <= most => None,
        (BlockKind::Text, _) => Some((Mark::Truncate { keep: most }, Rule::LongText)),
        (BlockKind::ToolResult, Some(PrunedForm::Cleared)) => None,
        (BlockKind::ToolResult, Some(PrunedForm::Trimmed { head: kept, tail: end })) => {
            let shorter = head < kept || tail < end;
            shorter.then_some((Mark::Trim { head: head.min(kept), tail: tail.min(end) }, Rule::SoftTrim))
        }
        (BlockKind::ToolResult, _) if !block.has_media => Some((Mark::Trim { head, tail }, Rule::SoftTrim)),
        _ => None,
    }
}
