//! `narrative`: the first request stays, a summary of the middle stands behind it, the last so many messages stay
//! (C# micro agent).

use super::layout::Layout;
use super::{cut, recent, room};
use crate::compact::cuts::{Cuts, protected_tail};
use crate::compact::plan::{Limits, Outcome, Strategy};
use crate::compact::segment::Level;
use crate::compact::settings::StrategyName;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;
use crate::settings::Settings;
use crate::turn::is_plain_user_message;

/// A zone of fewer messages is not worth a summary.
const LEAST_ZONE: usize = 2;

/// Summarises everything between the first request and the last `recency_window` messages.
#[derive(Clone, Copy)]
pub struct Narrative<'a> {
    settings: &'a Settings,
    count: &'a dyn Count,
}

impl<'a> Narrative<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self { settings, count }
    }
}

impl Strategy for Narrative<'_> {
    fn name(&self) -> &'static str {
        StrategyName::Narrative.as_str()
    }

    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome {
        let compact = &self.settings.compact;
        let cuts = Cuts::of(path);
        let mut layout = Layout::new(path, limits, &cuts);
        let window = room::recency_window(compact, path, limits);
        let chosen = protected_tail(path, window);
        // The first request stands before the summary, so that the assistant may well come first behind it.
        let chosen = cuts.next_turn(chosen).filter(|_| chosen > 0).unwrap_or(chosen);
        let cut = cut::legal(&cuts, chosen, limits, |_| false).unwrap_or(0);
        if path.get(layout.at()).is_some_and(|entry| is_plain_user_message(&entry.outline)) {
            layout.verbatim(layout.at() + 1);
        }
        let start = layout.at();
        let zone = cut.saturating_sub(start);
        if zone < LEAST_ZONE {
            return Outcome::Nothing(format!(
                "everything is protected: {zone} messages lie between the first and the last {window}"
            ));
        }
        let cap = room::summary_cap(compact, limits, path.get(start..cut).unwrap_or_default());
        layout.summary(cut, Level::Narrative, cap);
        layout.pruned(path.len(), recent::marks(path, messages, cut, limits, self.settings, self.count));
        Outcome::Compact(layout.finish(compact))
    }
}
