//! Conversations as the tables of other designs hold them.

use super::{Ledger, work};
use crate::error::Result;
use crate::model::{ConversationState, HistoryRow, SessionId, TenantId};
use crate::store::{conversation, tenant};

impl Ledger {
    /// Where a conversation stands, with the messages that are shown: its row of `conversation_state`.
    pub async fn conversation_state(
        &self,
        tenant: TenantId,
        session: SessionId,
    ) -> Result<ConversationState> {
        self.read(work!(sql => {
            let key = tenant::known(sql, tenant).await?;
            conversation::state(sql, (tenant, key), session).await
        }))
        .await
    }

    /// What a conversation shows, in its order: its rows of `conversation_history`.
    pub async fn conversation_history(
        &self,
        tenant: TenantId,
        session: SessionId,
    ) -> Result<Vec<HistoryRow>> {
        self.read(work!(sql => {
            let key = tenant::known(sql, tenant).await?;
            conversation::history(sql, (tenant, key), session).await
        }))
        .await
    }
}
