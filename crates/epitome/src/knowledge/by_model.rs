//! Learning with a model, where no turn waits for it. Where it fails, code reads the same messages later.

use epitome_core::Message;
use epitome_llm::summary::Purse;

use crate::compaction::{Hidden, Lesson};
use crate::scribe::Tab;
use crate::session::Session;

impl Session {
    /// What a model finds worth knowing in what a compaction hides, where the settings want that, it answers, and the summaries
    /// have left something in the purse.
    pub(crate) async fn learnt_by_model(&self, hidden: &Hidden, purse: &Purse) -> Option<Lesson> {
        let learner = self.inner().learner.as_ref()?;
        let messages = &hidden.picture.messages;
        let stretch = |range: &std::ops::Range<usize>| Some((range.start, messages.get(range.clone())?));
        let stretches: Vec<(usize, &[Message])> = hidden.ranges.iter().filter_map(stretch).collect();
        if stretches.is_empty() {
            return None;
        }
        let tab = Tab::open(self, purse);
        match learner.clone().tallied(tab.tally()).extract(&stretches).await {
            Ok(learnt) => Some(Lesson { learnt, tab }),
            Err(why) => {
                tracing::warn!(%why, "what is worth knowing is picked by code");
                None
            }
        }
    }
}
