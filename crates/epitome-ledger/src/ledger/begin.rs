//! Opening sessions that come with their first turns.

use super::{Ledger, work};
use crate::error::Result;
use crate::model::{Expect, NewSession, NewTurn, Opening, Receipt, TenantId, TurnId};
use crate::sql::Sql;
use crate::sqlite::Need;
use crate::store::append::PreparedTurn;
use crate::store::landing::Known;
use crate::store::{append, fork, prefix, session};

impl Ledger {
    /// Opens a session, on a turn of another one or on nothing, and appends its first turns, all in one transaction.
    pub async fn begin(
        &self,
        tenant: TenantId,
        at: Option<TurnId>,
        new: NewSession,
        turns: Vec<NewTurn>,
    ) -> Result<Receipt> {
        let beginning = Beginning::of(at, new, turns);
        let entries = beginning.entries();
        let known =
            self.record(Need::Order, entries, work!(sql => beginning.write(sql, tenant).await)).await?;
        Ok(self.remember(tenant, known))
    }

    /// As [`Ledger::begin`], for a conversation that [`Ledger::find_prefix`] was asked for: of those who looked at the same time
    /// and found the same, one opens a session.
    ///
    /// The others get [`LedgerError::Overtaken`](crate::LedgerError::Overtaken) and find it when they look again. So may those whose
    /// conversation only opens alike; each time they look, more of it is known, so that this comes to an end.
    pub async fn begin_once(&self, tenant: TenantId, opening: Opening) -> Result<Receipt> {
        let Opening { at, session, turns, chains, known } = opening;
        let beginning = Beginning::of(at, session, turns);
        let entries = beginning.entries();
        let written = self.record(
            Need::Order,
            entries,
            work!(sql => {
                prefix::claim(sql, tenant, &chains, known.as_ref()).await?;
                beginning.write(sql, tenant).await
            }),
        );
        Ok(self.remember(tenant, written.await?))
    }
}

/// A session with its first turns.
struct Beginning {
    at: Option<TurnId>,
    new: NewSession,
    turns: Vec<PreparedTurn>,
}

impl Beginning {
    fn of(at: Option<TurnId>, new: NewSession, turns: Vec<NewTurn>) -> Self {
        Self { at, new, turns: turns.into_iter().map(PreparedTurn::from).collect() }
    }

    fn entries(&self) -> usize {
        self.turns.iter().map(PreparedTurn::messages).sum()
    }

    async fn write(self, sql: &mut Sql<'_>, tenant: TenantId) -> Result<Known> {
        let standing = match self.at {
            Some(turn) => fork::at(sql, tenant, turn, self.new).await?,
            None => session::create(sql, tenant, self.new).await?,
        };
        let expect = Expect { session: standing.session.id, head: standing.session.head, fence: None };
        append::turns(sql, tenant, expect, self.turns).await
    }
}
