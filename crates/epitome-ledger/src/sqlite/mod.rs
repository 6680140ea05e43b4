//! SQLite: one file, one thread that writes, a few that read.

mod guest;
mod log;
mod open;
mod readers;
mod statement;
mod upkeep;
mod writer;

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use rusqlite::Connection;

use self::log::Log;
use self::readers::Readers;
use self::writer::Writer;
use crate::error::{LedgerError, Result};
use crate::options::{Access, Options};
use crate::shared::Shared;
use crate::sql::Work;
pub(crate) use statement::{complaints, execute, query};
pub(crate) use writer::Need;

/// A SQLite file that is open.
pub(crate) struct Sqlite {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Option<Threads>>,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Clone)]
struct Threads {
    /// Who writes, or why nobody does.
    writer: std::result::Result<Arc<Writer>, String>,
    readers: Arc<Readers>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let shared = Arc::new(Shared::new(options.clock.clone()));
        let (writer, mut handles) = match writable(path, options)? {
            Writable::Yes(connection) => {
                let (writer, handle) = Writer::start(connection, Arc::clone(&shared), Log::of(path))?;
                (Ok(Arc::new(writer)), vec![handle])
            }
            Writable::No(why) => (Err(why), Vec::new()),
        };
        let (readers, threads) = Readers::start(path, options.readers, &shared, writer.as_ref().ok())?;
        handles.extend(threads);
        let threads = Threads { writer, readers: Arc::new(readers) };
        Ok(Self { shared, threads: Mutex::new(Some(threads)), handles: Mutex::new(handles) })
    }

    pub(crate) async fn write<T: Send + 'static>(&self, need: Need, work: impl Work<T>) -> Result<T> {
        self.threads()?.writer.map_err(LedgerError::ReadOnly)?.run(need, work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, need: Need, work: impl Work<T>) -> Result<T> {
        self.threads()?.readers.run(need, work).await
    }

    /// Leaves nothing in the write-ahead log.
    pub(crate) async fn empty_log(&self) -> Result<()> {
        self.threads()?.readers.empty_log().await
    }

    /// Ends the threads once they have done what waits for them.
    pub(crate) fn close(&self) {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        let handles = std::mem::take(&mut *self.handles.lock().unwrap_or_else(PoisonError::into_inner));
        for handle in handles {
            let _ = handle.join();
        }
    }

    fn threads(&self) -> Result<Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(LedgerError::Closed)
    }
}

/// Whether a file is written to.
enum Writable {
    Yes(Connection),
    No(String),
}

// A file that cannot be written to can still be read.
fn writable(path: &Path, options: &Options) -> Result<Writable> {
    if options.access == Access::ReadOnly {
        return Ok(Writable::No("it was opened so".to_owned()));
    }
    match open::writer(path, options.max_bytes) {
        Ok(connection) => Ok(Writable::Yes(connection)),
        Err(error @ (LedgerError::ReadOnly(_) | LedgerError::Unavailable(_) | LedgerError::Full(_))) => {
            if guest::guest(path).is_err() {
                return Err(error);
            }
            tracing::warn!(%error, "the ledger is only read");
            Ok(Writable::No(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

/// The result of work that never waits: on SQLite, each statement is done when it returns.
fn at_once<T>(mut work: Pin<Box<dyn Future<Output = Result<T>> + Send + '_>>) -> Result<T> {
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(LedgerError::damaged("work on a file waited for something else")),
    }
}
