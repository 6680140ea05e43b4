//! The ledger as its users see it: every method is one unit of work on the one database or the other.

mod around;
mod begin;
mod conversation;
mod knowledge;
mod run;
mod upkeep;

use std::path::Path;
use std::sync::Arc;

use crate::error::{LedgerError, Result};
use crate::model::{
    CompactionRecord, Expect, NewCompaction, NewReply, NewSession, NewTurn, Receipt, RecordedView, Resumed,
    Session, SessionFilter, SessionId, StoredMessage, TenantId, Turn, TurnId, Until,
};
use crate::options::Options;
use crate::page::{Page, Paging};
use crate::postgres::Postgres;
use crate::sqlite::{Need, Sqlite};
use crate::store::append::{PreparedReply, PreparedTurn};
use crate::store::landing::Landing;
use crate::store::{append, compact, fork, message, session, tenant, turn, view};

/// The lossless record of conversations. Cheap to clone; all clones are one ledger.
#[derive(Clone)]
pub struct Ledger(Arc<Database>);

enum Database {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// Work in a transaction, or on one state of the database, as a boxed future.
macro_rules! work {
    ($sql:ident => $work:expr) => {
        move |mut sql| {
            Box::pin(async move {
                let $sql = &mut sql;
                $work
            })
        }
    };
}
use work;

impl Ledger {
    /// Opens the ledger at `sqlite:PATH` or `postgres://…`, creating or migrating what is not there yet.
    ///
    /// `sslmode` (`disable`, `prefer`, `require`, `verify-ca`, `verify-full`) and `sslrootcert` in the address of a server
    /// mean what they mean to PostgreSQL's own client. `prepared_statements=false` is for poolers that hand each transaction to
    /// another connection and do not know prepared statements, as PgBouncer before 1.21.
    pub async fn open(address: &str, options: Options) -> Result<Self> {
        let database = match address.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => {
                Database::Sqlite(Sqlite::open(Path::new(path), &options)?)
            }
            Some(("postgres" | "postgresql", _)) => {
                Database::Postgres(Box::new(Postgres::open(address, &options).await?))
            }
            _ => return Err(LedgerError::BadAddress(address.to_owned())),
        };
        Ok(Self(Arc::new(database)))
    }

    /// Ends all work and closes the database. Every clone of the ledger is closed, too.
    pub async fn close(&self) {
        match &*self.0 {
            Database::Sqlite(sqlite) => sqlite.close(),
            Database::Postgres(postgres) => postgres.close(),
        }
    }

    /// Opens a session in which nothing was said yet.
    pub async fn create_session(&self, tenant: TenantId, new: NewSession) -> Result<Session> {
        let standing = self.write_session(work!(sql => session::create(sql, tenant, new).await)).await?;
        Ok(self.opened(tenant, standing))
    }

    /// Opens a session on a turn of another one. What was said up to that turn is shared, not copied.
    ///
    /// The fork stands on the turn as it is now: a reply that its owner records later belongs to the owner's path, not to the
    /// fork's, which goes on with a turn of its own.
    pub async fn fork(&self, tenant: TenantId, at: TurnId, new: NewSession) -> Result<Session> {
        let standing = self.write(work!(sql => fork::at(sql, tenant, at, new).await)).await?;
        Ok(self.opened(tenant, standing))
    }

