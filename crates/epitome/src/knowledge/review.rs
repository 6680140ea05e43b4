//! Looking at what was learnt, and saying what is right.

use epitome_ledger::model::{FindingFilter, FindingId, FindingMark, RecordedFinding};
use epitome_ledger::{Page, Paging};

use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// What was learnt, the latest first. Preferences that nobody has confirmed yet are in the state `Review`.
    pub async fn knowledge(&self, filter: FindingFilter, paging: Paging) -> Result<Page<RecordedFinding>> {
        Ok(self.0.ledger.findings(self.0.tenant, filter, paging).await?)
    }

    /// Says that a finding is right.
    pub async fn confirm(&self, id: FindingId) -> Result<RecordedFinding> {
        Ok(self.0.ledger.mark_finding(self.0.tenant, id, FindingMark::Confirmed).await?)
    }

    /// Says that a finding is wrong. It is not recalled, takes nothing's place, and is not learnt again.
    pub async fn reject(&self, id: FindingId) -> Result<RecordedFinding> {
        Ok(self.0.ledger.mark_finding(self.0.tenant, id, FindingMark::Rejected).await?)
    }
}
