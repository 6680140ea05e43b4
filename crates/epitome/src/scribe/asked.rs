//! A model that is asked for the summaries of one compaction.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_llm::Prefix;
use epitome_llm::summary::{Cancel, ModelSummarizer, Written};
use thiserror::Error;
use tokio::sync::OwnedSemaphorePermit;

use super::kept::Drawer;
use super::tab::Tab;
use super::{DESKS, Live};
use crate::compaction::Picture;
use crate::session::Session;

/// A model that is asked for the summaries of one compaction. Clones share what is heard of them.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) summarizer: ModelSummarizer,
    heard: Arc<Mutex<Vec<Written>>>,
    cancel: Cancel,
    _desk: Arc<OwnedSemaphorePermit>,
}

/// A model is asked for so many sessions that it is asked for no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no model was asked, because {DESKS} sessions have one asked already")]
pub(crate) struct NoDesk;

impl Asked {
    /// The engine's model for a session, where it has one.
    pub(crate) async fn of(session: &Session, picture: &Picture, tab: &Tab) -> Result<Option<Self>, NoDesk> {
        let engine = &session.engine;
        let Some(scribe) = engine.0.scribe.as_ref() else { return Ok(None) };
        let desk = Arc::clone(&scribe.desks).try_acquire_owned().map_err(|_| NoDesk)?;
        let (heard, cancel) = (Arc::<Mutex<Vec<Written>>>::default(), Cancel::default());
        let listener = Arc::clone(&heard);
        let mut summarizer = scribe
            .summarizer()
            .tallied(tab.tally())
            .kept(Arc::new(Drawer::open(engine, session.id()).await))
            .cancelled_by(cancel.clone())
            .heard_by(move |written| {
                listener.lock().unwrap_or_else(PoisonError::into_inner).push(written.clone());
            });
        // Another model has nothing of it in its cache, and is told no more than a summary needs.
        let is_asked = |live: &Live| live.dialect == engine.0.dialect && live.model == engine.0.model.id;
        if scribe.behind.as_ref().is_some_and(is_asked) {
            summarizer = summarizer.behind(prefix(session, picture));
        }
        Ok(Some(Self { summarizer, heard, cancel, _desk: Arc::new(desk) }))
    }

    /// What became of the summaries so far.
    pub(crate) fn heard(&self) -> Vec<Written> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Nothing is asked any longer once this is dropped.
    pub(crate) fn ends(&self) -> Ends {
        Ends(self.cancel.clone())
    }
}

// What was sent last, or is about to be, as far as it is known here.
fn prefix(session: &Session, picture: &Picture) -> Prefix {
    let beside = session.slot.beside.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let messages = picture.sent.iter().map(|sent| sent.json.to_string());
    let beside = beside.unwrap_or_default();
    beside.before(session.engine.0.dialect, picture.system.as_deref(), messages)
}

/// Ends what a model is asked, when it is dropped.
pub(crate) struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use epitome_core::Tokens;

    use super::*;
    use crate::{Compact, Engine, Reply};

    #[tokio::test]
    async fn who_finds_no_desk_is_told_that_no_model_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let builder = Engine::builder().file(folder.path().join("desks.db")).window(Tokens(32_000));
        let engine = builder.summaries_by(["anthropic:some-model@http://127.0.0.1:9"]).build().await.unwrap();
        let session = engine.session("crowded").await.unwrap();
        for number in 0..12 {
            session.append(format!("Question {number}: what of the harbour?").as_str()).await.unwrap();
            let told = "The lantern shines over the harbour, and boats come and go with the tide. ";
            session.reply(Reply::text(told.repeat(40))).await.unwrap();
        }
        let desks = Arc::clone(&engine.0.scribe.as_ref().unwrap().desks);
        let others = desks.acquire_many_owned(DESKS as u32).await.unwrap();
        let outcome = session.compact(Compact::now().within(Tokens(3_000))).await.unwrap();
        assert!(outcome.is_done() && outcome.summaries.is_empty(), "{outcome:?}");
        let told = outcome.notes.iter().any(|note| note.contains("no model was asked, because 128 sessions"));
        assert!(told, "{:?}", outcome.notes);
        drop(others);
        engine.close().await;
    }
}
