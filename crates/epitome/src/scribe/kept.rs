//! Stretches that a model has summarised, kept with their session until the compaction is recorded: neither a failure nor a
//! restart costs them twice.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use epitome_core::ContentHash;
use epitome_ledger::model::SessionId;
use epitome_llm::summary::Kept;

use crate::engine::{Engine, Inner};

/// The scope of the memos that hold them, each under the id of its session, with which it is purged.
const SCOPE: &str = "stretches";
/// So many are kept of a session: more than a compaction has stretches, even where the model's window is small. Where there are
/// more all the same, the oldest ones go.
const MOST: usize = 1_024;

/// Finished stretches, each under what it depends on, the oldest one first.
type Finished = VecDeque<(String, String)>;
/// How it is written that there are none.
const NONE: &str = "[]";

/// The finished stretches of one session.
pub(crate) struct Drawer {
    engine: Engine,
    session: SessionId,
    kept: Mutex<Finished>,
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
                Finished::new()
            }
        };
        Self { engine: engine.clone(), session, kept: Mutex::new(kept) }
    }

    /// Empties it: what was kept has become part of a compaction.
    pub(crate) async fn empty(inner: &Inner, session: SessionId) {
        let memo = inner.ledger.memo(inner.tenant, SCOPE, session.to_string()).await;
        if memo.is_ok_and(|memo| memo.is_some_and(|memo| memo.value != NONE)) {
            write(inner, session, NONE.to_owned()).await;
        }
    }
}

async fn write(inner: &Inner, session: SessionId, value: String) {
    if let Err(error) = inner.ledger.put_memo(inner.tenant, SCOPE, session.to_string(), value).await {
        tracing::warn!(%error, "a stretch that was summarised is not kept");
    }
}

fn add(kept: &mut Finished, key: String, summary: String) {
    kept.retain(|(of, _)| *of != key);
    kept.push_back((key, summary));
    while kept.len() > MOST {
        kept.pop_front();
    }
}

impl Kept for Drawer {
    fn get(&self, key: &ContentHash) -> Option<String> {
        let (kept, key) = (self.kept.lock().unwrap_or_else(PoisonError::into_inner), key.to_string());
        kept.iter().find(|(of, _)| *of == key).map(|(_, summary)| summary.clone())
    }

    fn put(&self, key: &ContentHash, summary: &str) {
        let value = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            add(&mut kept, key.to_string(), summary.to_owned());
            serde_json::to_string(&*kept)
        };
        let Ok(value) = value else { return };
        let (engine, session) = (self.engine.clone(), self.session);
        self.engine.0.errands.run(async move { write(&engine.0, session, value).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stretch_makes_room_and_no_other_is_lost() {
        let mut kept = Finished::new();
        for number in 0..MOST + 2 {
            add(&mut kept, format!("key {number}"), format!("summary {number}"));
        }
        let has =
            |kept: &Finished, number: usize| kept.iter().any(|(key, _)| *key == format!("key {number}"));
        assert_eq!(kept.len(), MOST);
        assert!(!has(&kept, 0) && !has(&kept, 1) && has(&kept, 2) && has(&kept, MOST + 1));
        // What is told again is as new as what was told last.
        add(&mut kept, "key 2".to_owned(), "told again".to_owned());
        add(&mut kept, "key".to_owned(), "summary".to_owned());
        assert!(has(&kept, 2) && !has(&kept, 3));
        assert_eq!(kept.iter().filter(|(key, _)| key == "key 2").count(), 1);
    }
}
