//! `rolling`: one summary that rolls on, and the last so many messages as they were (spec 008.1, first draft).

use super::cascade::Old;
use super::layout::Layout;
use super::{cut, recent, room};
use crate::compact::cuts::{Cuts, keep_last_messages};
use crate::compact::plan::{Limits, Outcome, Strategy};
use crate::compact::segment::Level;
use crate::compact::settings::StrategyName;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;
use crate::settings::Settings;

/// Summarises everything but the last `recency_window` messages.
#[derive(Clone, Copy)]
pub struct Rolling<'a> {
    settings: &'a Settings,
    count: &'a dyn Count,
}

impl<'a> Rolling<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self { settings, count }
    }
}

impl Strategy for Rolling<'_> {
    fn name(&self) -> &'static str {
        StrategyName::Rolling.as_str()
    }

    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome {
        let compact = &self.settings.compact;
        let cuts = Cuts::of(path);
        let mut layout = Layout::new(path, limits, &cuts);
        let window = room::recency_window(compact, path, limits);
        let chosen = keep_last_messages(path, window);
        let half_of_them = |cut: usize| (path.len() - cut) * 2 >= window;
        let Some(cut) = cut::legal(&cuts, chosen, limits, half_of_them) else {
            return Outcome::Nothing(format!("nothing is older than the last {window} messages"));
        };
        layout.retain(room::retained(compact, path, messages, cut, limits));
        let cap = room::summary_cap(compact, limits, path.get(layout.at()..cut).unwrap_or_default());
        let old = Old { path, cuts: &cuts, previous: limits.previous, count: self.count };
        old.summarise(&mut layout, cut, Level::Rolling, cap, compact);
        layout.pruned(path.len(), recent::marks(path, messages, cut, limits, self.settings, self.count));
        Outcome::Compact(layout.finish(compact))
    }
}
