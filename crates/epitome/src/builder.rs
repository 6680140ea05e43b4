//! How an engine is made: sensible defaults, and one method for each thing that can be otherwise.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use epitome_core::Tokens;
use epitome_core::compact::{Strategy, Summarizer};
use epitome_core::models::{ModelTable, Warning};
use epitome_core::settings::Settings;
use epitome_core::summaries::Writers;
use epitome_ledger::model::TenantId;
use epitome_ledger::{Clock, Ledger, Options};
use epitome_llm::{Clock as Waits, MachineClock};
use epitome_wire::Dialect;

use crate::engine::{Engine, Inner, Parts};
use crate::error::Result;
use crate::hooks::Hook;
use crate::knowledge::{Extractor, Offline};
use crate::layers::Configured;
use crate::scribe::{Keys, Scribe};
use crate::session::Warmth;
use crate::summarizer::Summarizers;
use crate::windows;

/// An engine in the making. What is not said has a default: a SQLite file `epitome.db` here, the settings of the
/// documentation, a window of 200,000 tokens, Anthropic's dialect, offline summaries.
#[must_use = "call build() to get the engine"]
pub struct Builder {
    store: Store,
    clock: Clock,
    tenant: TenantId,
    agent: String,
    dialect: Dialect,
    settings: Settings,
    models: ModelTable,
    model: String,
    window: Option<Tokens>,
    upstream: Option<String>,
    strategy: Option<Arc<dyn Strategy + Send + Sync>>,
    summarizers: Summarizers,
    keys: Keys,
    waits: Arc<dyn Waits>,
    hooks: Vec<(String, Arc<dyn Hook>)>,
    patience: Duration,
    extractor: Option<Arc<dyn Extractor>>,
    lease: Duration,
    summary_timeout: Duration,
    view_cache: ViewCache,
}

/// Where views are kept at hand.
enum ViewCache {
    /// In so many bytes of the engine's own.
    Own(usize),
    /// Among those of another engine.
    Of(Arc<Warmth>),
}

/// Where everything is recorded.
enum Store {
    Address(String),
    Open(Ledger),
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            store: Store::Address("sqlite:epitome.db".to_owned()),
            clock: Clock::system(),
            tenant: TenantId::LOCAL,
            agent: "agent".to_owned(),
            dialect: Dialect::Anthropic,
            settings: Settings::default(),
            models: ModelTable::default(),
            model: String::new(),
            window: None,
            upstream: None,
            strategy: None,
            summarizers: Summarizers::default(),
            keys: Keys::default(),
            waits: Arc::new(MachineClock::default()),
            hooks: Vec::new(),
            patience: Duration::from_secs(5),
            extractor: Some(Arc::new(Offline)),
            lease: Duration::from_secs(60),
            summary_timeout: Duration::from_secs(120),
            view_cache: ViewCache::Own(256 << 20),
        }
    }
}

impl Builder {
    /// The database: `sqlite:PATH` or `postgres://…`.
    pub fn db(mut self, address: impl Into<String>) -> Self {
        self.store = Store::Address(address.into());
        self
    }

    /// The database: a SQLite file.
    pub fn file(self, path: impl Into<PathBuf>) -> Self {
        self.db(format!("sqlite:{}", path.into().display()))
    }

    /// The database: a ledger that is open already.
    pub fn ledger(mut self, ledger: Ledger) -> Self {
        self.store = Store::Open(ledger);
        self
    }

    /// Whose sessions these are; tenants never see each other. Facts and preferences are learnt for all sessions of an agent, so that
    /// an agent that serves many people needs a tenant for each of them.
    pub fn tenant(mut self, tenant: TenantId) -> Self {
        self.tenant = tenant;
        self
    }

