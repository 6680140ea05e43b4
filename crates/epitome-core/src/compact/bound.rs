//! Bound thinking: where a provider binds thinking to what stands before it, a compaction leaves none of it valid.

use super::backing::current;
use super::plan::{Plan, Planned};
use super::segment::{Compaction, Segment};
use super::strategies::layout::range_of;
use super::thinking::removal;
use crate::outline::Entry;
use crate::prune::{Mark, Marked, is_thinking};
use crate::units::Tokens;

/// Takes every thinking block out of what a plan shows, if one of them stands behind a change.
pub(crate) fn strip(plan: &mut Plan, path: &[Entry]) {
    let Some(change) = plan.parts.iter().find_map(first_change) else { return };
    let shown = plan.parts.iter().filter(|part| is_shown(part));
    let behind = shown.flat_map(|part| range_of(part).clone()).any(|at| at >= change && thinks(path, at));
    if !behind {
        return;
    }
    for part in &mut plan.parts {
        if let Planned::Segment(segment) = part {
            without_thinking(segment, path);
        }
    }
}

impl Compaction {
    /// The same without any thinking, if some of what it shows stands behind where it differs from what was shown until now.
    ///
    /// That holds for what came while it was prepared, and for what an undo shows again.
    #[must_use]
    pub fn unbound(mut self, in_force: Option<&Compaction>, path: &[Entry]) -> Self {
        let until_now = current(in_force, path.len());
        let Some(change) = first_difference(&until_now, &self, path.len()) else { return self };
        let shown = self.segments.iter().filter(|segment| segment.is_shown());
        if shown.flat_map(|segment| segment.range().clone()).any(|at| at >= change && thinks(path, at)) {
            self.segments.iter_mut().for_each(|segment| without_thinking(segment, path));
        }
        self
    }

    /// The tokens of the blocks that it takes out of messages it shows.
    pub fn tokens_removed(&self, path: &[Entry]) -> Tokens {
        let marks = self.segments.iter().flat_map(|segment| match segment {
            Segment::Pruned { marks, .. } => marks.as_slice(),
            _ => &[],
        });
        let blocks = marks.filter(|marked| marked.mark == Mark::Remove).filter_map(|marked| {
            path.get(marked.message).and_then(|entry| entry.outline.blocks.get(marked.block))
        });
        blocks.map(|block| block.tokens).sum()
    }
}

fn without_thinking(segment: &mut Segment, path: &[Entry]) {
    let (range, mut marks) = match segment {
        Segment::Verbatim { range } => (range.clone(), Vec::new()),
        Segment::Pruned { range, marks } => (range.clone(), std::mem::take(marks)),
        Segment::Summary { .. } | Segment::Omitted { .. } => return,
    };
    marks.extend(removal(range.start, path.get(range.clone()).unwrap_or_default()));
    if marks.is_empty() {
        return;
    }
    marks.sort_unstable_by_key(|marked| (marked.message, marked.block));
    marks.dedup_by_key(|marked| (marked.message, marked.block));
    *segment = Segment::Pruned { range, marks };
}

// The first message that one of them shows otherwise than the other.
fn first_difference(left: &Compaction, right: &Compaction, messages: usize) -> Option<usize> {
    (0..messages).find(|at| match (segment_of(left, *at), segment_of(right, *at)) {
        (Some(left), Some(right)) if left.is_shown() && right.is_shown() => {
            !marks_of(left, *at).eq(marks_of(right, *at))
        }
        (left, right) => left != right,
    })
}

fn segment_of(compaction: &Compaction, at: usize) -> Option<&Segment> {
    let number = compaction.segments.partition_point(|segment| segment.range().end <= at);
    compaction.segments.get(number)
}

fn marks_of(segment: &Segment, at: usize) -> impl Iterator<Item = &Marked> {
    let marks = match segment {
        Segment::Pruned { marks, .. } => marks.as_slice(),
        _ => &[],
    };
    marks.iter().filter(move |marked| marked.message == at)
}

fn first_change(part: &Planned) -> Option<usize> {
    match part {
        Planned::Segment(Segment::Verbatim { .. }) => None,
        Planned::Segment(Segment::Pruned { marks, .. }) => marks.first().map(|marked| marked.message),
        other => Some(range_of(other).start),
    }
}

fn is_shown(part: &Planned) -> bool {
    matches!(part, Planned::Segment(segment) if segment.is_shown())
}

fn thinks(path: &[Entry], at: usize) -> bool {
    path.get(at).is_some_and(|entry| entry.outline.blocks.iter().any(|block| is_thinking(block.kind)))
}
