//! The one thread that writes to a SQLite file.
//!
//! It takes all work that waits for it into one transaction, so that writers who come together share one fsync, and
//! answers each only when that transaction is on the disk. Each piece of work is a savepoint: one that fails takes
//! nothing of the others with it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::at_once;
use super::statement::failure;
use crate::error::{LedgerError, Result};
use crate::shared::Shared;
use crate::sql::{self, Sql, Work};
use crate::store::index;
use crate::store::pack::{self, Rest};

/// How much work may wait; more is told to come back later.
const WAITING: usize = 4096;
/// How much work shares one transaction at most.
const TOGETHER: usize = 256;
/// How long nobody must have written before what was written is indexed.
const PAUSE: Duration = Duration::from_millis(5);
/// How long nobody must have written before bodies are packed.
const IDLE: Duration = Duration::from_secs(2);

/// A piece of work: it runs inside the transaction, or is told that there is none; what it returns is called when that
/// has ended.
type Job = Box<dyn FnOnce(Result<&mut Connection>, &Shared) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<()>) + Send>;

/// Work of the ledger's own.
type Upkeep = for<'c> fn(Sql<'c>) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + 'c>>;

pub(crate) struct Writer {
    jobs: SyncSender<Job>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, shared: Arc<Shared>) -> Result<(Self, JoinHandle<()>)> {
        let (jobs, waiting) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("epitome-ledger-writer".to_owned());
        let handle = thread.spawn(move || run(connection, &shared, &waiting));
        let handle = handle.map_err(|error| LedgerError::Unavailable(format!("no thread: {error}")))?;
        Ok((Self { jobs }, handle))
    }

    /// Runs work in a transaction and answers when it is durable.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection, shared| {
            let result = connection.and_then(|connection| guarded(connection, shared, work));
            Box::new(move |committed| {
                // Whoever asked may be gone; what was committed stays.
                let _ = sender.send(result.and_then(|value| committed.map(|()| value)));
            })
        });
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => LedgerError::Busy(format!("{WAITING} writes are waiting")),
            TrySendError::Disconnected(_) => LedgerError::Closed,
        })?;
        receiver.await.unwrap_or(Err(LedgerError::Closed))
    }
}

fn guarded<T>(connection: &mut Connection, shared: &Shared, work: impl Work<T>) -> Result<T> {
    if connection.is_autocommit() {
        return Err(ended());
    }
    connection.execute_batch("SAVEPOINT work").map_err(failure)?;
    let result = at_once(work(Sql { shared, connection: sql::Connection::Sqlite(connection) }));
    // A full disk ends the whole transaction, and the savepoint with it.
    if !connection.is_autocommit() {
        let end = if result.is_ok() { "RELEASE work" } else { "ROLLBACK TO work; RELEASE work" };
        connection.execute_batch(end).map_err(failure)?;
    }
    result
}

fn run(mut connection: Connection, shared: &Shared, waiting: &Receiver<Job>) {
    // After a while without work the ledger keeps itself up; a database that was left in disorder is done at once.
    let mut upkeep = true;
    loop {
        let unindexed = unindexed(&mut connection, shared);
        let patience = if unindexed >= index::WAITING { PAUSE } else { IDLE };
        let job = match waiting.recv_timeout(patience) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) if unindexed >= index::WAITING => {
                alone(&mut connection, shared, index::step);
                continue;
            }
            Err(RecvTimeoutError::Timeout) if upkeep => {
                upkeep = alone(&mut connection, shared, |sql| pack::step(sql, Rest::Wait)) > 0;
                upkeep |= alone(&mut connection, shared, index::step) > 0;
                continue;
            }
            Err(RecvTimeoutError::Timeout) => match waiting.recv() {
                Ok(job) => job,
                Err(_) => break,
            },
            Err(RecvTimeoutError::Disconnected) => break,
        };
        upkeep = true;
        let jobs = std::iter::once(job).chain(waiting.try_iter().take(TOGETHER - 1));
        together(&mut connection, shared, jobs);
        bound_unindexed(&mut connection, shared);
    }
    // Leaves one file behind instead of three; what fails here is done by whoever opens it next.
    let _ = connection.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE);");
}

fn unindexed(connection: &mut Connection, shared: &Shared) -> i64 {
    let mut sql = Sql { shared, connection: sql::Connection::Sqlite(connection) };
    let progress = at_once(Box::pin(async move { index::progress(&mut sql).await }));
    progress.map_or(0, |(indexed, last)| last - indexed)
}

// However busy the writers are, there is a bound to what a search must look at itself.
fn bound_unindexed(connection: &mut Connection, shared: &Shared) {
    if unindexed(connection, shared) < index::BACKLOG {
        return;
    }
    // The index can be made again from what it is of, so that it need not wait for the disk; the next write does.
    let _ = connection.execute_batch("PRAGMA synchronous = NORMAL");
    while unindexed(connection, shared) >= index::WAITING && alone(connection, shared, index::step) > 0 {}
    let _ = connection.execute_batch("PRAGMA synchronous = FULL");
}

fn together(connection: &mut Connection, shared: &Shared, jobs: impl Iterator<Item = Job>) {
    let begun = connection.execute_batch("BEGIN IMMEDIATE").map_err(failure);
    let run = |job: Job| job(begun.clone().map(|()| &mut *connection), shared);
    let answers: Vec<Answer> = jobs.map(run).collect();
    let committed = begun.and_then(|()| commit(connection));
    for answer in answers {
        answer(committed.clone());
    }
}

fn commit(connection: &mut Connection) -> Result<()> {
    if connection.is_autocommit() {
        return Err(ended());
    }
    connection.execute_batch("COMMIT").map_err(failure).inspect_err(|_| {
        let _ = connection.execute_batch("ROLLBACK");
    })
}

// A full disk and a few other faults make SQLite end the whole transaction by itself.
fn ended() -> LedgerError {
    LedgerError::Full("the database ended the transaction that this was part of".to_owned())
}

// Work of the ledger's own, in a transaction that nobody waits for; how much was done.
fn alone(connection: &mut Connection, shared: &Shared, work: Upkeep) -> usize {
    if connection.execute_batch("BEGIN IMMEDIATE").is_err() {
        return 0;
    }
    let sql = Sql { shared, connection: sql::Connection::Sqlite(connection) };
    let done = at_once(work(sql)).and_then(|done| commit(connection).map(|()| done));
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    done.unwrap_or_else(|error| {
        tracing::warn!(%error, "the ledger could not be kept up");
        0
    })
}
