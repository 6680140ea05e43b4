//! What a plan takes over from the compaction in force: summaries that are merged, and those that stay as they are.

use super::plan::{Plan, Planned, SummaryTask};
use super::segment::{Compaction, Segment};
use crate::prune::Count;
use crate::units::Chars;

/// What is shown of a path of this many messages now: the compaction in force and everything after it.
pub(super) fn current(previous: Option<&Compaction>, path: usize) -> Compaction {
    previous.map_or_else(|| Compaction::verbatim(path), |previous| previous.clone().reaching(path))
}

/// Tells every summary of a plan what earlier summaries it replaces. One that would replace itself stays as it is:
/// what is not written again cannot drift, and the provider's cache still knows it.
pub(super) fn informed(plan: &mut Plan, previous: Option<&Compaction>, count: &dyn Count) {
    let Some(previous) = previous else { return };
    for part in &mut plan.parts {
        let Planned::Summary(task) = part else { continue };
        if let Some(settled) = inform(task, previous, count) {
            *part = Planned::Segment(settled);
        }
    }
}

fn inform(task: &mut SummaryTask, previous: &Compaction, count: &dyn Count) -> Option<Segment> {
    let informed = SummaryTask::over(task.range.clone(), task.level, Some(previous), task.max_tokens);
    (task.previous, task.fresh) = (informed.previous, informed.fresh);
    let at = previous.segments.partition_point(|segment| segment.range().start < task.range.start);
    let standing = previous.segments.get(at)?;
    let Segment::Summary { range, text, level } = standing else { return None };
    let fits =
        || count.text(text) <= task.max_tokens && task.max_chars.is_none_or(|most| Chars::of(text) <= most);
    (*range == task.range && *level == task.level && fits()).then(|| standing.clone())
}

/// Whether a plan shows exactly what is shown now.
pub(super) fn unchanged(plan: &Plan, current: &Compaction) -> bool {
    let same = |(part, segment): (&Planned, &Segment)| matches!(part, Planned::Segment(planned) if planned == segment);
    let hides = current.segments.iter().any(|segment| !matches!(segment, Segment::Verbatim { .. }));
    plan.parts.len() == current.segments.len()
        && plan.parts.iter().zip(&current.segments).all(same)
        // Where everything is shown as it was, the words around summaries do not matter.
        && (!hides || (plan.placement == current.placement && plan.wording == current.wording))
}
