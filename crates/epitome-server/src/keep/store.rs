//! The ledger and what works on it: opened when it can be, so that the proxy also begins without it.

use std::sync::Arc;
use std::time::Duration;

use epitome::ledger::{Ledger, LedgerError, Options};
use epitome::{Configured, TenantId, Tokens};
use http::HeaderMap;
use tokio::sync::OnceCell;

use super::counts::Counts;
use super::down::Down;
use super::engines::Engines;
use super::identity::{Identities, Tenants, credential};

/// So long the ledger may take to find a conversation, and the beginning waits for it.
pub(super) const SEARCH: Duration = Duration::from_secs(5);

/// Where everything is recorded.
#[derive(Clone)]
pub enum Source {
    /// In a ledger that is open.
    Open(Ledger),
    /// In the ledger of this address, as soon as it can be reached.
    At(String),
}

impl From<Ledger> for Source {
    fn from(ledger: Ledger) -> Self {
        Source::Open(ledger)
    }
}

/// What is needed to open it.
pub(super) struct Plan {
    pub(super) source: Source,
    pub(super) configured: Configured,
    pub(super) window: Option<Tokens>,
    pub(super) view_cache: usize,
    pub(super) tenants: Tenants,
    pub(super) counts: Arc<Counts>,
}

/// The ledger, if it is there.
pub(super) struct Store {
    plan: Plan,
    ready: OnceCell<Ready>,
    pub(super) down: Down,
    /// It was asked and did not say a word.
    hung: Down,
}

/// A ledger that is there.
pub(super) struct Ready {
    pub(super) ledger: Ledger,
    pub(super) engines: Engines,
    identities: Identities,
}

impl Store {
    pub(super) fn new(plan: Plan) -> Self {
        Self { plan, ready: OnceCell::new(), down: Down::default(), hung: Down::default() }
    }

    /// The ledger, if it was reached.
    pub(super) fn ready(&self) -> epitome::Result<&Ready> {
        let late = || epitome::Error::Interrupted("the ledger has not been reached yet".to_owned());
        self.ready.get().ok_or_else(late)
    }

    /// Opens the ledger, within so long; one that has to be brought up may take a while.
    pub(super) async fn reach(&self, most: Duration) -> epitome::Result<&Ready> {
        let late = || epitome::Error::Interrupted("the ledger took too long".to_owned());
        let opened = self.ready.get_or_try_init(|| self.open());
        tokio::time::timeout(most, opened).await.unwrap_or_else(|_| Err(late()))
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.initialized()
    }

    async fn open(&self) -> epitome::Result<Ready> {
        let Plan { source, configured, window, view_cache, counts, .. } = &self.plan;
        let ledger = match source {
            Source::Open(ledger) => ledger.clone(),
            Source::At(address) => Ledger::open(address, Options::default()).await?,
        };
        let identities = Identities::of(&ledger).await?;
        let engines =
            Engines::new(ledger.clone(), configured.clone(), *window, *view_cache, Arc::clone(counts))
                .await?;
        Ok(Ready { ledger, engines, identities })
    }

    /// Waits for work that may take long for its own reasons, as long as the ledger answers.
    pub(super) async fn while_it_answers<T>(
        &self,
        work: impl Future<Output = epitome::Result<T>>,
    ) -> epitome::Result<T> {
        let Some(ready) = self.ready.get() else { return work.await };
        self.hung.check()?;
        let silence = async {
            loop {
                tokio::time::sleep(SEARCH).await;
                let asked = ready.ledger.memo(TenantId::LOCAL, "proxy", "are you there");
                if !matches!(tokio::time::timeout(SEARCH, asked).await, Ok(Ok(_))) {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            done = work => done,
            () = silence => {
                self.hung.mark();
                Err(epitome::Error::Interrupted("the ledger does not answer".to_owned()))
            }
        }
    }

    /// Engines like those of the ledger on another one, which ask no model.
    pub(super) async fn beside(&self, ledger: Ledger) -> epitome::Result<Engines> {
        let mut configured = self.plan.configured.clone();
        configured.values.summary.summarizer.0.clear();
        Engines::new(ledger, configured, self.plan.window, self.plan.view_cache / 4, Arc::default()).await
    }

    /// Whose a call is; the ledger's owner's where it brings no credential.
    pub(super) fn tenant(&self, headers: &HeaderMap) -> epitome::Result<TenantId> {
        match (self.plan.tenants, credential(headers)) {
            (Tenants::One, _) | (_, None) => Ok(TenantId::LOCAL),
            (Tenants::Key, Some(credential)) => Ok(self.ready()?.identities.tenant(credential)),
        }
    }

    /// Ends what goes on in the background, and closes the ledger.
    pub(super) async fn close(&self) {
        if let Some(ready) = self.ready.get() {
            ready.engines.close().await;
        }
    }
}

/// Whether a ledger may only be out of reach for a while.
pub(super) fn is_away(error: &epitome::Error) -> bool {
    matches!(
        error,
        epitome::Error::Ledger(LedgerError::Unavailable(_) | LedgerError::Busy(_))
            | epitome::Error::Interrupted(_)
    )
}
