//! The keeper that the proxy is for: it finds the session of each call, records what is said in it, and has sent what the engine
//! makes of it.
//!
//! ```text
//! call ─ request ─┬─ thread: the call before shared its bytes ─ say ─┬─ rewrite ─ up
//!                 ├─ follow: its provider holds what was said ───────┤
//!                 └─ arrive: found by what was said, or opened ──────┘
//! answer ─ watch ─ read ─ reply ─ thread        refused as too long ─ less ─ up again
//! ```

mod count;
mod counts;
mod cut;
mod down;
mod elsewhere;
mod engines;
mod follow;
mod generate;
mod identity;
mod late;
mod links;
mod mode;
mod place;
mod request;
mod rewrite;
mod secrets;
mod spool;
mod standby;
mod store;
mod succession;
mod thread;
mod threads;
mod under_way;
mod unplaced;
mod watch;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use epitome::{Configured, Tokens};
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use self::counts::Counts;
pub use self::identity::Tenants;
use self::links::Links;
pub use self::mode::{Mode, Modes, Rule as ModeRule};
use self::secrets::Secrets;
use self::spool::Spool;
use self::standby::Standby;
pub use self::store::Source;
use self::store::{Plan, SEARCH, Store, is_away};
use self::threads::Threads;
use self::under_way::UnderWay;
use crate::error::ServerError;
use crate::keeper::{Call, CallKind, Errand, Keeper};

/// So long the end waits for what is being recorded.
const CLOSING: Duration = Duration::from_secs(10);

/// How sessions are kept.
#[non_exhaustive]
pub struct Keeping {
    /// Where everything is recorded.
    pub ledger: Source,
    /// The settings and the models.
    pub configured: Configured,
    /// What may be done to which calls.
    pub modes: Modes,
    /// Whose calls are whose.
    pub tenants: Tenants,
    /// The window of every model, where it is another than the table says.
    pub window: Option<Tokens>,
    /// Bytes of requests that are kept to be compared with the next ones.
    pub request_cache: usize,
    /// Bytes of views that are kept at hand.
    pub view_cache: usize,
    /// Where turns wait that the ledger cannot take just now.
    pub spool: PathBuf,
}

impl Keeping {
    /// Keeps sessions in this ledger, by these settings; what the ledger cannot take waits in this folder.
    pub fn of(ledger: impl Into<Source>, configured: Configured, spool: impl Into<PathBuf>) -> Self {
        Self {
            ledger: ledger.into(),
            configured,
            modes: Modes::default(),
            tenants: Tenants::default(),
            window: None,
            request_cache: 40 << 20,
            view_cache: 40 << 20,
            spool: spool.into(),
        }
    }
}

/// Keeps the sessions of all clients.
#[derive(Clone)]
pub struct Sessions(Arc<Inner>);

struct Inner {
    store: Store,
    modes: Modes,
    threads: Threads,
    links: Arc<Links>,
    counts: Arc<Counts>,
    /// What is recorded after calls are over.
    tasks: TaskTracker,
    /// Calls that are being made.
    under_way: UnderWay,
    spool: Spool,
    standby: Standby,
    emptying: Mutex<Option<JoinHandle<()>>>,
}

impl Sessions {
    /// Begins to keep sessions. A ledger that is out of reach just now is tried again, and calls wait on disk for it; until then
    /// [`Sessions::is_reached`] says so.
    pub async fn new(keeping: Keeping) -> Result<Self, ServerError> {
        let Keeping { ledger: source, configured, modes, tenants, window, request_cache, view_cache, spool } =
            keeping;
        let counts = Arc::<Counts>::default();
        let (secrets, standby) = (Secrets::beside(&spool), Standby::below(&spool));
        let spool = Spool::at(spool);
        let store = Store::new(Plan {
            source,
            configured,
            window,
            view_cache,
            tenants,
            counts: Arc::clone(&counts),
            spool: spool.clone(),
            secrets,
        });
        match store.reach(SEARCH).await {
            Err(error) if is_away(&error) => {
                tracing::warn!(%error, "the ledger cannot be reached; calls wait on disk for it");
            }
            reached => drop(reached?),
        }
        let inner = Arc::new(Inner {
            store,
            modes,
            threads: Threads::new(request_cache),
            links: Links::new(),
            counts,
            tasks: TaskTracker::new(),
            under_way: UnderWay::default(),
            standby,
            spool,
            emptying: Mutex::new(None),
        });
        let task = tokio::spawn(Arc::clone(&inner).record_late());
        *inner.emptying.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        Ok(Self(inner))
    }

    /// Whether the ledger was reached.
    pub fn is_reached(&self) -> bool {
        self.0.store.is_ready()
    }

    /// Ends what goes on in the background and closes the ledger.
    pub async fn close(&self) {
        self.0.tasks.close();
        // What a ledger that hangs does not take waits on disk, or is sent again by its client.
        let _ = tokio::time::timeout(CLOSING, self.0.tasks.wait()).await;
        let emptying = self.0.emptying.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = emptying {
            task.abort();
            // It was told to end, and what it had not done waits.
            let _ = task.await;
        }
        if self.0.store.is_ready() {
            // Clients of replies that were cut off will not come back to us.
            let _ = tokio::time::timeout(CLOSING, self.0.record_waiting(Duration::ZERO)).await;
        }
        self.0.standby.clear().await;
        self.0.store.close().await;
    }
}

impl Keeper for Sessions {
    fn call(&self, call: Call) -> BoxFuture<'_, Errand> {
        Box::pin(async move {
            let mode = self.0.modes.of(&call);
            match (mode, call.kind) {
                (Mode::Off, _) => Errand::unchanged(),
                (_, CallKind::Count) => Arc::clone(&self.0).count(call, mode).await,
                (_, CallKind::Generate) => Arc::clone(&self.0).generate(call, mode).await,
            }
        })
    }

    fn metrics(&self) -> String {
        self.0.counts.render(self.0.spool.held())
    }
}

fn told(problem: &str) -> Errand {
    let mut errand = Errand::unchanged();
    set(&mut errand.back, "x-epitome-error", problem);
    errand
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    let plain: String = value.chars().filter(|character| (' '..='~').contains(character)).collect();
    if let Ok(value) = HeaderValue::from_str(&plain) {
        headers.insert(HeaderName::from_static(name), value);
    }
}
