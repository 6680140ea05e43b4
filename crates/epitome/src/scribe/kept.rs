//! Stretches that a model has summarised, kept with their session until the compaction is recorded: neither a failure nor a
//! restart costs them twice.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use epitome_core::ContentHash;
use epitome_ledger::model::SessionId;
use epitome_llm::summary::Kept;

use crate::engine::{Engine, Inner};

/// The scope of the memos that hold them, each under the id of its session, with which it is purged.
const SCOPE: &str = "stretches";
/// So many are kept of a session: more than a compaction has.
const MOST: usize = 64;

/// The finished stretches of one session.
pub(crate) struct Drawer {
    engine: Engine,
    session: SessionId,
    kept: Mutex<BTreeMap<String, String>>,
}

impl fmt::Debug for Drawer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Drawer").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Drawer {
    /// What is kept of a session.
    pub(crate) async fn open(engine: &Engine, session: SessionId) -> Self {
        let inner = &engine.0;
        let memo = inner.ledger.memo(inner.tenant, SCOPE, session.to_string()).await;
        let kept = match memo {
            Ok(memo) => memo.and_then(|memo| serde_json::from_str(&memo.value).ok()).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "stretches that were summarised before cannot be read; they are summarised again");
                BTreeMap::new()
            }
        };
        Self { engine: engine.clone(), session, kept: Mutex::new(kept) }
    }

    /// Empties it: what was kept has become part of a compaction.
    pub(crate) async fn empty(inner: &Inner, session: SessionId) {
        let memo = inner.ledger.memo(inner.tenant, SCOPE, session.to_string()).await;
        if memo.is_ok_and(|memo| memo.is_some_and(|memo| memo.value != "{}")) {
            write(inner, session, "{}".to_owned()).await;
        }
    }
}

async fn write(inner: &Inner, session: SessionId, value: String) {
    if let Err(error) = inner.ledger.put_memo(inner.tenant, SCOPE, session.to_string(), value).await {
        tracing::warn!(%error, "a stretch that was summarised is not kept");
    }
}

impl Kept for Drawer {
    fn get(&self, key: &ContentHash) -> Option<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key.to_string()).cloned()
    }

    fn put(&self, key: &ContentHash, summary: &str) {
        let value = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() >= MOST {
                kept.clear();
            }
            kept.insert(key.to_string(), summary.to_owned());
            serde_json::to_string(&*kept)
        };
        let Ok(value) = value else { return };
        let (engine, session) = (self.engine.clone(), self.session);
        self.engine.0.errands.run(async move { write(&engine.0, session, value).await });
    }
}
