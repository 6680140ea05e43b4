//! SQLite: one file, one thread that writes, a few that read.

mod open;
mod readers;
mod statement;
mod writer;

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use self::readers::Readers;
use self::writer::Writer;
use crate::error::{LedgerError, Result};
use crate::options::{Access, Options};
use crate::shared::Shared;
use crate::sql::Work;
pub(crate) use statement::{execute, query};

/// A SQLite file that is open.
pub(crate) struct Sqlite {
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
                let (writer, handle) =
                    Writer::start(open::writer(path, options.max_bytes)?, Arc::clone(&shared))?;
                (Some(Arc::new(writer)), vec![handle])
            }
            Access::ReadOnly => (None, Vec::new()),
        };
        let open = if writer.is_some() { open::reader } else { open::guest };
        let (readers, threads) = Readers::start(path, options.readers, open, &shared)?;
        handles.extend(threads);
        let threads = Threads { writer, readers: Arc::new(readers) };
        Ok(Self { threads: Mutex::new(Some(threads)), handles: Mutex::new(handles) })
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let writer = self.threads()?.writer;
        let read_only = || LedgerError::ReadOnly("it was opened so".to_owned());
        writer.ok_or_else(read_only)?.run(work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        self.threads()?.readers.run(work).await
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

/// The result of work that never waits: on SQLite, each statement is done when it returns.
fn at_once<T>(mut work: Pin<Box<dyn Future<Output = Result<T>> + Send + '_>>) -> Result<T> {
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(LedgerError::damaged("work on a file waited for something else")),
    }
}
