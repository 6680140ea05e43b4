//! The room that a summary leaves over.
//!
//! A plan is fitted by a bound: what may have to stand around summaries is counted in, whether it will stand there or
//! not. Where budgets are small that is much, and code that writes a summary can as well write it again.

use super::budget::Measured;
use super::case::Case;
use super::plan::{Plan, Planned};
use super::segment::{Compaction, Segment};
use super::settings::StrategyName;
use crate::units::Tokens;

/// Less than this part of a budget is not worth writing a summary again.
const WORTH_IT: u64 = 50;

/// The plan with as much room for its summary as its first result has left of the budget.
pub(super) fn roomier(case: &Case<'_>, plan: &Plan, first: &Compaction) -> Option<Plan> {
    // Other strategies give summaries a fixed room.
    if case.request.named() != Some(StrategyName::Auto) {
        return None;
    }
    let spare = case.room.budget - Measured::of(&case.counted(first), case.path).total();
    if spare < Tokens(case.room.budget.0.div_ceil(WORTH_IT)) {
        return None;
    }
    let mut roomier = plan.clone();
    let mut tasks = roomier.parts.iter_mut().zip(&first.segments).filter_map(|parts| match parts {
        (Planned::Summary(task), Segment::Summary { text, .. }) => Some((task, text)),
        _ => None,
    });
    let (task, text) = tasks.next().filter(|_| tasks.next().is_none())?;
    let most = case.request.settings.compact.summary_token_budget;
    let room = (case.count.text(text) + spare).min(most);
    let grows = room > task.max_tokens;
    task.max_tokens = room;
    grows.then_some(roomier)
}

/// Whether a compaction is within the budget.
pub(super) fn fits(case: &Case<'_>, compaction: &Compaction) -> bool {
    Measured::of(&case.counted(compaction), case.path).total() <= case.room.budget
}