    /// The agent that holds the conversations.
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = agent.into();
        self
    }

    /// The dialect in which messages come and go.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// The model that is called: its window, its prices, its way of counting.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// What is known of models, where the built-in table is not enough.
    pub fn models(mut self, models: ModelTable) -> Self {
        self.models = models;
        self
    }

    /// The model's window, where it is another than the table says.
    pub fn window(mut self, window: Tokens) -> Self {
        self.window = Some(window);
        self
    }

    /// Who serves the model, where servers differ in how much of its window they offer: what is learnt of that is kept by this name.
    pub fn upstream(mut self, name: impl Into<String>) -> Self {
        self.upstream = Some(name.into());
        self
    }

    /// The settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The settings and the models of all layers.
    pub fn configured(self, configured: Configured) -> Self {
        self.settings(configured.values).models(configured.models).keys(configured.keys)
    }

    /// A strategy of your own, in place of the one that the settings name.
    pub fn strategy(mut self, strategy: impl Strategy + Send + Sync + 'static) -> Self {
        self.strategy = Some(Arc::new(strategy));
        self
    }

    /// A summariser of your own. Every compaction gets a clone of it, so that sessions do not wait for each other.
    pub fn summarizer(mut self, summarizer: impl Summarizer + Clone + Send + Sync + 'static) -> Self {
        self.summarizers = Summarizers::of(summarizer);
        self
    }

    /// A model that writes summaries, and others to be asked in its place, in their order: `anthropic:MODEL`, `openai:MODEL`,
    /// `responses:MODEL`, each with `@URL` behind it for a server of your own.
    pub fn summaries_by<'m>(mut self, models: impl IntoIterator<Item = &'m str>) -> Self {
        self.settings.summary.summarizer = Writers(models.into_iter().map(str::to_owned).collect());
        self
    }

    /// Keys for these models, where the environment holds none.
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Where waits for models are taken from.
    pub fn waits(mut self, waits: Arc<dyn Waits>) -> Self {
        self.waits = waits;
        self
    }

    /// Somebody who is told before and after every compaction. Hooks are asked in the order in which they were added.
    pub fn hook(mut self, name: impl Into<String>, hook: impl Hook) -> Self {
        self.hooks.push((name.into(), Arc::new(hook)));
        self
    }

    /// Somebody else than [`Offline`] who finds out what is worth knowing in messages that are compacted.
    pub fn extractor(mut self, extractor: impl Extractor) -> Self {
        self.extractor = Some(Arc::new(extractor));
        self
    }

    /// Learns nothing from what is compacted.
    pub fn learning_nothing(mut self) -> Self {
        self.extractor = None;
        self
    }

    /// How long a hook may take before the work goes on without it.
    pub fn hook_timeout(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long other processes wait for a compaction whose process died.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long a summariser of your own may take before the offline one takes over: 120 seconds where nothing is said.
    pub fn summary_timeout(mut self, patience: Duration) -> Self {
        self.summary_timeout = patience;
        self
    }

    /// How many bytes of views are kept at hand; beyond that, sessions that rest longest are read again when needed.
    pub fn view_cache(mut self, bytes: usize) -> Self {
        self.view_cache = ViewCache::Own(bytes);
        self
    }

    /// Keeps views at hand among those of another engine: together they take what that one was given.
    pub fn sharing_views_of(mut self, other: &Engine) -> Self {
        self.view_cache = ViewCache::Of(Arc::clone(&other.0.warmth));
        self
    }

    /// Where the time is taken from.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the ledger and makes the engine.
    pub async fn build(self) -> Result<Engine> {
        self.settings.validate()?;
        let scribe = match self.summarizers.are_own() {
            true => None,
            false => Scribe::timed(&self.settings, &self.models, &self.keys, Arc::clone(&self.waits))?,
        };
        if let Some(warning) = scribe.as_ref().and_then(Scribe::warning) {
            tracing::warn!("{warning}");
        }
        let ledger = match self.store {
            Store::Open(ledger) => ledger,
            Store::Address(address) => {
                let options = Options { clock: self.clock.clone(), ..Options::default() };
                Ledger::open(&address, options).await?
            }
        };
        let found = self.models.get(&self.model);
        let model_is_known =
            !self.model.is_empty() && !matches!(found.warning, Some(Warning::Unknown { .. }));
        let mut model = found.model;
        model.window = self.window.unwrap_or(model.window);
        let Self { tenant, agent, dialect, mut settings, .. } = self;
        let (reserve, usual) =
            (&mut settings.compact.reserve_tokens, Settings::default().compact.reserve_tokens);
        // In a small window nothing is kept free that the model could not say at once, unless it was asked for.
        if model_is_known && *reserve <= usual && reserve.0 > model.window.0 / 4 {
            *reserve = model.max_output.min(*reserve);
        }
        let parts = Parts { ledger, tenant, agent, dialect, settings, model, model_is_known };
        let mut inner = Inner::new(parts);
        inner.models = self.models;
        inner.strategy = self.strategy;
        inner.summarizers = self.summarizers;
        inner.learner = scribe.as_ref().filter(|_| self.extractor.is_some()).and_then(Scribe::extractor);
        inner.scribe = scribe;
        inner.waits = self.waits;
        inner.hooks.add(self.hooks, self.patience);
        inner.extractor = self.extractor;
        inner.clock = self.clock;
        inner.lease = self.lease;
        inner.summary_timeout = self.summary_timeout;
        match self.view_cache {
            ViewCache::Own(bytes) => inner.warmth.limit(bytes),
            ViewCache::Of(warmth) => inner.warmth = warmth,
        }
        inner.upstream = self.upstream;
        inner.window_is_given = self.window.is_some();
        inner.billing.load(&inner).await;
        inner.window.load(&inner).await;
        let engine = Engine::new(inner);
        windows::keep_those_of_writers(&engine).await;
        Ok(engine)
    }
}
