//! A model that is asked for the summaries of one compaction.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_ledger::model::SessionId;
use epitome_llm::summary::{Cancel, ModelSummarizer, Written};

use super::kept::Drawer;
use crate::engine::Engine;

/// A model that is asked for the summaries of one compaction. Clones share what is heard of them.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) summarizer: ModelSummarizer,
    heard: Arc<Mutex<Vec<Written>>>,
    cancel: Cancel,
}

impl Asked {
    /// The engine's model for a session, where it has one.
    pub(crate) async fn of(engine: &Engine, session: SessionId) -> Option<Self> {
        let scribe = engine.0.scribe.as_ref()?;
        let (heard, cancel) = (Arc::<Mutex<Vec<Written>>>::default(), Cancel::default());
        let listener = Arc::clone(&heard);
        let summarizer = scribe
            .summarizer()
            .kept(Arc::new(Drawer::open(engine, session).await))
            .cancelled_by(cancel.clone())
            .heard_by(move |written| {
                listener.lock().unwrap_or_else(PoisonError::into_inner).push(written.clone());
            });
        Some(Self { summarizer, heard, cancel })
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

/// Ends what a model is asked, when it is dropped.
pub(crate) struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
