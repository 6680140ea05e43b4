//! Learning with a model, where no turn waits for it. Where it fails, code reads the same messages later.

use epitome_core::Message;
use epitome_llm::knowledge::Learnt;

use crate::compaction::Hidden;
use crate::session::Session;

impl Session {
    /// What a model finds worth knowing in what a compaction hides, where the settings want that and it answers.
    pub(crate) async fn learnt_by_model(&self, hidden: &Hidden) -> Option<Learnt> {
        let learner = self.inner().learner.as_ref()?;
        let messages = &hidden.picture.messages;
        let stretch = |range: &std::ops::Range<usize>| Some((range.start, messages.get(range.clone())?));
        let stretches: Vec<(usize, &[Message])> = hidden.ranges.iter().filter_map(stretch).collect();
        if stretches.is_empty() {
            return None;
        }
        match learner.clone().extract(&stretches).await {
            Ok(learnt) => Some(learnt),
            Err(why) => {
                tracing::warn!(%why, "what is worth knowing is picked by code");
                None
            }
        }
    }
}
