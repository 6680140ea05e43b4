//! SQLite: one file, one thread that writes, a few that read.

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
    writer: Option<Arc<Writer>>,
    readers: Arc<Readers>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let shared = Arc::new(Shared::new(options.clock.clone()));
        let (writer, mut handles) = match options.access {
            Access::ReadWrite => {
                let connection = open::writer(path, options.max_bytes)?;
                let (writer, handle) = Writer::start(connection, Arc::clone(&shared), Log::of(path))?;
                (Some(Arc::new(writer)), vec![handle])
            }
            Access::ReadOnly => (None, Vec::new()),
        };
        let (readers, threads) = Readers::start(path, options.readers, &shared, writer.as_ref())?;
        handles.extend(threads);
        if writer.is_none() {
            tidy(path, &shared);
        }
        let threads = Threads { writer, readers: Arc::new(readers) };
        Ok(Self { shared, threads: Mutex::new(Some(threads)), handles: Mutex::new(handles) })
    }

    pub(crate) async fn write<T: Send + 'static>(&self, need: Need, work: impl Work<T>) -> Result<T> {
        let writer = self.threads()?.writer;
        let read_only = || LedgerError::ReadOnly("it was opened so".to_owned());
        writer.ok_or_else(read_only)?.run(need, work).await
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

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.close();
    }
}

// Whoever died while writing may have left something that is not in its place. It was acknowledged, and nobody can read
// the file before it is; so even a guest puts it there, if that is possible, as SQLite does with its own log.
fn tidy(path: &Path, shared: &Shared) {
    let tidied = open::guest(path).and_then(|guest| {
        let arrivals = query(&guest, "SELECT key FROM arrivals WHERE key > 0", &[])?.len();
        if arrivals == 0 {
            return Ok(());
        }
        shared.found_left_behind(arrivals);
        let mut connection = open::owner(path)?;
        upkeep::settle_all(&mut connection, shared)
    });
    if let Err(error) = tidied {
        tracing::warn!(%error, "what was written last could not be put in its place");
    }
}

/// The result of work that never waits: on SQLite, each statement is done when it returns.
fn at_once<T>(mut work: Pin<Box<dyn Future<Output = Result<T>> + Send + '_>>) -> Result<T> {
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(LedgerError::damaged("work on a file waited for something else")),
    }
}
