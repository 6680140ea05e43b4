//! The one thread that writes to a SQLite file.
//!
//! It takes all work that waits for it into one transaction, so that writers who come together share one fsync, and
//! answers each only when that transaction is on the disk. Each piece of work is a savepoint: one that fails takes
//! nothing of the others with it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::at_once;
use super::log::Log;
use super::statement::perform;
use super::upkeep::Upkeep;
use crate::error::{LedgerError, Result};
use crate::shared::Shared;
use crate::sql::{self, Sql, Work};

/// How much work may wait; more is told to come back later.
const WAITING: usize = 4096;
/// How much work shares one transaction at most.
const TOGETHER: usize = 256;
/// How long a reader may take to begin once all is in its place.
const BEGINS: Duration = Duration::from_millis(200);

/// After so long without a pause, others who want to write to the file are let in: they look once a millisecond.
const BUSY: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(2);

/// What a piece of work finds in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing but its session's row. It undoes by itself what it cannot finish.
    Nothing,
    /// The rows of sessions; what else has arrived may lie where it is.
    Sessions,
    /// Everything in its place.
    Order,
    /// Everything in its place, also when the transaction has ended.
    Rest,
}

/// A piece of work: it runs inside the transaction, or is told that there is none; what it returns is called when that
/// has ended.
pub(super) struct Job {
    need: Need,
    run: Run,
}
type Run = Box<dyn FnOnce(Result<&mut Connection>, &Shared) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<()>) + Send>;

pub(crate) struct Writer {
    jobs: SyncSender<Job>,
}

impl Writer {
    pub(crate) fn start(
        mut connection: Connection,
        shared: Arc<Shared>,
        log: Log,
    ) -> Result<(Self, JoinHandle<()>)> {
        let (jobs, waiting) = sync_channel(WAITING);
        // Before anybody can read: what was set aside is seen by nobody.
        let upkeep = Upkeep::new(&mut connection, &shared);
        let thread = thread::Builder::new().name("epitome-ledger-writer".to_owned());
        let handle = thread.spawn(move || run(connection, &shared, &waiting, log, upkeep));
        let handle = handle.map_err(|error| LedgerError::Unavailable(format!("no thread: {error}")))?;
        Ok((Self { jobs }, handle))
    }

    /// Runs work in a transaction and answers when it is durable.
    pub(crate) async fn run<T: Send + 'static>(&self, need: Need, work: impl Work<T>) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let run = Box::new(move |connection: Result<&mut Connection>, shared: &Shared| -> Answer {
            let result = connection.and_then(|connection| match need {
                Need::Nothing => unguarded(connection, shared, work),
                Need::Sessions | Need::Order | Need::Rest => guarded(connection, shared, work),
            });
            Box::new(move |committed| {
                // Whoever asked may be gone; what was committed stays.
                let _ = sender.send(result.and_then(|value| committed.map(|()| value)));
            })
        });
        self.jobs.try_send(Job { need, run }).map_err(|refused| match refused {
            TrySendError::Full(_) => LedgerError::Busy(format!("{WAITING} writes are waiting")),
            TrySendError::Disconnected(_) => LedgerError::Closed,
        })?;
        receiver.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Calls `begin` at a moment when everything is in its place and nobody writes.
    pub(crate) fn at_rest<T>(&self, begin: impl FnOnce() -> Result<T>) -> Result<T> {
        let (ready, settled) = sync_channel(1);
        let (begun, go_on) = sync_channel::<()>(1);
        let run = Box::new(move |connection: Result<&mut Connection>, _: &Shared| -> Answer {
            let found = connection.map(|_| ());
            Box::new(move |committed| {
                if ready.send(found.and(committed)).is_ok() {
                    let _ = go_on.recv_timeout(BEGINS);
                }
            })
        });
        self.jobs.send(Job { need: Need::Rest, run }).map_err(|_| LedgerError::Closed)?;
        settled.recv().map_err(|_| LedgerError::Closed)??;
        let result = begin();
        let _ = begun.send(());
        result
    }
}

fn unguarded<T>(connection: &mut Connection, shared: &Shared, work: impl Work<T>) -> Result<T> {
    if connection.is_autocommit() {
        return Err(ended());
    }
    at_once(work(Sql { shared, connection: sql::Connection::Sqlite(connection) }))
}

pub(super) fn guarded<T>(connection: &mut Connection, shared: &Shared, work: impl Work<T>) -> Result<T> {
    if connection.is_autocommit() {
        return Err(ended());
    }
    perform(connection, "SAVEPOINT work")?;
    let result = unguarded(connection, shared, work);
    // A full disk ends the whole transaction, and the savepoint with it.
    if !connection.is_autocommit() {
        if result.is_err() {
            perform(connection, "ROLLBACK TO work")?;
        }
        perform(connection, "RELEASE work")?;
    }
    result
}

fn run(
    mut connection: Connection,
    shared: &Shared,
    waiting: &Receiver<Job>,
    mut log: Log,
    mut upkeep: Upkeep,
) {
    let mut paused = Instant::now();
    loop {
        let job = match waiting.recv_timeout(upkeep.patience()) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => {
                upkeep.step(&mut connection, shared);
                paused = Instant::now();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let jobs: Vec<Job> = std::iter::once(job).chain(waiting.try_iter().take(TOGETHER - 1)).collect();
        let wrote = jobs.len();
        together(&mut connection, shared, jobs, &mut upkeep, &mut log);
        upkeep.keep_bounds(&mut connection, shared, wrote);
        if paused.elapsed() > BUSY {
            thread::sleep(PAUSE);
            paused = Instant::now();
        }
    }
    upkeep.finish(&mut connection, shared);
}

fn together(
    connection: &mut Connection,
    shared: &Shared,
    jobs: Vec<Job>,
    upkeep: &mut Upkeep,
    log: &mut Log,
) {
    let begun = upkeep.insist(connection).and_then(|()| perform(connection, "BEGIN IMMEDIATE"));
    let rest = jobs.iter().any(|job| job.need == Need::Rest);
    let quick = jobs.iter().all(|job| matches!(job.need, Need::Nothing | Need::Sessions));
    if begun.is_ok() {
        log.make_room_for(jobs.iter().filter(|job| job.need == Need::Nothing).count());
    }
    let mut answers: Vec<Answer> = Vec::with_capacity(jobs.len());
    for job in jobs {
        let ready = begun.clone().and_then(|()| match job.need {
            Need::Nothing => {
                upkeep.arrives();
                Ok(())
            }
            Need::Sessions => Ok(()),
            Need::Order | Need::Rest => upkeep.settle(connection, shared),
        });
        answers.push((job.run)(ready.map(|()| &mut *connection), shared));
    }
    let settled = begun.and_then(|()| if rest { upkeep.settle(connection, shared) } else { Ok(()) });
    let committed = match settled {
        Ok(()) => commit(connection),
        Err(error) => {
            let _ = perform(connection, "ROLLBACK");
            Err(error)
        }
    };
    if !quick || committed.is_err() {
        upkeep.recount(connection, shared);
    }
    for answer in answers {
        answer(committed.clone());
    }
}

pub(super) fn commit(connection: &mut Connection) -> Result<()> {
    if connection.is_autocommit() {
        return Err(ended());
    }
    perform(connection, "COMMIT").inspect_err(|_| {
        let _ = perform(connection, "ROLLBACK");
    })
}

// A full disk and a few other faults make SQLite end the whole transaction by itself.
fn ended() -> LedgerError {
    LedgerError::Full("the database ended the transaction that this was part of".to_owned())
}
