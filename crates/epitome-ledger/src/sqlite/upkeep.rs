//! What the thread that writes does when nobody waits: sorting in what arrived, indexing it, packing bodies.

use std::pin::Pin;
use std::time::Duration;

use rusqlite::Connection;

use super::at_once;
use super::statement::perform;
use super::writer::{commit, guarded};
use crate::error::Result;
use crate::shared::Shared;
use crate::sql::{self, Sql};
use crate::store::pack::{self, Rest};
use crate::store::{arrival, index};

/// How long nobody must have written before what was written is sorted in and indexed.
const PAUSE: Duration = Duration::from_millis(2);
/// How long nobody must have written before bodies are packed.
const IDLE: Duration = Duration::from_secs(2);
/// How often a ledger that has nothing to do looks whether it is to end.
const LONG: Duration = Duration::from_secs(3600);
/// So many arrivals may wait at all: whoever reads waits until they are sorted in.
const ARRIVALS: usize = 8192;
/// So many are sorted in while a writer may come.
const STEP: usize = 256;

/// Work of the ledger's own.
type Work = for<'c> fn(Sql<'c>) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + 'c>>;

/// What is left to do.
pub(super) struct Upkeep {
    /// Arrivals that are not sorted in, as far as this process knows.
    arrived: usize,
    /// Entries that are not indexed.
    unindexed: i64,
    /// Whether there may be something to pack.
    unpacked: bool,
    /// Whether a commit waits for the disk.
    durable: bool,
    /// Whether the last of it failed, so that it is not tried again and again.
    failed: bool,
}

impl Upkeep {
    /// A database that was left in disorder is put in order at once. What could not be sorted in before may be by now.
    pub(super) fn new(connection: &mut Connection, shared: &Shared) -> Self {
        let mut upkeep = Self { arrived: 0, unindexed: 0, unpacked: true, durable: true, failed: false };
        if upkeep.count_aside(connection, shared) > 0 {
            upkeep.alone(connection, shared, |sql| retry(sql));
        }
        upkeep.recount(connection, shared);
        shared.found_left_behind(upkeep.arrived);
        upkeep
    }

    /// How long to wait for somebody to write.
    pub(super) fn patience(&self) -> Duration {
        match self {
            _ if self.failed => IDLE,
            _ if self.arrived > 0 || self.unindexed >= index::WAITING => PAUSE,
            _ if self.unpacked => IDLE,
            _ => LONG,
        }
    }

    /// Something was put among the arrivals.
    pub(super) fn arrives(&mut self) {
        self.arrived += 1;
        self.unpacked = true;
    }

    /// Looks how much there is to do, because it may have changed.
    pub(super) fn recount(&mut self, connection: &mut Connection, shared: &Shared) {
        self.unindexed = self.count_unindexed(connection, shared);
        let mut sql = Sql { shared, connection: sql::Connection::Sqlite(connection) };
        self.arrived = at_once(Box::pin(async move { arrival::count(&mut sql).await })).unwrap_or(0);
        self.unpacked = true;
    }

    fn count_aside(&self, connection: &mut Connection, shared: &Shared) -> usize {
        let mut sql = Sql { shared, connection: sql::Connection::Sqlite(connection) };
        at_once(Box::pin(async move { arrival::aside(&mut sql).await })).map_or(0, |aside| aside.len())
    }

    fn count_unindexed(&self, connection: &mut Connection, shared: &Shared) -> i64 {
        let mut sql = Sql { shared, connection: sql::Connection::Sqlite(connection) };
        let progress = at_once(Box::pin(async move { index::progress(&mut sql).await }));
        progress.map_or(0, |(indexed, last)| last - indexed)
    }

    /// Makes the next commit wait for the disk.
    pub(super) fn insist(&mut self, connection: &mut Connection) -> Result<()> {
        if !self.durable {
            perform(connection, "PRAGMA synchronous = FULL")?;
            self.durable = true;
        }
        Ok(())
    }

