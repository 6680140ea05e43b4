//! What a draft can cost at most, and what each of its summaries may have.

use super::super::view::{OMITTED, Wording};
use super::draft::{Draft, Fate, Summary, Zone};
use crate::prune::Count;
use crate::tokens::MESSAGE_OVERHEAD;
use crate::units::Tokens;

/// Where two texts are joined, a few tokens may come out differently than in each by itself.
const JOINT: Tokens = Tokens(8);
/// The shortest summary that says something.
const SHORTEST: Tokens = Tokens(32);

/// How far summaries are shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caps {
    /// Not at all.
    Wanted,
    /// By as much as nobody notices: an eighth.
    Squeezed,
    /// To a fifth of the budget each, within 64 to 800 tokens.
    Floor,
    /// To as little as says something.
    Shortest,
}

impl Caps {
    /// What a summary has at least.
    pub(super) fn least(self, wanted: Tokens, budget: Tokens) -> Tokens {
        match self {
            Caps::Wanted => wanted,
            Caps::Squeezed => Tokens(wanted.0 - wanted.0 / 8),
            Caps::Floor => wanted.min(Tokens((budget.0 / 5).clamp(64, 800))),
            Caps::Shortest => wanted.min(SHORTEST),
        }
    }
}

/// What the words around summaries cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    around: Tokens,
    acknowledgement: Tokens,
    omitted: Tokens,
}

impl Words {
    pub(super) fn of(wording: &Wording, count: &dyn Count) -> Self {
        let omitted = count.text(OMITTED);
        let acknowledgement = count.text(&wording.acknowledgement).max(omitted);
        Self { around: count.text(&wording.around("")) + JOINT, acknowledgement, omitted }
    }

    // A stretch of which nothing is shown: what is said in its place, and between it and its neighbours.
    fn stretch(&self, stretch: &[Zone], stands_first: bool, summary: impl Fn(&Summary) -> Tokens) -> Tokens {
        let summaries = stretch.iter().filter_map(|zone| match &zone.fate {
            Fate::Summary(found) => Some(JOINT + summary(found)),
            Fate::Shown | Fate::Omitted(_) => None,
        });
        let (number, texts) = summaries.fold((0, Tokens::ZERO), |(n, sum), next| (n + 1, sum + next));
        let aside = MESSAGE_OVERHEAD + self.omitted;
        if number == 0 {
            return aside;
        }
        let before = if stands_first { Tokens::ZERO } else { aside };
        before + MESSAGE_OVERHEAD + self.around + texts + MESSAGE_OVERHEAD + self.acknowledgement
    }
}

impl Draft<'_> {
    /// The most tokens that a view can have, the summaries shortened so far.
    pub(super) fn bound(&self, caps: Caps) -> Tokens {
        self.bound_of(&self.zones, caps)
    }

    /// The same with other zones in place of its own.
    pub(super) fn bound_of(&self, zones: &[Zone], caps: Caps) -> Tokens {
        self.bound_by(zones, |summary| match &summary.written {
            Some((_, tokens)) => *tokens,
            None => caps.least(summary.wanted, self.ground.budget),
        })
    }

    /// Whether a view is within the budget, the summaries shortened so far.
    pub(super) fn fits(&self, caps: Caps) -> bool {
        self.bound(caps) <= self.ground.budget
    }

    /// Gives each summary what it wanted, or its share of the room there is.
    pub(super) fn allot(&mut self, caps: Caps) {
        let budget = self.ground.budget;
        let room = budget - self.bound(caps);
        let more = |summary: &Summary| {
            let open = summary.written.is_none();
            if open { summary.wanted - caps.least(summary.wanted, budget) } else { Tokens::ZERO }
        };
        let wanted: Tokens = self.summaries().map(more).sum();
        for summary in self.zones.iter_mut().filter_map(|zone| match &mut zone.fate {
            Fate::Summary(summary) => Some(summary),
            _ => None,
        }) {
            let share = u128::from(more(summary).0) * u128::from(room.0) / u128::from(wanted.0.max(1));
            let share = Tokens(u64::try_from(share).unwrap_or(u64::MAX)).min(more(summary));
            summary.cap = caps.least(summary.wanted, budget) + share;
        }
    }

    /// The most tokens that a view can have with the room that its summaries were given.
    pub(super) fn bound_by_caps(&self) -> Tokens {
        let given = |summary: &Summary| summary.written.as_ref().map_or(summary.cap, |(_, tokens)| *tokens);
        self.bound_by(&self.zones, given)
    }

    fn bound_by(&self, zones: &[Zone], summary: impl Fn(&Summary) -> Tokens) -> Tokens {
        let leading = self.ground.cuts.leading();
        let mut sum = Tokens::ZERO;
        let mut said = false;
        for stretch in zones.chunk_by(|left, right| left.is_hidden() == right.is_hidden()) {
            if stretch.first().is_some_and(Zone::is_hidden) {
                sum += self.words.stretch(stretch, !said, &summary);
            } else {
                sum += stretch.iter().map(|zone| self.cost_of(zone.range.clone())).sum();
                said = said || stretch.last().is_some_and(|zone| zone.range.end > leading);
            }
        }
        sum
    }
}
