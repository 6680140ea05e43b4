//! What models are asked for a session is paid for, whatever becomes of it: recorded with the compaction that it was for, else
//! with the next one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use epitome_core::events;
use epitome_ledger::model::SessionId;
use epitome_llm::summary::{Purse, Spent, Tally};
use serde_json::Value;

use super::report::{read_spent, spent_json};
use crate::engine::{Engine, Inner};
use crate::session::Session;

/// The scope of the memos that hold what was spent and is not recorded yet, each under the id of its session.
const SCOPE: &str = "unused";
/// So many entries are kept apart.
const MOST: usize = 32;

/// What is asked for one compaction. Where it is dropped before the compaction is recorded, what was spent is kept for the next.
pub(crate) struct Tab {
    engine: Engine,
    session: SessionId,
    span: tracing::Span,
    tally: Tally,
    is_settled: AtomicBool,
}

impl Tab {
    /// One whose caps are held against what is drawn on this purse.
    pub(crate) fn open(session: &Session, purse: &Purse) -> Self {
        Self {
            engine: session.engine.clone(),
            session: session.id(),
            span: session.span(),
            tally: Tally::of(purse),
            is_settled: AtomicBool::new(false),
        }
    }

    /// Where what is spent is written down.
    pub(crate) fn tally(&self) -> Tally {
        self.tally.clone()
    }

    /// What was spent so far; nothing where nobody was asked.
    pub(crate) fn spent(&self) -> Option<Spent> {
        Some(self.tally.spent()).filter(|spent| spent.calls > 0)
    }

    /// It is recorded elsewhere.
    pub(crate) fn settle(&self) {
        self.is_settled.store(true, Ordering::Relaxed);
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let Some(spent) = self.spent().filter(|_| !self.is_settled.load(Ordering::Relaxed)) else { return };
        let _entered = self.span.enter();
        tracing::info!(
            target: events::COMPACT,
            calls = spent.calls,
            unanswered = spent.unanswered,
            input = spent.usage.total_input().0,
            output = spent.usage.output.0,
            micro_dollars = spent.money.map(|money| money.as_micros()),
            "Compaction: what a model was asked came to nothing"
        );
        let (engine, session) = (self.engine.clone(), self.session);
        self.engine.0.errands.run(async move {
            let entry = uuid::Uuid::now_v7().to_string();
            change(&engine.0, session, |unused| drop(unused.insert(entry, spent_json(&spent)))).await;
        });
    }
}

/// What was spent for a session on what came to nothing, and is not recorded yet.
#[derive(Default)]
pub(crate) struct Unused(BTreeMap<String, Value>);

impl Unused {
    /// What is known of a session.
    pub(crate) async fn of(inner: &Inner, session: SessionId) -> Self {
        // What was given up a moment ago is still on its way.
        if inner.scribe.is_some() {
            inner.errands.finish().await;
        }
        Self(read(inner, session).await.unwrap_or_default())
    }

    /// What it comes to; nothing where there is nothing.
    pub(crate) fn spent(&self) -> Option<Spent> {
        self.0.values().map(read_spent).reduce(|sum, spent| sum + spent)
    }

    /// Takes it off the list, as it is recorded.
    pub(crate) fn settle(self, engine: &Engine, session: SessionId) {
        if self.0.is_empty() {
            return;
        }
        let owned = engine.clone();
        engine.0.errands.run(async move {
            change(&owned.0, session, |unused| unused.retain(|entry, _| !self.0.contains_key(entry))).await;
        });
    }
}

async fn read(inner: &Inner, session: SessionId) -> Option<BTreeMap<String, Value>> {
    match inner.ledger.memo(inner.tenant, SCOPE, session.to_string()).await {
        Ok(memo) => Some(memo.and_then(|memo| serde_json::from_str(&memo.value).ok()).unwrap_or_default()),
        Err(error) => {
            tracing::warn!(%error, "what was spent and came to nothing cannot be read");
            None
        }
    }
}

// Errands are run one after the other, so that nothing comes between.
async fn change(inner: &Inner, session: SessionId, work: impl FnOnce(&mut BTreeMap<String, Value>)) {
    let Some(mut unused) = read(inner, session).await else { return };
    work(&mut unused);
    if unused.len() > MOST {
        let sum = unused.values().map(read_spent).reduce(|sum, spent| sum + spent);
        let entry = unused.pop_last().map(|(entry, _)| entry);
        unused = entry.zip(sum).map(|(entry, sum)| (entry, spent_json(&sum))).into_iter().collect();
    }
    let Ok(value) = serde_json::to_string(&unused) else { return };
    if let Err(error) = inner.ledger.put_memo(inner.tenant, SCOPE, session.to_string(), value).await {
        tracing::warn!(%error, "what was spent and came to nothing is not kept");
    }
}
