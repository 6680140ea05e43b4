//! How work reaches the one database or the other, and what is remembered of it.

use super::{Database, Ledger, work};
use crate::error::Result;
use crate::model::{Receipt, Session, TenantId};
use crate::shared::Shared;
use crate::sql::Work;
use crate::sqlite::Need;
use crate::store::landing::{Known, Landing};
use crate::store::{index, session};

impl Ledger {
    pub(super) fn shared(&self) -> &Shared {
        match &*self.0 {
            Database::Sqlite(sqlite) => &sqlite.shared,
            Database::Postgres(postgres) => &postgres.shared,
        }
    }

    pub(super) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_where(Need::Order, work).await
    }

    /// Writes what concerns the rows of sessions and nothing else.
    pub(super) async fn write_session<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.write_where(Need::Sessions, work).await
    }

    async fn write_where<T: Send + 'static>(&self, need: Need, work: impl Work<T>) -> Result<T> {
        match &*self.0 {
            Database::Sqlite(sqlite) => sqlite.write(need, work).await,
            Database::Postgres(postgres) => postgres.write(work).await,
        }
    }

    /// Writes so many things that can be searched for, and sees to it that they are indexed.
    pub(super) async fn record<T: Send + 'static>(
        &self,
        need: Need,
        entries: usize,
        work: impl Work<T>,
    ) -> Result<T> {
        let written = self.write_where(need, work).await?;
        if let Database::Postgres(postgres) = &*self.0 {
            let ledger = self.clone();
            postgres.index_if_due(entries, async move {
                ledger.pause().await;
                let mut indexed = Ok(1);
                while matches!(indexed, Ok(1..)) {
                    indexed = ledger.write(index::step).await;
                }
                if let Err(error) = indexed {
                    tracing::warn!(%error, "the index could not be kept up");
                }
            });
        }
        Ok(written)
    }

    async fn pause(&self) {
        if let Database::Postgres(postgres) = &*self.0 {
            postgres.pause().await;
        }
    }

    /// Writes an append that is ready; nothing where it must be looked at first.
    pub(super) async fn land(
        &self,
        tenant: TenantId,
        entries: usize,
        landing: Option<Landing>,
    ) -> Result<Option<Receipt>> {
        let landing = match &*self.0 {
            Database::Sqlite(_) => landing.and_then(Landing::into_arrival),
            Database::Postgres(_) => landing,
        };
        let Some(landing) = landing else { return Ok(None) };
        let landed = self.record(Need::Nothing, entries, work!(sql => landing.land(sql).await)).await?;
        Ok(landed.map(|known| self.remember(tenant, known)))
    }

    pub(super) fn remember(&self, tenant: TenantId, known: Known) -> Receipt {
        let receipt = known.receipt();
        self.shared().remember(tenant, known);
        receipt
    }

    /// Reads on one state of the database, however many statements that takes.
    pub(super) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        match &*self.0 {
            Database::Sqlite(sqlite) => sqlite.read(Need::Order, work).await,
            Database::Postgres(postgres) => postgres.snapshot(work).await,
        }
    }

    /// Reads by one statement.
    pub(super) async fn read_one<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        match &*self.0 {
            Database::Sqlite(sqlite) => sqlite.read(Need::Order, work).await,
            Database::Postgres(postgres) => postgres.read(work).await,
        }
    }

    /// Reads the rows of sessions and nothing else.
    pub(super) async fn read_session<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        match &*self.0 {
            Database::Sqlite(sqlite) => sqlite.read(Need::Sessions, work).await,
            Database::Postgres(postgres) => postgres.read(work).await,
        }
    }

    /// Remembers a session that was opened just now.
    pub(super) fn opened(&self, tenant: TenantId, standing: session::Standing) -> Session {
        let session = standing.session.clone();
        self.shared().remember(tenant, standing.into());
        session
    }
}
