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
use super::identity::{Identities, Tenants, credential, secret_of};
use super::secrets::Secrets;
use super::spool::{Entry, Spool};

/// So long the beginning waits for the ledger.
pub(super) const SEARCH: Duration = Duration::from_secs(5);
/// So long work on the ledger goes on before it is asked whether it is there, and so long it may take to say so.
const QUIET: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(3);

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
    pub(super) spool: Spool,
    pub(super) secrets: Secrets,
}

/// The ledger, if it is there.
pub(super) struct Store {
    plan: Plan,
    ready: OnceCell<Ready>,
    /// It failed, and did not answer afterwards.
    down: Down,
    /// It did not say a word while somebody waited for it.
    hung: Down,
}

/// A ledger that is there.
pub(super) struct Ready {
    pub(super) ledger: Ledger,
    pub(super) engines: Engines,
    identities: Identities,
    /// What told tenants while the ledger was out of reach.
    others: Vec<Identities>,
}

/// Whose a call is.
pub(super) struct Whose {
    pub(super) tenant: TenantId,
    /// The name of the key that told it, where the ledger was out of reach.
    pub(super) by: Option<String>,
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
        within(most, self.ready.get_or_try_init(|| self.open())).await
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.initialized()
    }

    async fn open(&self) -> epitome::Result<Ready> {
        let Plan { source, configured, window, view_cache, counts, tenants, spool, secrets } = &self.plan;
        let ledger = match source {
            Source::Open(ledger) => ledger.clone(),
            Source::At(address) => Ledger::open(address, Options::default()).await?,
        };
        let secret = secret_of(&ledger, || secrets.for_ledger()).await?;
        let others = match tenants {
            Tenants::Key => secrets.settle(&secret, spool.holds_anything()),
            Tenants::One => Vec::new(),
        };
        let identities = Identities::by(&secret);
        let engines =
            Engines::new(ledger.clone(), configured.clone(), *window, *view_cache, Arc::clone(counts))
                .await?;
        Ok(Ready { ledger, engines, identities, others })
    }

    /// Waits for work that may take long for its own reasons, as long as the ledger answers.
    pub(super) async fn while_it_answers<T>(
        &self,
        work: impl Future<Output = epitome::Result<T>>,
    ) -> epitome::Result<T> {
        self.hung.check()?;
        let silence = async {
            loop {
                tokio::time::sleep(QUIET).await;
                if self.is_ready() && !self.answers().await {
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

    /// Waits for what only the ledger knows. Where that fails because the ledger does not answer, it is left alone for a while; one
    /// thing that it is too slow for, or refuses, is nobody else's business.
    pub(super) async fn asked<T>(
        &self,
        work: impl Future<Output = epitome::Result<T>>,
    ) -> epitome::Result<T> {
        self.down.check()?;
        let done = work.await;
        if done.as_ref().is_err_and(epitome::Error::is_passing) && !self.answers().await {
            self.down.mark();
        }
        done
    }

    /// Whether the ledger is there just now.
    pub(super) async fn answers(&self) -> bool {
        let Some(ready) = self.ready.get() else { return false };
        let asked = ready.ledger.memo(TenantId::LOCAL, "proxy", "are you there");
        matches!(tokio::time::timeout(ANSWER, asked).await, Ok(Ok(_)))
    }

    /// Engines like those of the ledger on another one, which ask no model.
    pub(super) async fn beside(&self, ledger: Ledger) -> epitome::Result<Engines> {
        let mut configured = self.plan.configured.clone();
        configured.values.summary.summarizer.0.clear();
        Engines::new(ledger, configured, self.plan.window, self.plan.view_cache / 4, Arc::default()).await
    }

    /// Whose a call is; the ledger's owner's where it brings no credential.
    pub(super) fn whose(&self, headers: &HeaderMap) -> epitome::Result<Whose> {
        let known = |tenant| Whose { tenant, by: None };
        let credential = credential(headers).filter(|_| self.plan.tenants == Tenants::Key);
        let Some(credential) = credential else { return Ok(known(TenantId::LOCAL)) };
        let secrets = &self.plan.secrets;
        if let Some(ready) = self.ready.get() {
            let tenant = ready.identities.tenant(credential);
            secrets.claim(credential, tenant, &ready.others);
            return Ok(known(tenant));
        }
        let standing = secrets.standing().map_err(|error| epitome::Error::Interrupted(error.to_string()))?;
        Ok(Whose { tenant: standing.tenant(credential), by: Some(standing.name.clone()) })
    }

    /// Whose a turn is that had to wait; nothing as long as that cannot be told.
    pub(super) fn owner(&self, entry: &Entry) -> Option<TenantId> {
        self.plan.secrets.owner(entry, &self.ready.get()?.others)
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

/// Waits for work on the ledger, so long at most.
pub(super) async fn within<T>(
    most: Duration,
    work: impl Future<Output = epitome::Result<T>>,
) -> epitome::Result<T> {
    let late = || epitome::Error::Interrupted("the ledger took too long".to_owned());
    tokio::time::timeout(most, work).await.unwrap_or_else(|_| Err(late()))
}