    /// Sorts in everything that arrived, within the transaction that is open.
    pub(super) fn settle(&mut self, connection: &mut Connection, shared: &Shared) -> Result<()> {
        settle_within(connection, shared)?;
        self.arrived = 0;
        Ok(())
    }

    /// Does one thing that can wait no longer than until nobody writes.
    pub(super) fn step(&mut self, connection: &mut Connection, shared: &Shared) {
        if self.arrived > 0 {
            let done = self.alone(connection, shared, |sql| settle(sql, STEP));
            self.arrived = if done < STEP { 0 } else { self.arrived.saturating_sub(done).max(1) };
            if self.arrived == 0 {
                self.recount(connection, shared);
            }
        } else if self.unindexed >= index::WAITING {
            self.alone(connection, shared, index::step);
            self.recount(connection, shared);
        } else if self.unpacked {
            let packed = self.alone(connection, shared, |sql| pack::step(sql, Rest::Wait));
            let indexed = self.alone(connection, shared, index::step);
            self.recount(connection, shared);
            self.unpacked = packed + indexed > 0;
            if !self.unpacked {
                // The log begins anew, and nobody who writes waits for that.
                let _ = super::statement::query(connection, "PRAGMA wal_checkpoint(PASSIVE)", &[]);
            }
        }
    }

    /// However busy the writers are, there is a bound to what a reader must wait for and a search look at itself.
    pub(super) fn keep_bounds(&mut self, connection: &mut Connection, shared: &Shared, wrote: usize) {
        if self.arrived > ARRIVALS {
            let mut left = wrote * 2;
            while left > 0 {
                let done = self.alone(connection, shared, |sql| settle(sql, STEP));
                self.arrived = self.arrived.saturating_sub(done);
                left = if done < STEP { 0 } else { left.saturating_sub(done) };
            }
            self.unindexed = self.count_unindexed(connection, shared);
        }
        // Appends do not outrun the index.
        if self.unindexed >= index::BACKLOG {
            self.alone(connection, shared, index::step);
            self.alone(connection, shared, index::step);
            self.recount(connection, shared);
        }
    }

    /// Leaves one file behind instead of three, with everything in its place; what fails here is done by whoever opens it
    /// next.
    pub(super) fn finish(mut self, connection: &mut Connection, shared: &Shared) {
        while self.alone(connection, shared, |sql| settle(sql, STEP)) > 0 {}
        let _ = connection.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE);");
    }

    // Work of the ledger's own, in a transaction that nobody waits for; how much was done. It can be done again from what
    // is durable, so that it need not wait for the disk.
    fn alone(&mut self, connection: &mut Connection, shared: &Shared, work: Work) -> usize {
        if self.durable && perform(connection, "PRAGMA synchronous = NORMAL").is_ok() {
            self.durable = false;
        }
        if perform(connection, "BEGIN IMMEDIATE").is_err() {
            return 0;
        }
        let sql = Sql { shared, connection: sql::Connection::Sqlite(connection) };
        let done = at_once(work(sql)).and_then(|done| commit(connection).map(|()| done));
        if !connection.is_autocommit() {
            let _ = perform(connection, "ROLLBACK");
        }
        self.failed = done.is_err();
        done.unwrap_or_else(|error| {
            tracing::warn!(%error, "the ledger could not be kept up");
            0
        })
    }
}

/// Sorts in everything that arrived, in a transaction of its own.
pub(super) fn settle_all(connection: &mut Connection, shared: &Shared) -> Result<()> {
    perform(connection, "BEGIN IMMEDIATE")?;
    settle_within(connection, shared)?;
    commit(connection)
}

/// Sorts in everything that arrived, within the transaction that is open.
pub(super) fn settle_within(connection: &mut Connection, shared: &Shared) -> Result<()> {
    while guarded(connection, shared, |sql| settle(sql, STEP))? > 0 {}
    Ok(())
}

fn settle(mut sql: Sql<'_>, most: usize) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + '_>> {
    Box::pin(async move { arrival::settle(&mut sql, most).await })
}

fn retry(mut sql: Sql<'_>) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + '_>> {
    Box::pin(async move { arrival::retry(&mut sql).await })
}
