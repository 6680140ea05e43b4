//! `checkpoint`: a structured checkpoint, and the recent tokens as they were, pruned where stale (spec 008.1 v4).

use super::cascade::Old;
use super::layout::{Layout, tokens};
use super::{cut, recent, room};
use crate::compact::cuts::{Cuts, keep_recent_tokens, partition_turns};
use crate::compact::plan::{Limits, Outcome, Strategy};
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
}

impl<'a> Checkpoint<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self { settings, count }
    }

    // What the setting allows, or what the budget leaves beside the summary.
    fn keep(&self, path: &[Entry], limits: &Limits<'_>) -> Tokens {
        let compact = &self.settings.compact;
        let beside = room::summary_cap(compact, limits, path).tokens + room::words(compact, self.count);
        compact.keep_recent_tokens.min(limits.budget - beside).max(Tokens(1))
    }
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
        let chosen = match compact.keep_by {
            KeepBy::Messages => keep_recent_tokens(path, keep),
            KeepBy::Turns => partition_turns(path, keep),
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
        let cap = room::summary_cap(compact, limits, path.get(layout.at()..cut).unwrap_or_default());
        let old = Old { path, cuts: &cuts, previous: limits.previous, count: self.count };
        old.summarise(&mut layout, cut, Level::Checkpoint, cap, compact);
        layout.pruned(path.len(), recent::marks(path, messages, cut, limits, self.settings, self.count));
        Outcome::Compact(layout.finish(compact))
    }
}
