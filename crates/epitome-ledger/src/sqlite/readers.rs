//! The threads that read from a SQLite file, each on a connection of its own and beside the writer.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::at_once;
use super::statement::failure;
use crate::error::{LedgerError, Result};
use crate::shared::Shared;
use crate::sql::{self, Sql, Work};

type Job = Box<dyn FnOnce(&mut Connection, &Shared) + Send>;

pub(crate) struct Readers {
    jobs: Sender<Job>,
}

impl Readers {
    pub(crate) fn start(
        path: &Path,
        count: usize,
        open: fn(&Path) -> Result<Connection>,
        shared: &Arc<Shared>,
    ) -> Result<(Self, Vec<JoinHandle<()>>)> {
        let (jobs, waiting) = channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |number: usize| {
            let connection = open(path)?;
            let (waiting, shared) = (Arc::clone(&waiting), Arc::clone(shared));
            let thread = thread::Builder::new().name(format!("epitome-ledger-reader-{number}"));
            let handle = thread.spawn(move || run(connection, &shared, &waiting));
            handle.map_err(|error| LedgerError::Unavailable(format!("no thread: {error}")))
        };
        let handles = (0..count.max(1)).map(start).collect::<Result<_>>()?;
        Ok((Self { jobs }, handles))
    }

    /// Runs work on one state of the database, whatever is written meanwhile.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection, shared| {
            let _ = sender.send(snapshot(connection, shared, work));
        });
        self.jobs.send(job).map_err(|_| LedgerError::Closed)?;
        receiver.await.unwrap_or(Err(LedgerError::Closed))
    }
}

fn snapshot<T>(connection: &mut Connection, shared: &Shared, work: impl Work<T>) -> Result<T> {
    connection.execute_batch("BEGIN").map_err(failure)?;
    let result = at_once(work(Sql { shared, connection: sql::Connection::Sqlite(connection) }));
    connection.execute_batch("ROLLBACK").map_err(failure)?;
    result
}

fn run(mut connection: Connection, shared: &Shared, waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job(&mut connection, shared);
    }
}
