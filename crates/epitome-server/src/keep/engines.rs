//! Engines: one for each tenant, dialect, model and mode, on one ledger and one cache of views.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use epitome::core::compact::StrategyName;
use epitome::ledger::Ledger;
use epitome::{Configured, Dialect, Engine, TenantId, Tokens};

use super::counts::{Counting, Counts};
use super::mode::Mode;
use super::request::Request;

/// So many engines are kept; those that rest longest are made anew when they are needed.
const MOST: usize = 1_024;

/// What tells engines apart.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    tenant: TenantId,
    dialect: Dialect,
    model: String,
    agent: String,
    mode: Mode,
}

/// All engines.
pub(super) struct Engines {
    first: Engine,
    ledger: Ledger,
    configured: Configured,
    window: Option<Tokens>,
    counts: Arc<Counts>,
    known: Mutex<HashMap<Name, (u64, Engine)>>,
}

impl Engines {
    pub(super) async fn new(
        ledger: Ledger,
        configured: Configured,
        window: Option<Tokens>,
        view_cache: usize,
        counts: Arc<Counts>,
    ) -> epitome::Result<Self> {
        let first = Engine::builder().ledger(ledger.clone()).configured(configured.clone());
        let first = first.view_cache(view_cache).build().await?;
        Ok(Self { first, ledger, configured, window, counts, known: Mutex::default() })
    }

    /// The engine of a call.
    pub(super) async fn of(&self, request: &Request<'_>, mode: Mode) -> epitome::Result<Engine> {
        self.named(request.tenant, request.dialect, &request.model, &request.agent, mode).await
    }

    /// The engine of this name.
    pub(super) async fn named(
        &self,
        tenant: TenantId,
        dialect: Dialect,
        model: &str,
        agent: &str,
        mode: Mode,
    ) -> epitome::Result<Engine> {
        let name = Name { tenant, dialect, model: model.to_owned(), agent: agent.to_owned(), mode };
        if let Some(engine) = self.known(&name) {
            return Ok(engine);
        }
        let mut configured = self.configured.clone();
        match mode {
            Mode::Compact => {}
            Mode::Prune => configured.values.compact.strategy = StrategyName::Prune,
            Mode::Observe | Mode::Off => {
                configured.values.compact.compaction_enabled = false;
                configured.values.prune.tool_pruning_enabled = false;
                configured.values.prune.tool_result_max_chars = None;
                configured.values.max_conversation_messages = usize::MAX;
            }
        }
        let mut builder = Engine::builder()
            .ledger(self.ledger.clone())
            .configured(configured)
            .sharing_views_of(&self.first)
            .hook("counting", Counting(Arc::clone(&self.counts)))
            .tenant(name.tenant)
            .agent(name.agent.as_str())
            .dialect(name.dialect)
            .model(name.model.as_str());
        if let Some(window) = self.window {
            builder = builder.window(window);
        }
        let engine = builder.build().await?;
        Ok(self.remember(name, engine))
    }

    fn known(&self, name: &Name) -> Option<Engine> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let next = known.values().map(|(used, _)| used + 1).max().unwrap_or(0);
        let (used, engine) = known.get_mut(name)?;
        *used = next;
        Some(engine.clone())
    }

    fn remember(&self, name: Name, engine: Engine) -> Engine {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST
            && let Some(oldest) =
                known.iter().min_by_key(|(_, (used, _))| *used).map(|(name, _)| name.clone())
        {
            known.remove(&oldest);
        }
        let next = known.values().map(|(used, _)| used + 1).max().unwrap_or(0);
        known.entry(name).or_insert((next, engine)).1.clone()
    }

    /// Ends what goes on in the background, and closes the ledger.
    pub(super) async fn close(&self) {
        let known: Vec<Engine> = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.drain().map(|(_, (_, engine))| engine).collect()
        };
        for engine in known {
            engine.rest().await;
        }
        self.first.close().await;
    }
}
