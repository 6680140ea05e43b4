//! `checkpoint`: a structured checkpoint, and the recent tokens as they were, pruned where stale (spec 008.1 v4).

use super::cascade::Old;
use super::layout::{Cap, Layout, tokens};
use super::{cut, recent, room};
use crate::compact::cuts::{Cuts, keep_recent_tokens, partition_turns};
use crate::compact::plan::{Favours, Limits, Outcome, Plan, Strategy};
use crate::compact::segment::Level;
use crate::compact::settings::{KeepBy, StrategyName};
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;
use crate::settings::Settings;
use crate::units::Tokens;

/// Summarises everything but the last `keep_recent_tokens` into a checkpoint.
#[derive(Clone, Copy)]
pub struct Checkpoint<'a> {
    settings: &'a Settings,
    count: &'a dyn Count,
    split: Split,
}

/// A summary that picks what is worth most may have this part of what it stands for.
const SHARE_OF_COVERED: u64 = 8;
/// Of what is not long it may have this part, and this many times what the setting says.
const SHARE_OF_LITTLE: u64 = 3;
const TIMES_THE_SETTING: u64 = 4;

/// How many tokens `auto` lets a summary of so many tokens have, where the budget has room for them.
///
/// What the setting says is enough for a summary that somebody writes; one that picks out what is worth most may have
/// more of a long session.
pub fn most_for_a_summary(settings: &Settings, covered: Tokens) -> Tokens {
    let set = settings.compact.summary_token_budget;
    let of_little = (covered.0 / SHARE_OF_LITTLE).min(set.0.saturating_mul(TIMES_THE_SETTING));
    set.max(Tokens(of_little)).max(Tokens(covered.0 / SHARE_OF_COVERED))
}

/// How a budget is divided between the summary and what is recent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    /// The summary has its share, and what is recent the rest, each up to its setting.
    AsSet,
    /// What is recent has a share, and the summary, which picks what is worth most, all the rest.
    ByWorth,
}

/// What is recent has this part of a budget: enough to go on from, and little enough for what is older and matters more.
const RECENT_SHARE: u64 = 5;

impl<'a> Checkpoint<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self { settings, count, split: Split::AsSet }
    }

    /// The strategy that gives the summary all the room that recent messages leave.
    pub(super) fn by_worth(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self { split: Split::ByWorth, ..Self::new(settings, count) }
    }

    // What the setting allows, or what the budget leaves beside the summary.
    fn keep(&self, path: &[Entry], limits: &Limits<'_>) -> Tokens {
        let compact = &self.settings.compact;
        if self.split == Split::ByWorth {
            let most = Tokens(limits.budget.0 / 8 * 3);
            let share = limits.recent.map_or(Tokens(limits.budget.0 / RECENT_SHARE), |worth| worth.min(most));
            return compact.keep_recent_tokens.min(share).max(Tokens(1));
        }
        let beside = room::summary_cap(compact, limits, path).tokens + room::words(compact, self.count);
        compact.keep_recent_tokens.min(limits.budget - beside).max(Tokens(1))
    }
}

impl Checkpoint<'_> {
    // What a budget has left beside recent messages; where those are too large, they will have to give way.
    fn rest(&self, path: &[Entry], cut: usize, limits: &Limits<'_>) -> Cap {
        let beside =
            tokens(path.get(cut..).unwrap_or_default()) + room::words(&self.settings.compact, self.count);
        let least = Tokens(limits.budget.0 / 8 * 5);
        let most = most_for_a_summary(self.settings, tokens(path.get(..cut).unwrap_or_default()));
        Cap { tokens: (limits.budget - beside).max(least).min(most).max(Tokens(1)), chars: None }
    }
}

// The first of the last messages that have at most so many tokens together; the last one, however large, is among them.
fn newest_within(path: &[Entry], keep: Tokens) -> usize {
    let mut kept = Tokens::ZERO;
    let fits = |entry: &&Entry| {
        kept += entry.outline.tokens;
        kept <= keep
    };
    path.len() - path.iter().rev().take_while(fits).count().max(1)
}

impl Strategy for Checkpoint<'_> {
    fn name(&self) -> &'static str {
        StrategyName::Checkpoint.as_str()
    }

    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome {
        let compact = &self.settings.compact;
        let cuts = Cuts::of(path);
        let mut layout = Layout::new(path, limits, &cuts);
        let spoken = path.get(layout.at()..).unwrap_or_default();
        let keep = self.keep(spoken, limits);
        let chosen = match (self.split, compact.keep_by) {
            (Split::ByWorth, _) => newest_within(path, keep),
            (Split::AsSet, KeepBy::Messages) => keep_recent_tokens(path, keep),
            (Split::AsSet, KeepBy::Turns) => partition_turns(path, keep),
        };
        let half_of_it =
            |cut: usize| tokens(path.get(cut..).unwrap_or_default()).0.saturating_mul(2) >= keep.0;
        let Some(cut) = cut::legal(&cuts, chosen, limits, half_of_it) else {
            let all = tokens(spoken);
            return Outcome::Nothing(format!(
                "nothing can be cut from {all} tokens where {keep} are to be kept"
            ));
        };
        layout.retain(room::retained(compact, path, messages, cut, limits));
        let cap = match self.split {
            Split::AsSet => {
                room::summary_cap(compact, limits, path.get(layout.at()..cut).unwrap_or_default())
            }
            Split::ByWorth => self.rest(path, cut, limits),
        };
        let old = Old { path, cuts: &cuts, previous: limits.previous, count: self.count };
        old.summarise(&mut layout, cut, Level::Checkpoint, cap, compact);
        layout.pruned(path.len(), recent::marks(path, messages, cut, limits, self.settings, self.count));
        let favours = match self.split {
            Split::AsSet => Favours::Recent,
            Split::ByWorth => Favours::Summaries,
        };
        Outcome::Compact(Plan { favours, ..layout.finish(compact) })
    }
}
