//! The engine: one ledger, one agent, and the rules by which its sessions are kept within their windows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use epitome_core::compact::Strategy;
use epitome_core::models::{Model, ModelTable};
use epitome_core::settings::Settings;
use epitome_core::tokens::Counter;
use epitome_core::{Time, Tokens};
use epitome_ledger::model::{NewSession, SessionFilter, SessionId, TenantId};
use epitome_ledger::{Clock, Ledger, LedgerError, Page, Paging};
use epitome_llm::knowledge::ModelExtractor;
use epitome_llm::{Clock as Waits, MachineClock};
use epitome_wire::Dialect;

use crate::billing::Billing;
use crate::builder::Builder;
use crate::errands::Errands;
use crate::error::Result;
use crate::hooks::Hooks;
use crate::knowledge::{Extractor, Offline};
use crate::scribe::Scribe;
use crate::session::{Session, Slot, Warmth};
use crate::summarizer::Summarizers;
use crate::windows::Learnt;

/// Opens sessions. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Inner>);

/// What all sessions of an engine share.
pub(crate) struct Inner {
    pub(crate) ledger: Ledger,
    pub(crate) tenant: TenantId,
    pub(crate) agent: String,
    pub(crate) dialect: Dialect,
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    /// By which names models are known.
    pub(crate) models: ModelTable,
    /// Whether anything is known of the model beyond safe guesses.
    pub(crate) model_is_known: bool,
    pub(crate) counter: Counter,
    pub(crate) billing: Billing,
    /// What was learnt of the model's window.
    pub(crate) window: Learnt,
    /// Whether somebody said how large it is.
    pub(crate) window_is_given: bool,
    /// Who serves the model, where several do.
    pub(crate) upstream: Option<String>,
    pub(crate) strategy: Option<Arc<dyn Strategy + Send + Sync>>,
    pub(crate) summarizers: Summarizers,
    /// The models that write summaries, where there are any.
    pub(crate) scribe: Option<Scribe>,
    /// The model that finds out what is worth knowing, where the settings want that.
    pub(crate) learner: Option<ModelExtractor>,
    /// Where waits for them are taken from.
    pub(crate) waits: Arc<dyn Waits>,
    pub(crate) hooks: Hooks,
    /// Who finds out what is worth knowing; nobody where nothing is to be learnt.
    pub(crate) extractor: Option<Arc<dyn Extractor>>,
    pub(crate) clock: Clock,
    /// Under which name this engine takes leases.
    pub(crate) holder: String,
    pub(crate) lease: Duration,
    /// How long a summariser of the user's own may take.
    pub(crate) summary_timeout: Duration,
    pub(crate) warmth: Arc<Warmth>,
    pub(crate) errands: Errands,
    slots: Mutex<HashMap<SessionId, Weak<Slot>>>,
}

/// What a new session is called, and where it takes place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The name under which the agent's own world knows it; one session an agent has it.
    pub key: Option<String>,
    /// What people call it.
    pub label: Option<String>,
    /// Where it takes place.
    pub platform: Option<String>,
    /// Where on the platform.
    pub channel: Option<String>,
}

impl Opening {
    /// A session that the agent knows under this name.
    pub fn key(key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..Self::default() }
    }

    /// A session on a channel of a platform.
    pub fn channel(platform: impl Into<String>, channel: impl Into<String>) -> Self {
        Self { platform: Some(platform.into()), channel: Some(channel.into()), ..Self::default() }
    }
}

impl Engine {
    /// How an engine is made.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The session that the agent knows under this name, as it was left; a new one if there is none.
    pub async fn session(&self, key: impl Into<String>) -> Result<Session> {
        self.open(Opening::key(key)).await
    }

