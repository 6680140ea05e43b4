//! The lease of a session while it is compacted, so that two processes do not write the same summary twice.

use std::pin::Pin;
use std::time::Duration;

use epitome_ledger::LedgerError;
use epitome_ledger::model::Lease;

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::session::Session;

/// How often somebody who waits for a lease looks again.
const LOOK: Duration = Duration::from_millis(50);

/// How often somebody begins again whose lease somebody else took over.
const TRIES: usize = 8;

/// What is done under a lease, with what it is to write with.
type Leased<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A lease that is kept up while it is held. Dropped, as when its holder is interrupted, it is given back in the background.
pub(crate) struct Held {
    engine: Engine,
    lease: Lease,
    renewal: tokio::task::AbortHandle,
    is_back: bool,
}

impl Held {
    /// Gives it back, so that whoever comes next need not wait, also where the process ends right after.
    pub(crate) async fn give_back(mut self) {
        self.renewal.abort();
        release(&self.engine, self.lease.clone()).await;
        self.is_back = true;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_back {
            return;
        }
        self.renewal.abort();
        let (engine, lease) = (self.engine.clone(), self.lease.clone());
        // Should the runtime end before the engine is closed, the lease ends by itself.
        self.engine.0.errands.run(async move { release(&engine, lease).await });
    }
}

async fn release(engine: &Engine, lease: Lease) {
    if let Err(error) = engine.0.ledger.release_lease(engine.0.tenant, lease).await {
        tracing::debug!(%error, "a lease was not given back; it ends by itself");
    }
}

impl Session {
    /// Does something while nobody else may. Who was so slow that somebody else took the lease over begins again.
    pub(crate) async fn leased<'a, T>(&self, work: impl Fn(u64) -> Leased<'a, T>) -> Result<T> {
        for _ in 0..TRIES {
            let lease = self.lease().await?;
            let done = work(lease.lease.fence).await;
            lease.give_back().await;
            if !matches!(done, Err(Error::Ledger(LedgerError::Fenced { .. }))) {
                return done;
            }
        }
        Err(Error::Contended)
    }

    /// Takes the lease of the session; none where somebody else has it.
    pub(crate) async fn lease_if_free(&self) -> Result<Option<Held>> {
        let inner = self.inner();
        let taken =
            inner.ledger.acquire_lease(inner.tenant, self.id(), inner.holder.as_str(), inner.lease).await;
        match taken {
            Ok(lease) => Ok(Some(self.held(lease))),
            Err(LedgerError::Leased { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    // Waits until it is free.
    async fn lease(&self) -> Result<Held> {
        loop {
            match self.lease_if_free().await? {
                Some(lease) => return Ok(lease),
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    fn held(&self, lease: Lease) -> Held {
        let engine = self.engine.clone();
        let (current, lasts) = (lease.clone(), engine.0.lease);
        let renewal = tokio::spawn({
            let engine = engine.clone();
            async move {
                loop {
                    tokio::time::sleep(lasts / 3).await;
                    match engine.0.ledger.renew_lease(engine.0.tenant, current.clone(), lasts).await {
                        // Somebody took it over; whoever writes with it finds out.
                        Err(LedgerError::Fenced { .. }) => return,
                        Err(error) => tracing::warn!(%error, "a lease could not be renewed"),
                        Ok(_) => {}
                    }
                }
            }
        });
        Held { engine, lease, renewal: renewal.abort_handle(), is_back: false }
    }
}
