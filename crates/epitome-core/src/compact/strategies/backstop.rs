//! `none`: the oldest messages beyond a count are left out, and nothing stands for them.

use super::layout::Layout;
use crate::compact::cuts::Cuts;
use crate::compact::plan::{Limits, Outcome, Strategy};
use crate::compact::settings::StrategyName;
use crate::message::Message;
use crate::outline::Entry;
use crate::settings::Settings;
use crate::trim::oldest_beyond;

/// Leaves out the oldest messages beyond `max_conversation_messages`.
#[derive(Clone, Copy, Debug)]
pub struct Backstop<'a> {
    settings: &'a Settings,
}

impl<'a> Backstop<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings }
    }
}

impl Strategy for Backstop<'_> {
    fn name(&self) -> &'static str {
        StrategyName::None.as_str()
    }

    fn plan(&self, path: &[Entry], _: &[Message], limits: &Limits<'_>) -> Outcome {
        let most = self.settings.max_conversation_messages;
        let mut layout = Layout::new(path, limits, &Cuts::of(path));
        layout.as_before();
        let from = layout.at();
        let excess = oldest_beyond(path.get(from..).unwrap_or_default(), most);
        if excess.is_empty() {
            let count = path.len() - from;
            return Outcome::Nothing(format!("{count} messages, and {most} may stay"));
        }
        layout.omitted(from + excess.end, "the oldest messages beyond max_conversation_messages");
        Outcome::Compact(layout.finish(&self.settings.compact))
    }
}
