//! A rehearsal: what would be done about a full context before it is handed out, without doing it.

use epitome_core::Tokens;
use epitome_core::compact::Decision;

use super::{Compact, Need, Session};
use crate::compaction::Outcome;
use crate::error::Result;

impl Session {
    /// What [`Session::context`], or within so many tokens [`Session::context_within`], would do before it hands anything out;
    /// none where nothing is due. Nothing is recorded.
    pub async fn context_dry_run(&self, most: Option<Tokens>) -> Result<Option<Outcome>> {
        let need = self.look(|warm| self.situation(warm, most)).await?.need;
        let asks = match need {
            Need::Nothing => Vec::new(),
            Need::Now => vec![Compact::if_due()],
            Need::Step | Need::Soon => self.look(|warm| self.steps(warm)).await?,
        };
        let budget = most.map(|most| most - self.slot.outside());
        for ask in asks {
            let outcome = self.compact_dry_run(Compact { budget, ..ask }).await?;
            // That nothing helps is worth knowing where something must be done.
            if need == Need::Now || outcome.report.decision == Decision::Compacted {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }
}
