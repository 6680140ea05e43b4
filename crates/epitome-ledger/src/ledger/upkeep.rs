//! What keeps a ledger small, lawful and sound: packing, purging, checking.

use super::{Database, Ledger, work};
use crate::doctor;
use crate::error::{LedgerError, Result};
use crate::model::{Checkup, Purge, TenantId, Tombstone, Warrant};
use crate::store::pack::Rest;
use crate::store::{arrival, index, pack, purge};

impl Ledger {
    /// Packs all bodies that still lie as they were written, and indexes what waits for it.
    ///
    /// A ledger on SQLite does both by itself when it is idle.
    pub async fn pack(&self) -> Result<()> {
        while self.write(|sql| pack::step(sql, Rest::Pack)).await? > 0 {}
        self.write(work!(sql => index::all(sql).await)).await?;
        while self.write(work!(sql => pack::shrink(sql).await)).await? > 0 {}
        Ok(())
    }

    /// How many bytes the whole database takes, indexes included.
    pub async fn stored_bytes(&self) -> Result<u64> {
        self.read_one(work!(sql => {
            let text = sql.either(
                "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
                "SELECT pg_database_size(current_database())",
            );
            let row = sql.one(text, &[]).await?;
            row.ok_or_else(|| LedgerError::damaged("the database has no size"))?.count()
        }))
        .await
    }

    /// Takes sessions and events out for good, in one transaction, and leaves a tombstone that says so.
    ///
    /// Only the owner may ask for it. Bodies that nobody else uses go, too, and so does what can be searched for.
    pub async fn purge(&self, tenant: TenantId, what: Purge, warrant: Warrant) -> Result<Tombstone> {
        let tombstone = self.write(work!(sql => purge::run(sql, tenant, what, warrant).await)).await?;
        // Pages that were freed before may hold copies of what was purged.
        while self.write(work!(sql => pack::shrink(sql).await)).await? > 0 {}
        if let Database::Sqlite(sqlite) = &*self.0
            && let Err(error) = sqlite.empty_log().await
        {
            tracing::warn!(%error, "what was purged lies in the write-ahead log until it is written over");
        }
        Ok(tombstone)
    }

    /// What was purged of a tenant, the latest last.
    pub async fn tombstones(&self, tenant: TenantId) -> Result<Vec<Tombstone>> {
        self.read(work!(sql => purge::tombstones(sql, tenant).await)).await
    }

    /// Checks everything that always holds, of all tenants. It repairs nothing.
    ///
    /// What an ended process left unsorted in a SQLite file is sorted in when it is opened, as for every reader; a note says so.
    /// What was acknowledged and could not be put in its place before is tried once more, where the ledger can be written to.
    pub async fn doctor(&self) -> Result<Checkup> {
        if let Database::Sqlite(_) = &*self.0
            && let Err(error) = self.write(work!(sql => arrival::retry(sql).await)).await
        {
            tracing::debug!(%error, "what was set aside is not tried again");
        }
        let mut checkup = self.read(work!(sql => doctor::check(sql).await)).await?;
        let count = self.shared().left_behind();
        if count > 0 {
            let told = format!(
                "{count} turns or replies that a process left behind were put in their place at opening"
            );
            checkup.note("file", told);
        }
        Ok(checkup)
    }
}
