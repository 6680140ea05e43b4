//! PostgreSQL: any number of processes, each with a few connections.
//!
//! Nothing depends on a connection staying the same between transactions, so that poolers work: no session-level
//! locks, no settings of a session. Durability is the server's; a server that would acknowledge before it is durable is told
//! otherwise when a connection is made.

mod batch;
mod landing;
mod lane;
mod open;
mod ready;
mod statement;
mod tls;
mod trust;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio_postgres::Config;

use self::lane::{Begin, Stand};
use self::ready::Naming;
use self::tls::{Address, Tls};
use crate::error::{LedgerError, Result};
use crate::options::{Access, Options};
use crate::shared::Shared;
use crate::sql::{Connection, Sql, Work};
pub(crate) use lane::Lane;

/// A PostgreSQL database, and the connections to it that nobody uses at the moment.
pub(crate) struct Postgres {
    config: Config,
    tls: Tls,
    naming: Naming,
    access: Access,
    idle: Mutex<Vec<Lane>>,
    slots: Semaphore,
    pub(crate) shared: Arc<Shared>,
    /// Entries since the index was last kept up, and the task that does it.
    written: AtomicUsize,
    indexing: Mutex<Option<JoinHandle<()>>>,
}

/// After so many entries the index is kept up: what waits for it is looked at by every search.
const ENTRIES: usize = 64;
/// So many entries do not wait for a pause in writing.
const MANY: usize = 4096;
/// How long nothing must have been written.
const PAUSE: Duration = Duration::from_millis(10);

impl Postgres {
    pub(crate) async fn open(url: &str, options: &Options) -> Result<Self> {
        let address = Address::parse(url);
        let config: Config = address.url.parse().map_err(|_| LedgerError::BadAddress(without_secret(url)))?;
        let pool = Self {
            config,
            tls: address.tls()?,
            naming: address.naming,
            access: options.access,
            idle: Mutex::default(),
            slots: Semaphore::new(options.connections.max(1)),
            shared: Arc::new(Shared::new(options.clock.clone())),
            written: AtomicUsize::new(0),
            indexing: Mutex::default(),
        };
        let mut lane = pool.connect().await?;
        lane.stand = Stand::Due(Begin::Writing);
        open::migrate(&mut lane, options.access).await?;
        lane.commit().await?;
        pool.put_back(lane);
        Ok(pool)
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        if self.access == Access::ReadOnly {
            return Err(LedgerError::ReadOnly("it was opened so".to_owned()));
        }
        let (mut lane, _slot) = self.lane().await?;
        // If the caller goes away in the midst of it, the lane is dropped, and the server rolls back.
        lane.stand = Stand::Due(Begin::Writing);
        let result = work(Sql { shared: &self.shared, connection: Connection::Postgres(&mut lane) }).await;
        match result {
            Ok(value) => {
                lane.commit().await?;
                self.put_back(lane);
                Ok(value)
            }
            Err(error) => {
                if lane.roll_back().await.is_ok() {
                    self.put_back(lane);
                }
                Err(error)
            }
        }
    }

    /// Reads by one statement.
    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let (mut lane, _slot) = self.lane().await?;
        let result = work(Sql { shared: &self.shared, connection: Connection::Postgres(&mut lane) }).await;
        self.put_back(lane);
        result
    }

    /// Reads by several statements, which all see the same state.
    pub(crate) async fn snapshot<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T> {
        let (mut lane, _slot) = self.lane().await?;
        lane.stand = Stand::Due(Begin::Snapshot);
        let result = work(Sql { shared: &self.shared, connection: Connection::Postgres(&mut lane) }).await;
        if lane.roll_back().await.is_ok() {
            self.put_back(lane);
        }
        result
    }

    /// Starts `work` beside everything else where it is time for it and none is under way.
    pub(crate) fn index_if_due(&self, entries: usize, work: impl Future<Output = ()> + Send + 'static) {
        if self.written.fetch_add(entries, Ordering::Relaxed) + entries < ENTRIES {
            return;
        }
        let mut indexing = self.indexing.lock().unwrap_or_else(PoisonError::into_inner);
        if indexing.as_ref().is_none_or(JoinHandle::is_finished) && !self.slots.is_closed() {
            *indexing = Some(tokio::spawn(work));
        }
    }

    /// Waits until nobody writes, or too much was written.
    pub(crate) async fn pause(&self) {
        let mut seen = 0;
        loop {
            let written = self.written.load(Ordering::Relaxed);
            if written == seen || written > MANY {
                self.written.store(0, Ordering::Relaxed);
                return;
            }
            seen = written;
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub(crate) fn close(&self) {
        if let Some(task) = self.indexing.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        self.slots.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    async fn lane(&self) -> Result<(Lane, SemaphorePermit<'_>)> {
        let slot = self.slots.acquire().await.map_err(|_| LedgerError::Closed)?;
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(lane) if lane.is_closed() => continue,
                Some(lane) => return Ok((lane, slot)),
                None => return Ok((self.connect().await?, slot)),
            }
        }
    }

    async fn connect(&self) -> Result<Lane> {
        let (client, connection) = self.config.connect(self.tls.clone()).await.map_err(statement::failure)?;
        // It ends when the client is dropped.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to postgresql ended");
            }
        });
        // Whoever set the database to answer before a commit is durable did not mean the ledger's.
        let durable = "SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') = 'off'";
        client.batch_execute(durable).await.map_err(statement::failure)?;
        Ok(Lane::new(client, self.naming))
    }

    fn put_back(&self, lane: Lane) {
        if !lane.is_closed() && !self.slots.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
        }
    }
}

// A URL may hold a password, which must not get into an error.
fn without_secret(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://…@{rest}"),
        _ => url.to_owned(),
    }
}