    /// A session as it stands.
    pub async fn session(&self, tenant: TenantId, id: SessionId) -> Result<Session> {
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            Ok(session::by_id(sql, tenant, id).await?.session)
        }))
        .await
    }

    /// The session that an agent knows under this name.
    pub async fn find_session(
        &self,
        tenant: TenantId,
        agent: impl Into<String>,
        external: impl Into<String>,
    ) -> Result<Option<Session>> {
        let (agent, external) = (agent.into(), external.into());
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            session::by_external(sql, tenant, &agent, &external).await
        }))
        .await
    }

    /// The sessions of a tenant, the latest opened first.
    pub async fn sessions(
        &self,
        tenant: TenantId,
        filter: SessionFilter,
        paging: Paging,
    ) -> Result<Page<Session>> {
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            session::list(sql, tenant, filter, paging).await
        }))
        .await
    }

    /// Some of the sessions whose id begins with these digits, written with hyphens or without.
    pub async fn sessions_by_prefix(&self, tenant: TenantId, digits: &str) -> Result<Vec<Session>> {
        let range = session::IdRange::of(digits)?;
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            session::by_prefix(sql, tenant, range).await
        }))
        .await
    }

    /// The sessions that were forked off a session itself, the oldest first.
    pub async fn forks(&self, tenant: TenantId, session: SessionId) -> Result<Vec<Session>> {
        self.read_session(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            session::forks(sql, tenant, session).await
        }))
        .await
    }

    /// Appends turns. When it returns they are durable; turns that were handed in before are not recorded twice.
    pub async fn append(&self, tenant: TenantId, expect: Expect, turns: Vec<NewTurn>) -> Result<Receipt> {
        if turns.is_empty() {
            return Err(LedgerError::BadRequest("there is nothing to append".to_owned()));
        }
        let turns: Vec<PreparedTurn> = turns.into_iter().map(PreparedTurn::from).collect();
        let entries = turns.iter().map(PreparedTurn::messages).sum();
        if let ([turn], Some(known)) = (&turns[..], self.shared().known(tenant, expect.session)) {
            let landing = Landing::of_turn(known, &expect, turn.clone(), self.shared().clock.now())?;
            if let Some(receipt) = self.land(tenant, entries, landing).await? {
                return Ok(receipt);
            }
        }
        let known =
            self.record(Need::Order, entries, work!(sql => append::turns(sql, tenant, expect, turns).await));
        Ok(self.remember(tenant, known.await?))
    }

    /// Appends the reply to the turn that the session stands on.
    pub async fn reply(&self, tenant: TenantId, expect: Expect, reply: NewReply) -> Result<Receipt> {
        let reply = PreparedReply::from(reply);
        let entries = reply.messages();
        if let Some(known) = self.shared().known(tenant, expect.session) {
            let landing = Landing::of_reply(known, &expect, reply.clone(), self.shared().clock.now())?;
            if let Some(receipt) = self.land(tenant, entries, landing).await? {
                return Ok(receipt);
            }
        }
        let known =
            self.record(Need::Order, entries, work!(sql => append::reply(sql, tenant, expect, reply).await));
        Ok(self.remember(tenant, known.await?))
    }

    /// Appends a compaction, or the undoing of one. Its segments must tile the path. Without a fence it is refused while somebody
    /// holds the session's lease.
    pub async fn compact(&self, tenant: TenantId, expect: Expect, new: NewCompaction) -> Result<Receipt> {
        let known = self
            .record(Need::Order, 1, work!(sql => compact::record(sql, tenant, expect, new).await))
            .await?;
        Ok(self.remember(tenant, known))
    }

    /// A turn.
    pub async fn turn(&self, tenant: TenantId, id: TurnId) -> Result<Turn> {
        self.read_one(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            Ok(turn::by_id(sql, tenant, id).await?.turn)
        }))
        .await
    }

    /// The turns of these numbers on the path to a turn, oldest first.
    pub async fn turns(
        &self,
        tenant: TenantId,
        to: TurnId,
        numbers: std::ops::Range<u64>,
    ) -> Result<Vec<Turn>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            let located = turn::by_id(sql, tenant, to).await?;
            let path = located.path(sql, located.turn.end).await?;
            turn::read(sql, &path, numbers.start, numbers.end.min(located.turn.number + 1)).await
        }))
        .await
    }

    /// All turns on the path to a turn, compactions included, oldest first.
    pub async fn history(&self, tenant: TenantId, to: TurnId, paging: Paging) -> Result<Page<Turn>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            turn::history(sql, tenant, to, paging).await
        }))
        .await
    }

    /// The messages of a stretch of the path to a turn, as they were.
    pub async fn messages(
        &self,
        tenant: TenantId,
        to: TurnId,
        range: std::ops::Range<u64>,
    ) -> Result<Vec<StoredMessage>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            let located = turn::by_id(sql, tenant, to).await?;
            let path = located.path(sql, located.turn.end).await?;
            let range = range.start..range.end.min(located.turn.end);
            message::read(sql, &path, std::slice::from_ref(&range)).await
        }))
        .await
    }

    /// What the model saw at a turn, or sees behind it. Its cost does not depend on what is hidden.
    pub async fn view(&self, tenant: TenantId, at: TurnId, until: Until) -> Result<RecordedView> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            view::at(sql, tenant, at, until).await
        }))
        .await
    }

    /// What the model sees at the head of a session.
    ///
    /// It differs from [`Ledger::view`] of the head only where a session was forked from a turn that had no reply yet: the reply
    /// that its owner records later is not on the fork's path.
    pub async fn current_view(&self, tenant: TenantId, session: SessionId) -> Result<RecordedView> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            view::current(sql, tenant, session).await
        }))
        .await
    }

    /// A session as it stands and what the model sees at its head, all of one moment.
    pub async fn resume(&self, tenant: TenantId, session: SessionId) -> Result<Resumed> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            view::resumed(sql, tenant, session).await
        }))
        .await
    }

    /// What is known of the compaction that a turn is.
    pub async fn compaction(&self, tenant: TenantId, turn: TurnId) -> Result<(Turn, CompactionRecord)> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            compact::by_turn(sql, tenant, turn).await
        }))
        .await
    }

    /// The nearest compaction on the path to a turn, itself included.
    pub async fn latest_compaction(
        &self,
        tenant: TenantId,
        turn: TurnId,
    ) -> Result<Option<(Turn, CompactionRecord)>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            compact::latest(sql, tenant, turn).await
        }))
        .await
    }

    /// The turns that a compaction's summaries stand for, back to the compaction before it.
    pub async fn summarized_turns(&self, tenant: TenantId, compaction: TurnId) -> Result<Vec<Turn>> {
        self.read(work!(sql => {
            let tenant = tenant::known(sql, tenant).await?;
            compact::summarized(sql, tenant, compaction).await
        }))
        .await
    }
}
