//! `prune`: stale tool results are trimmed and cleared; all else stays.

use super::layout::Layout;
use super::recent;
use crate::compact::cuts::Cuts;
use crate::compact::plan::{Limits, Outcome, Plan, Strategy};
use crate::compact::settings::StrategyName;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;
use crate::settings::Settings;

/// Trims and clears stale tool results.
#[derive(Clone, Copy)]
pub struct Prune<'a> {
    settings: &'a Settings,
    count: &'a dyn Count,
}

impl<'a> Prune<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self { settings, count }
    }

    /// The plan, also where it leaves everything as it is.
    pub(super) fn pruned(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> (Plan, Effect) {
        let mut layout = Layout::new(path, limits, &Cuts::of(path));
        layout.as_before();
        let marks = recent::marks(path, messages, layout.at(), limits, self.settings, self.count);
        let effect = if marks.is_empty() { Effect::Nothing } else { Effect::Pruned };
        layout.pruned(path.len(), marks);
        (layout.finish(&self.settings.compact), effect)
    }
}

/// Whether anything is pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Pruned,
}

/// Said where nothing is pruned.
pub(super) const NOTHING_STALE: &str = "no tool result is worth pruning";

impl Strategy for Prune<'_> {
    fn name(&self) -> &'static str {
        StrategyName::Prune.as_str()
    }

    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome {
        let (plan, effect) = self.pruned(path, messages, limits);
        match effect {
            Effect::Nothing => Outcome::Nothing(NOTHING_STALE.to_owned()),
            Effect::Pruned => Outcome::Compact(plan),
        }
    }
}
