//! Bound thinking: where a provider binds thinking to what stands before it, a compaction leaves none of it valid.

use super::plan::{Plan, Planned};
use super::segment::Segment;
use super::strategies::layout::range_of;
use super::thinking::removal;
use crate::outline::Entry;
use crate::prune::is_thinking;

/// Takes every thinking block out of what a plan shows, if one of them stands behind a change.
pub(crate) fn strip(plan: &mut Plan, path: &[Entry]) {
    let Some(change) = plan.parts.iter().find_map(first_change) else { return };
    let shown = plan.parts.iter().filter(|part| is_shown(part));
    let behind = shown.flat_map(|part| range_of(part).clone()).any(|at| at >= change && thinks(path, at));
    if !behind {
        return;
    }
    for part in &mut plan.parts {
        let Planned::Segment(segment) = part else { continue };
        let (range, mut marks) = match segment {
            Segment::Verbatim { range } => (range.clone(), Vec::new()),
            Segment::Pruned { range, marks } => (range.clone(), std::mem::take(marks)),
            Segment::Summary { .. } | Segment::Omitted { .. } => continue,
        };
        marks.extend(removal(range.start, path.get(range.clone()).unwrap_or_default()));
        if marks.is_empty() {
            continue;
        }
        marks.sort_unstable_by_key(|marked| (marked.message, marked.block));
        marks.dedup_by_key(|marked| (marked.message, marked.block));
        *segment = Segment::Pruned { range, marks };
    }
}

fn first_change(part: &Planned) -> Option<usize> {
    match part {
        Planned::Segment(Segment::Verbatim { .. }) => None,
        Planned::Segment(Segment::Pruned { marks, .. }) => marks.first().map(|marked| marked.message),
        other => Some(range_of(other).start),
    }
}

fn is_shown(part: &Planned) -> bool {
    matches!(part, Planned::Segment(Segment::Verbatim { .. } | Segment::Pruned { .. }))
}

fn thinks(path: &[Entry], at: usize) -> bool {
    path.get(at).is_some_and(|entry| entry.outline.blocks.iter().any(|block| is_thinking(block.kind)))
}
