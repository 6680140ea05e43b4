//! Segments: what became of each stretch of a path. They tile it, so what was dropped is always known.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::cuts::{Cuts, unseen};
use super::view::{Placement, Wording};
use crate::outline::Entry;
use crate::prune::Marked;

/// What a summary is of, and so how it is written and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The structured checkpoint of spec 008.1 v4.
    Checkpoint,
    /// Prose, as the micro agent writes it.
    Narrative,
    /// The rolling summary of spec 008.1's draft.
    Rolling,
    /// A sealed topic of ADR 033.
    Topic,
    /// Several topics of ADR 033, merged.
    Bulk,
}

/// A stretch of a path and what became of it. Ranges address messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Segment {
    /// Messages as they were.
    Verbatim {
        /// The messages.
        range: Range<usize>,
    },
    /// The same messages, some blocks of them trimmed, cleared or cut short.
    Pruned {
        /// The messages.
        range: Range<usize>,
        /// What was done to which block.
        marks: Vec<Marked>,
    },
    /// A summary stands for them.
    Summary {
        /// The messages.
        range: Range<usize>,
        /// The summary.
        text: String,
        /// What kind of summary.
        level: Level,
    },
    /// Nothing stands for them.
    Omitted {
        /// The messages.
        range: Range<usize>,
        /// Why, for those who look at the record; the model does not see it.
        note: String,
    },
}

impl Segment {
    /// The messages it is about.
    pub fn range(&self) -> &Range<usize> {
        match self {
            Segment::Verbatim { range }
            | Segment::Pruned { range, .. }
            | Segment::Summary { range, .. }
            | Segment::Omitted { range, .. } => range,
        }
    }

    // Whether its messages are not shown.
    fn hides(&self) -> bool {
        matches!(self, Segment::Summary { .. } | Segment::Omitted { .. })
    }

    /// Whether its messages are shown, if not as they were.
    pub fn is_shown(&self) -> bool {
        !self.hides()
    }

    /// Whether it leaves out or changes anything from this message on.
    pub(super) fn touches(&self, from: usize) -> bool {
        match self {
            Segment::Verbatim { .. } => false,
            Segment::Pruned { marks, .. } => marks.iter().any(|marked| marked.message >= from),
            Segment::Summary { range, .. } | Segment::Omitted { range, .. } => range.end > from,
        }
    }

    /// Whether it summarises or leaves out what a compaction does not in the same way.
    pub(super) fn hides_more(&self, previous: Option<&Compaction>) -> bool {
        self.hides() && !previous.is_some_and(|previous| previous.segments.contains(self))
    }
}

/// The record of one compaction: all that is needed to build its view again, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// What became of each stretch of the path, from its first message to its last.
    pub segments: Vec<Segment>,
    /// Where summaries stand.
    pub placement: Placement,
    /// The words around summaries.
    pub wording: Wording,
}

impl Compaction {
    /// How many messages it covers.
    pub fn covered(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.range().end)
    }

    /// Whether it leaves out or changes anything of what the model had not seen at the end of this path.
    pub fn touches_unseen(&self, path: &[Entry]) -> bool {
        let unseen = unseen(path);
        self.segments.iter().any(|segment| segment.touches(unseen))
    }

    /// The compaction that shows everything as it was: what undoing all compaction appends.
    pub fn verbatim(messages: usize) -> Self {
        let segments = (messages > 0).then_some(Segment::Verbatim { range: 0..messages });
        Self {
            segments: segments.into_iter().collect(),
            placement: Placement::default(),
            wording: Wording::default(),
        }
    }

    /// The same for a path that has grown to so many messages: those behind it are shown as they are.
    #[must_use]
    pub fn reaching(mut self, messages: usize) -> Self {
        let covered = self.covered();
        match self.segments.last_mut() {
            _ if covered >= messages => {}
            Some(Segment::Verbatim { range }) => range.end = messages,
            _ => self.segments.push(Segment::Verbatim { range: covered..messages }),
        }
        self
    }

    /// Whether it summarises or leaves out anything that another one does not.
    pub fn hides_more(&self, previous: Option<&Compaction>) -> bool {
        self.segments.iter().any(|segment| segment.hides_more(previous))
    }

    /// How many messages are summarised or left out.
    pub fn messages_hidden(&self) -> usize {
        self.segments.iter().filter(|segment| segment.hides()).map(|segment| segment.range().len()).sum()
    }

    /// The compaction that shows `range` as it was again and everything else as this one does.
    ///
    /// A summary that reaches beyond `range` is of no use for a part of its messages, so all its messages are shown;
    /// and so are all that were omitted together, as a part of them could be a tool result without its call.
    pub fn expanded(&self, range: Range<usize>) -> Self {
        let mut segments: Vec<Segment> = Vec::with_capacity(self.segments.len() + 2);
        let mut push = |segment: Segment| match (segments.last_mut(), &segment) {
            (Some(Segment::Verbatim { range: before }), Segment::Verbatim { range }) => {
                before.end = range.end
            }
            _ => segments.push(segment),
        };
        for segment in &self.segments {
            let Range { start, end } = *segment.range();
            let shown = start.max(range.start)..end.min(range.end);
            match segment {
                _ if shown.is_empty() => push(segment.clone()),
                Segment::Pruned { marks, .. } => {
                    pruned(start..shown.start, marks).map(&mut push);
                    push(Segment::Verbatim { range: shown.clone() });
                    pruned(shown.end..end, marks).map(&mut push);
                }
                _ => push(Segment::Verbatim { range: start..end }),
            }
        }
        Self { segments, placement: self.placement, wording: self.wording.clone() }
    }
}

