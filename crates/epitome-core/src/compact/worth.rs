//! Whether a plan pays for itself, where prices are known.

use super::budget::Measured;
use super::case::Case;
use super::plan::{Plan, Planned};
use super::strategies::layout::tokens;
use super::view::CountedView;
use crate::cost::{
    Change, Situation, SummaryCall, Tariff, Verdict, growth, remaining_turns, worth_compacting,
};
use crate::units::Tokens;

/// What there is to win and to lose.
#[derive(Clone, Copy, Debug)]
pub struct Stakes {
    /// What the model costs.
    pub tariff: Tariff,
    /// What the model costs that writes summaries; `None`: nothing, as it is none.
    pub summary: Option<Tariff>,
    /// How much of what was sent last the provider still has in its cache.
    pub cached: Tokens,
    /// How many turns are still expected; `None`: as many as there were.
    pub turns: Option<u64>,
}

/// Weighs a plan against leaving everything as it is.
pub(super) fn verdict(case: &Case<'_>, plan: &Plan) -> Option<Verdict> {
    let stakes = case.request.stakes?;
    let situation = Situation {
        tariff: stakes.tariff,
        tokens: case.pressure.tokens,
        cached: stakes.cached,
        turns: stakes.turns.unwrap_or_else(|| remaining_turns(case.path)),
        growth: growth(case.path),
        hard: Some(case.pressure.marks.hard),
    };
    let (outline, caps) = case.outline(plan);
    let after = case.counted(&outline);
    let total = Measured::of(&after, case.path).total() + caps;
    let change = Change {
        unchanged: case.request.outside + common_start(case, &after),
        after: case.fixed + total,
        summary: stakes.summary.filter(|_| caps > Tokens::ZERO).map(|tariff| SummaryCall {
            tariff,
            input: plan.parts.iter().map(|part| read(case, part)).sum(),
            cached: Tokens::ZERO,
            output: caps,
        }),
    };
    Some(worth_compacting(&situation, &change))
}

// The tokens up to the first message that would be sent differently.
fn common_start(case: &Case<'_>, after: &CountedView<'_>) -> Tokens {
    let pairs = case.shown.pieces.iter().zip(&after.pieces);
    let same = pairs.take_while(|(now, then)| now == then);
    same.map(|((_, tokens), _)| *tokens).sum()
}

// What the summariser reads for a part.
fn read(case: &Case<'_>, part: &Planned) -> Tokens {
    let Planned::Summary(task) = part else { return Tokens::ZERO };
    let previous: Tokens = task.previous.iter().map(|text| case.count.text(text)).sum();
    previous + tokens(case.path.get(task.fresh.clone()).unwrap_or_default())
}