    /// The session that the agent knows under the key of this opening; a new one if there is none, or no key.
    pub async fn open(&self, opening: Opening) -> Result<Session> {
        let inner = &self.0;
        if let Some(session) = self.known(&opening).await? {
            return Ok(session);
        }
        let key = opening.key.clone();
        let created = inner.ledger.create_session(inner.tenant, self.new_session(opening)).await;
        match (created, key) {
            (Ok(session), _) => Ok(self.handle(session.id)),
            // Somebody else opened it at the same moment.
            (Err(LedgerError::Exists { .. }), Some(key)) => {
                let found =
                    inner.ledger.find_session(inner.tenant, inner.agent.as_str(), key.as_str()).await?;
                let missing = LedgerError::NotFound { what: "session", id: key };
                Ok(self.handle(found.ok_or(missing)?.id))
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    // The session that has the key of an opening already.
    pub(crate) async fn known(&self, opening: &Opening) -> Result<Option<Session>> {
        let inner = &self.0;
        let Some(key) = opening.key.as_deref() else { return Ok(None) };
        let found = inner.ledger.find_session(inner.tenant, inner.agent.as_str(), key).await?;
        Ok(found.map(|found| self.handle(found.id)))
    }

    /// A session by its id, as it was left.
    pub async fn resume(&self, id: SessionId) -> Result<Session> {
        let session = self.0.ledger.session(self.0.tenant, id).await?;
        Ok(self.handle(session.id))
    }

    /// The sessions of the tenant, the latest opened first.
    pub async fn sessions(
        &self,
        filter: SessionFilter,
        paging: Paging,
    ) -> Result<Page<epitome_ledger::model::Session>> {
        Ok(self.0.ledger.sessions(self.0.tenant, filter, paging).await?)
    }

    /// Ends what goes on in the background, keeps what was learnt of models and closes the ledger. Every clone of the engine is
    /// closed, too, and so is every other engine on the same ledger.
    pub async fn close(&self) {
        self.rest().await;
        self.0.ledger.close().await;
    }

    /// Ends what goes on in the background and keeps what was learnt of models. The ledger stays open for others.
    pub async fn rest(&self) {
        let slots: Vec<Arc<Slot>> = {
            let slots = self.0.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.values().filter_map(Weak::upgrade).collect()
        };
        for slot in slots {
            let cancelled = slot.preparation.lock().unwrap_or_else(PoisonError::into_inner).cancel();
            for task in cancelled {
                // It was told to end, and whether it did so before its end makes no difference.
                let _ = task.await;
            }
        }
        self.0.errands.finish().await;
        self.0.billing.finish(&self.0).await;
    }

    /// How long models were waited for that write summaries, all sessions together; what is waited for at the same time counts once.
    pub fn time_of_models(&self) -> Duration {
        self.0.scribe.as_ref().map_or(Duration::ZERO, |scribe| scribe.watch.waited())
    }

    /// Waits until what nobody waits for is done, such as keeping what was learnt and spent. Closing does the same.
    pub async fn settled(&self) {
        self.0.errands.finish().await;
    }

    /// The ledger that everything is recorded in.
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// The tenant whose sessions these are.
    pub fn tenant(&self) -> TenantId {
        self.0.tenant
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn new_session(&self, opening: Opening) -> NewSession {
        let Opening { key, label, platform, channel } = opening;
        NewSession {
            label,
            platform,
            channel,
            external: key,
            token_limit: Some(self.0.model.window),
            ..NewSession::of(self.0.agent.as_str())
        }
    }

    /// The handle of a session. All handles of a session share its locks and what is known of it.
    pub(crate) fn handle(&self, id: SessionId) -> Session {
        let mut slots = self.0.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.get(&id).and_then(Weak::upgrade).unwrap_or_else(|| {
            // Slots that nobody holds any longer go before the list would have to grow.
            if slots.len() == slots.capacity() {
                slots.retain(|_, slot| slot.strong_count() > 0);
            }
            let slot = Arc::new(Slot::new(id));
            slots.insert(id, Arc::downgrade(&slot));
            slot
        });
        Session::new(self.clone(), slot)
    }
}

impl Inner {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { ledger, tenant, agent, dialect, settings, model, model_is_known } = parts;
        Self {
            counter: model.counter(),
            models: ModelTable::default(),
            billing: Billing::default(),
            window: Learnt::default(),
            window_is_given: false,
            upstream: None,
            strategy: None,
            summarizers: Summarizers::default(),
            scribe: None,
            learner: None,
            waits: Arc::new(MachineClock::default()),
            hooks: Hooks::default(),
            extractor: Some(Arc::new(Offline)),
            clock: Clock::system(),
            holder: uuid::Uuid::now_v7().to_string(),
            lease: Duration::from_secs(60),
            summary_timeout: Duration::from_secs(120),
            warmth: Arc::default(),
            errands: Errands::default(),
            slots: Mutex::default(),
            ledger,
            tenant,
            agent,
            dialect,
            settings,
            model,
            model_is_known,
        }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The model's window, as far as it is known.
    pub(crate) fn window(&self) -> Tokens {
        self.window.limit().map_or(self.model.window, |shown| shown.min(self.model.window))
    }

    /// Whether it is known what the model costs.
    pub(crate) fn is_priced(&self) -> bool {
        self.model_is_known && self.model.price.input > 0.0
    }

    /// The model's tokens for so many of ours.
    pub(crate) fn billed(&self, tokens: Tokens) -> Tokens {
        Tokens((tokens.0 as f64 * self.billing.ratio(&self.model.id)).round() as u64)
    }
}

/// What an engine cannot be without.
pub(crate) struct Parts {
    pub(crate) ledger: Ledger,
    pub(crate) tenant: TenantId,
    pub(crate) agent: String,
    pub(crate) dialect: Dialect,
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    pub(crate) model_is_known: bool,
}
