//! Instructions of a session: what every summary of it is to mind, kept with it and inherited by its forks.

use epitome_core::Chars;
use epitome_core::summaries::MOST_INSTRUCTIONS;
use epitome_ledger::Ledger;
use epitome_ledger::model::{SessionId, TenantId};

use super::Session;
use crate::error::{Error, Result};

/// The scope of the memos that hold them, each under the id of its session, with which it is purged.
const SCOPE: &str = "instructions";

/// What the summaries of a session are to mind, as its ledger has it.
pub async fn instructions(ledger: &Ledger, tenant: TenantId, session: SessionId) -> Result<Option<String>> {
    let memo = ledger.memo(tenant, SCOPE, session.to_string()).await?;
    Ok(memo.map(|memo| memo.value).filter(|text| !text.is_empty()))
}

impl Session {
    /// Says what every summary of this session is to mind from now on, in place of what was said before; nothing takes it back.
    ///
    /// It is kept with the session. Forks inherit what holds when they are made. What [`Compact::minding`] and hooks say of one
    /// compaction stands behind it, what the setting `summary_instructions` says before it.
    ///
    /// [`Compact::minding`]: crate::Compact::minding
    pub async fn instruct(&self, text: Option<&str>) -> Result<()> {
        let text = text.map_or("", str::trim);
        let (length, most) = (Chars::of(text).0, MOST_INSTRUCTIONS.0);
        if length > most {
            return Err(Error::InstructionsTooLong { length, most });
        }
        // Whoever compacts looks at them while it holds this: what is said before it records is minded.
        let _state = self.slot.state.lock().await;
        if self.instructions().await?.as_deref().unwrap_or_default() == text {
            return Ok(());
        }
        self.keep_instructions(text).await?;
        // What is prepared does not mind them, and would not be recorded.
        self.drop_prepared();
        Ok(())
    }

    /// What every summary of this session is to mind.
    pub async fn instructions(&self) -> Result<Option<String>> {
        let inner = self.inner();
        instructions(&inner.ledger, inner.tenant, self.id()).await
    }

    /// Gives a fork what holds for this session.
    pub(super) async fn hand_down_instructions(&self, fork: &Session) -> Result<()> {
        match self.instructions().await? {
            Some(text) => fork.keep_instructions(&text).await,
            None => Ok(()),
        }
    }

    async fn keep_instructions(&self, text: &str) -> Result<()> {
        let inner = self.inner();
        inner.ledger.put_memo(inner.tenant, SCOPE, self.id().to_string(), text).await?;
        Ok(())
    }
}
