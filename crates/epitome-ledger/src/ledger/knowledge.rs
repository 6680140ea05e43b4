//! What was learnt from conversations, their episodes, and what a program remembers beside them.

use super::{Ledger, work};
use crate::error::Result;
use crate::model::{
    Episode, FindingFilter, FindingId, FindingMark, Memo, NewEpisode, NewFinding, RecordedFinding, SessionId,
    TenantId,
};
use crate::page::{Page, Paging};
use crate::sqlite::Need;
use crate::store::{episode, finding, memo, tenant};

impl Ledger {
    /// Records what was learnt from messages on the path of a session, and returns the ids of what is new.
    ///
    /// Nothing is expected of the session's head: what a message says stays said.
    pub async fn learn(
        &self,
        tenant: TenantId,
        session: SessionId,
        new: Vec<NewFinding>,
    ) -> Result<Vec<FindingId>> {
        let entries = new.len();
        self.record(Need::Order, entries, work!(sql => finding::learn(sql, tenant, session, new).await)).await
    }

    /// A finding, and what became of it.
    pub async fn finding(&self, tenant: TenantId, id: FindingId) -> Result<RecordedFinding> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            finding::by_id(sql, tenant, id).await
        }))
        .await
    }

    /// Findings, the latest learnt first.
    pub async fn findings(
        &self,
        tenant: TenantId,
        filter: FindingFilter,
        paging: Paging,
    ) -> Result<Page<RecordedFinding>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            finding::list(sql, tenant, filter, paging).await
        }))
        .await
    }

    /// Confirms or rejects a finding, or says that it is no longer the case. What was marked last counts.
    pub async fn mark_finding(
        &self,
        tenant: TenantId,
        id: FindingId,
        mark: FindingMark,
    ) -> Result<RecordedFinding> {
        self.write(work!(sql => finding::mark(sql, tenant, id, mark).await)).await
    }

    /// Closes an episode at a compaction; nothing where nothing was said since the one before it ended.
    ///
    /// A compaction closes one episode, however often it is asked.
    pub async fn close_episode(&self, tenant: TenantId, new: NewEpisode) -> Result<Option<Episode>> {
        self.write(work!(sql => episode::close(sql, tenant, new).await)).await
    }

    /// The episodes on the path of a session that were closed, oldest first.
    pub async fn episodes(
        &self,
        tenant: TenantId,
        session: SessionId,
        paging: Paging,
    ) -> Result<Page<Episode>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            episode::list(sql, tenant, session, paging).await
        }))
        .await
    }

    /// Writes a memo, in the place of the one of the same scope and name.
    ///
    /// A memo whose name is the id of a session is purged with it.
    pub async fn put_memo(
        &self,
        tenant: TenantId,
        scope: impl Into<String>,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Memo> {
        let new = [scope.into(), name.into(), value.into()];
        self.write_session(work!(sql => memo::put(sql, tenant, new).await)).await
    }

    /// The memo of this scope and name.
    pub async fn memo(
        &self,
        tenant: TenantId,
        scope: impl Into<String>,
        name: impl Into<String>,
    ) -> Result<Option<Memo>> {
        let (scope, name) = (scope.into(), name.into());
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            memo::get(sql, tenant, &scope, &name).await
        }))
        .await
    }

    /// The memos of a scope, in the order in which they were first written.
    pub async fn memos(
        &self,
        tenant: TenantId,
        scope: impl Into<String>,
        paging: Paging,
    ) -> Result<Page<Memo>> {
        let scope = scope.into();
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            memo::list(sql, tenant, &scope, paging).await
        }))
        .await
    }
}
