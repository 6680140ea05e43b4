//! The threads that read from a SQLite file, each on a connection of its own and beside the writer.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::statement::{perform, query};
use super::writer::{Need, Writer};
use super::{at_once, guest};
use crate::error::{LedgerError, Result};
use crate::shared::Shared;
use crate::sql::{self, Sql, Work};

/// How often a reader tries to find everything in its place. Only other processes can make it fail.
const ATTEMPTS: usize = 200;
/// How long a guest waits for whoever writes to put everything in its place, where it cannot do that itself.
const WAIT: Duration = Duration::from_millis(5);
/// After so many attempts it makes itself a copy.
const WAITS: usize = 40;

type Job = Box<dyn FnOnce(&mut Reader) + Send>;

pub(crate) struct Readers {
    jobs: Sender<Job>,
}

/// One that reads.
struct Reader {
    connection: Connection,
    path: PathBuf,
    shared: Arc<Shared>,
    /// A copy with everything in its place, of the state that has this number.
    copy: Option<(i64, Connection)>,
    /// Who puts things in their place; nobody where the file is only read.
    writer: Option<Arc<Writer>>,
}

/// Where something is read.
enum Ground {
    /// In the file.
    File,
    /// In the file, where what arrived is in its place until the transaction is taken back.
    ForNow(Connection),
    /// In the copy.
    Copy,
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
        let open = if writer.is_some() { super::open::reader } else { guest::guest };
        let start = |number: usize| {
            let (path, connection) = (path.to_owned(), open(path)?);
            let reader =
                Reader { connection, path, shared: Arc::clone(shared), copy: None, writer: writer.cloned() };
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
        let mut ground = self.begin(need)?;
        let connection = match &mut ground {
            Ground::File => &mut self.connection,
            Ground::ForNow(connection) => connection,
            Ground::Copy => self.copy.as_mut().map_or(&mut self.connection, |(_, copy)| copy),
        };
        let sql = Sql { shared: &self.shared, connection: sql::Connection::Sqlite(connection) };
        let result = at_once(work(sql));
        perform(connection, "ROLLBACK")?;
        result
    }

    fn begin(&mut self, need: Need) -> Result<Ground> {
        if need == Need::Sessions {
            perform(&self.connection, "BEGIN")?;
            return Ok(Ground::File);
        }
        for attempt in 0..ATTEMPTS {
            if self.begin_settled()? {
                return Ok(Ground::File);
            }
            let settled = match &self.writer {
                Some(writer) => match writer.at_rest(|| self.begin_settled()) {
                    Ok(true) => return Ok(Ground::File),
                    other => other.map(|_| ()),
                },
                None if self.copy.is_some() => Err(LedgerError::ReadOnly("there is a copy".to_owned())),
                None => guest::tidy(&self.path, &self.shared),
            };
            match settled {
                Ok(()) | Err(LedgerError::Busy(_)) => {}
                Err(LedgerError::Full(_)) => {
                    return guest::for_now(&self.path, &self.shared).map(Ground::ForNow);
                }
                Err(LedgerError::ReadOnly(_) | LedgerError::Unavailable(_))
                    if self.begin_copy(attempt)? =>
                {
                    return Ok(Ground::Copy);
                }
                Err(LedgerError::ReadOnly(_) | LedgerError::Unavailable(_)) => thread::sleep(WAIT),
                Err(error) => return Err(error),
            }
        }
        Err(LedgerError::Busy("what was written last is not in its place yet".to_owned()))
    }

    // Begins on a copy of the present state, which is made once nobody else seems to put things in their place.
    fn begin_copy(&mut self, attempt: usize) -> Result<bool> {
        let row = query(&self.connection, "PRAGMA data_version", &[])?.into_iter().next();
        let state = row.ok_or_else(|| LedgerError::damaged("the file has no state"))?.int()?;
        let is_fresh = self.copy.as_ref().is_some_and(|(of, _)| *of == state);
        if !is_fresh {
            self.copy = None;
            if attempt < WAITS {
                return Ok(false);
            }
            self.copy = Some((state, guest::copy(&self.connection, &self.shared)?));
        }
        let Some((_, copy)) = &self.copy else { return Ok(false) };
        perform(copy, "BEGIN").map(|()| true)
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
