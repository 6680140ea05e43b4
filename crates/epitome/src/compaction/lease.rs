//! The lease of a session while it is compacted, so that two processes do not write the same summary twice.

use std::time::Duration;

use epitome_ledger::LedgerError;
use epitome_ledger::model::Lease;

use crate::engine::Engine;
use crate::error::Result;
use crate::session::Session;

/// How often somebody who waits for a lease looks again.
const LOOK: Duration = Duration::from_millis(50);

/// What to do while somebody else holds the lease.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Wait until it is free.
    Wait,
    /// Leave it to them.
    Yield,
}

/// A lease that is kept up while it is held. Dropped, as when its holder is interrupted, it is given back in the background.
pub(crate) struct Held {
    engine: Engine,
    lease: Lease,
    renewal: tokio::task::AbortHandle,
    is_back: bool,
}

impl Held {
    /// What to write with.
    pub(crate) fn fence(&self) -> u64 {
        self.lease.fence
    }

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
        // Should the runtime end first, the lease ends by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { release(&engine, lease).await });
        }
    }
}

async fn release(engine: &Engine, lease: Lease) {
    if let Err(error) = engine.0.ledger.release_lease(engine.0.tenant, lease).await {
        tracing::debug!(%error, "a lease was not given back; it ends by itself");
    }
}

impl Session {
    /// Takes the lease of the session; none where somebody else has it and nobody wants to wait.
    pub(crate) async fn lease(&self, patience: Patience) -> Result<Option<Held>> {
        let inner = self.inner();
        loop {
            let taken =
                inner.ledger.acquire_lease(inner.tenant, self.id(), inner.holder.as_str(), inner.lease).await;
            match taken {
                Ok(lease) => return Ok(Some(self.held(lease))),
                Err(LedgerError::Leased { .. }) if patience == Patience::Yield => return Ok(None),
                Err(LedgerError::Leased { .. }) => tokio::time::sleep(LOOK).await,
                Err(error) => return Err(error.into()),
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
                    if let Err(error) =
                        engine.0.ledger.renew_lease(engine.0.tenant, current.clone(), lasts).await
                    {
                        tracing::warn!(%error, "a lease could not be renewed");
                    }
                }
            }
        });
        Held { engine, lease, renewal: renewal.abort_handle(), is_back: false }
    }
}
