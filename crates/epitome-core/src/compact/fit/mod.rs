//! Makes any plan meet a budget.
//!
//! Steps, each only where the one before was not enough: take a little off the summaries; prune tool results of what is kept;
//! where the plan favours its summaries, cut the largest items beside them short that the model has seen; shorten the summaries down to a floor; move the cut forward, exchange by exchange and turn by turn; cut the largest items of
//! the last turn short, those last that the model has not seen yet; keep nothing of it but the user's request; summarise everything but the pins. The last step cannot
//! fail: at [`minimum_budget`] or above, the budget is met whatever the path holds.
//!
//! Nothing is counted on the view itself, as the summaries are yet to be written. A plan is bounded instead: kept messages
//! by their exact counts, summaries by their caps, and the words that a view may put around and between them.

mod bound;
mod draft;
mod ground;
mod hide;
mod shorten;

use super::plan::{Limits, Plan};
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;
use crate::units::Tokens;
use bound::Caps;
use draft::Draft;
pub(super) use ground::Ground;
use shorten::Of;

/// A plan that meets its budget, and what had to be done for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The plan.
    pub plan: Plan,
    /// What was done to it, for the report.
    pub notes: Vec<String>,
}

/// The least budget that every path can be brought into: 256 tokens for a short summary and the words around it, and what is
/// pinned (with everything that must stay with it) in full, with 32 tokens for the words at either end of each pinned stretch.
pub fn minimum_budget(path: &[Entry], limits: &Limits<'_>) -> Tokens {
    ground::minimum_budget(path, limits.pins)
}

/// The most tokens that a view of this plan can have, leading system messages left out.
pub fn plan_tokens(
    plan: &Plan,
    path: &[Entry],
    messages: &[Message],
    limits: &Limits<'_>,
    count: &dyn Count,
) -> Tokens {
    let ground = Ground::of(path, messages, limits, count);
    Draft::of(plan, &ground).bound(Caps::Wanted)
}

/// Brings a plan into `limits.budget`, with tool pairs whole and pins and leading system messages as they were.
///
/// A plan that is fine is returned as it is. Under a budget below [`minimum_budget`] as much is left out as can be.
pub fn fit(
    plan: Plan,
    path: &[Entry],
    messages: &[Message],
    limits: &Limits<'_>,
    count: &dyn Count,
) -> Fitted {
    fit_on(plan, &Ground::of(path, messages, limits, count))
}

/// The same where the ground is read already.
pub(super) fn fit_on(plan: Plan, ground: &Ground<'_>) -> Fitted {
    let draft = Draft::of(&plan, ground);
    if draft.fits(Caps::Wanted) && !draft.mended {
        return Fitted { plan, notes: Vec::new() };
    }
    climb(draft).finish(&plan)
}

// The steps in their order. Each is tried on what the ones before it left.
fn climb<'g>(mut draft: Draft<'g>) -> Draft<'g> {
    for caps in [Caps::Wanted, Caps::Squeezed] {
        if draft.fits(caps) {
            return draft.with(caps);
        }
    }
    if draft.prune() {
        return draft.with(Caps::Squeezed);
    }
    if draft.is_for_its_summaries() {
        let mut shorter = draft.clone();
        if shorter.shorten_largest(Caps::Squeezed, Of::Seen) {
            return shorter.with(Caps::Squeezed);
        }
    }
    draft.loosen();
    if draft.fits(Caps::Floor) {
        return draft.with(Caps::Floor);
    }
    draft.merge();
    if draft.fits(Caps::Floor) {
        return draft.with(Caps::Floor);
    }
    if let Some(fitting) = draft.move_cut().or_else(|| draft.last_turn()).or_else(|| draft.request_alone()) {
        return fitting.with(Caps::Floor);
    }
    draft.pins_alone()
}
