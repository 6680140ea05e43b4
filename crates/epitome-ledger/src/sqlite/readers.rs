//! The threads that read from a SQLite file, each on a connection of its own and beside the writer.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::at_once;
use super::statement::{perform, query};
use super::writer::{Need, Writer};
use crate::error::{LedgerError, Result};
use crate::shared::Shared;
use crate::sql::{self, Sql, Work};

/// How often a reader tries to find everything in its place. Only other processes can make it fail.
const ATTEMPTS: usize = 200;
/// How long a guest waits for whoever writes to put everything in its place.
const WAIT: Duration = Duration::from_millis(5);

type Job = Box<dyn FnOnce(&mut Reader) + Send>;

pub(crate) struct Readers {
    jobs: Sender<Job>,
}

/// One that reads.
struct Reader {
    connection: Connection,
    shared: Arc<Shared>,
    /// Who puts things in their place; nobody where the file is only read.
    writer: Option<Arc<Writer>>,
}

impl Readers {
    pub(crate) fn start(
        path: &Path,
        count: usize,
        shared: &Arc<Shared>,
        writer: Option<&Arc<Writer>>,
    ) -> Result<(Self, Vec<JoinHandle<()>>)> {
        let (jobs, waiting) = channel::<Job>();
        let waiting = Arc::new(Mutex::new(waiting));
        let open = if writer.is_some() { super::open::reader } else { super::open::guest };
        let start = |number: usize| {
            let reader =
                Reader { connection: open(path)?, shared: Arc::clone(shared), writer: writer.cloned() };
            let waiting = Arc::clone(&waiting);
            let thread = thread::Builder::new().name(format!("epitome-ledger-reader-{number}"));
            let handle = thread.spawn(move || run(reader, &waiting));
            handle.map_err(|error| LedgerError::Unavailable(format!("no thread: {error}")))
        };
        let handles = (0..count.max(1)).map(start).collect::<Result<_>>()?;
        Ok((Self { jobs }, handles))
    }

    /// Runs work on one state of the database, whatever is written meanwhile.
    pub(crate) async fn run<T: Send + 'static>(&self, need: Need, work: impl Work<T>) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            let _ = sender.send(reader.snapshot(need, work));
        });
        self.jobs.send(job).map_err(|_| LedgerError::Closed)?;
        receiver.await.unwrap_or(Err(LedgerError::Closed))
    }
}

impl Readers {
    /// Empties the write-ahead log, so that nothing remains of what was written before.
    pub(crate) async fn empty_log(&self) -> Result<()> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            let _ = sender.send(reader.empty_log());
        });
        self.jobs.send(job).map_err(|_| LedgerError::Closed)?;
        receiver.await.unwrap_or(Err(LedgerError::Closed))
    }
}

impl Reader {
    fn empty_log(&self) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        let checkpoint = || query(&self.connection, "PRAGMA wal_checkpoint(TRUNCATE)", &[]);
        let busy = writer.at_rest(checkpoint)?.into_iter().next().map(|mut row| row.int()).transpose()?;
        match busy {
            Some(0) => Ok(()),
            _ => Err(LedgerError::Busy("somebody still reads what was written before".to_owned())),
        }
    }

    fn snapshot<T>(&mut self, need: Need, work: impl Work<T>) -> Result<T> {
        self.begin(need)?;
        let connection = sql::Connection::Sqlite(&mut self.connection);
        let result = at_once(work(Sql { shared: &self.shared, connection }));
        perform(&self.connection, "ROLLBACK")?;
        result
    }

    fn begin(&self, need: Need) -> Result<()> {
        if need == Need::Sessions {
            return perform(&self.connection, "BEGIN");
        }
        for _ in 0..ATTEMPTS {
            if self.begin_settled()? {
                return Ok(());
            }
            match &self.writer {
                Some(writer) if writer.at_rest(|| self.begin_settled())? => return Ok(()),
                Some(_) => {}
                None => thread::sleep(WAIT),
            }
        }
        Err(LedgerError::Busy("what was written last is not in its place yet".to_owned()))
    }

    // Begins on the state of this moment, if everything is in its place there.
    fn begin_settled(&self) -> Result<bool> {
        perform(&self.connection, "BEGIN")?;
        let arrived = query(&self.connection, "SELECT 1 FROM arrivals WHERE key > 0 LIMIT 1", &[]);
        if matches!(&arrived, Ok(rows) if rows.is_empty()) {
            return Ok(true);
        }
        perform(&self.connection, "ROLLBACK")?;
        arrived.map(|_| false)
    }
}

fn run(mut reader: Reader, waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job(&mut reader);
    }
}