impl Compaction {
    /// The compaction that shows the messages of `range` as they were again, and nothing else that this one hides.
    ///
    /// Unlike [`Compaction::expanded`] it leaves the summary that they were part of in place: its text says more than its
    /// range then, and nothing is lost. A call is shown with its result, so that a little more than `range` may be.
    pub fn revealed(&self, path: &[Entry], range: Range<usize>) -> Self {
        let range = range.start..range.end.min(self.covered());
        let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) else {
            return self.clone();
        };
        let cuts = Cuts::of(path);
        let start = if range.start < cuts.leading() { range.start } else { cuts.atom(range.start).start };
        let end = if last < cuts.leading() { last + 1 } else { cuts.atom(last).end };
        let mut segments: Vec<Segment> = Vec::with_capacity(self.segments.len() + 2);
        for segment in &self.segments {
            for part in parted(segment, &(start..end)) {
                match (segments.last_mut(), &part) {
                    (Some(Segment::Verbatim { range: before }), Segment::Verbatim { range }) => {
                        before.end = range.end;
                    }
                    _ => segments.push(part),
                }
            }
        }
        Self { segments, placement: self.placement, wording: self.wording.clone() }
    }
}

// A segment with the messages that it shares with `range` shown.
fn parted(segment: &Segment, range: &Range<usize>) -> Vec<Segment> {
    let Range { start, end } = *segment.range();
    let shown = start.max(range.start)..end.min(range.end);
    if shown.is_empty() {
        return vec![segment.clone()];
    }
    let (before, after) = (start..shown.start, shown.end..end);
    let omitted = |range: Range<usize>, note: &str| {
        (!range.is_empty()).then(|| Segment::Omitted { range, note: note.to_owned() })
    };
    let (left, right) = match segment {
        Segment::Verbatim { .. } => return vec![segment.clone()],
        Segment::Pruned { marks, .. } => (pruned(before, marks), pruned(after, marks)),
        Segment::Omitted { note, .. } => (omitted(before, note), omitted(after, note)),
        Segment::Summary { text, level, .. } => {
            let summary = |range| Segment::Summary { range, text: text.clone(), level: *level };
            // The text stands once, where it stood, or else behind what is shown of its start.
            match (before.is_empty(), after.is_empty()) {
                (false, _) => (Some(summary(before)), omitted(after, TOLD_BEFORE)),
                (true, false) => (None, Some(summary(after))),
                (true, true) => (None, None),
            }
        }
    };
    left.into_iter().chain([Segment::Verbatim { range: shown }]).chain(right).collect()
}

/// Why nothing stands for the rest of what a summary is of, where a part of it is shown.
const TOLD_BEFORE: &str = "the summary before the messages shown stands for these, too";

// What is left of a pruned segment in a part of its range.
fn pruned(range: Range<usize>, marks: &[Marked]) -> Option<Segment> {
    let marks: Vec<Marked> = marks.iter().filter(|mark| range.contains(&mark.message)).cloned().collect();
    let segment = if marks.is_empty() {
        Segment::Verbatim { range: range.clone() }
    } else {
        Segment::Pruned { range: range.clone(), marks }
    };
    (!range.is_empty()).then_some(segment)
}

/// Segments that leave a gap, overlap, or do not end where the path ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "segment {segment} covers messages {start}..{end}, expected it to start at {expected} in a path of {path}"
)]
pub struct TilingError {
    /// The segment's number; one past the last where the end of the path is missing.
    pub segment: usize,
    /// Its first message.
    pub start: usize,
    /// One past its last.
    pub end: usize,
    /// Where it should start.
    pub expected: usize,
    /// How long the path is.
    pub path: usize,
}

/// Checks that the segments tile a path of this many messages: no gap, no overlap, nothing empty.
pub fn check_tiling(segments: &[Segment], path: usize) -> Result<(), TilingError> {
    let mut expected = 0;
    for (number, segment) in segments.iter().enumerate() {
        let Range { start, end } = *segment.range();
        if start != expected || end <= start || end > path {
            return Err(TilingError { segment: number, start, end, expected, path });
        }
        expected = end;
    }
    if expected != path {
        return Err(TilingError {
            segment: segments.len(),
            start: expected,
            end: expected,
            expected: path,
            path,
        });
    }
    Ok(())
}
