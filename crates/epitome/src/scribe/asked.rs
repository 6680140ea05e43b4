//! A model that is asked for the summaries of one compaction.

use std::sync::{Arc, Mutex, PoisonError};

use epitome_llm::Prefix;
use epitome_llm::summary::{Cancel, ModelSummarizer, Written};
use epitome_wire::Dialect;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::Live;
use super::kept::Drawer;
use super::tab::Tab;
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

impl Asked {
    /// The engine's model for a session, where it has one.
    pub(crate) async fn of(session: &Session, picture: &Picture, tab: &Tab) -> Option<Self> {
        let engine = &session.engine;
        let scribe = engine.0.scribe.as_ref()?;
        let desk = Arc::clone(&scribe.desks).try_acquire_owned().ok()?;
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
        Some(Self { summarizer, heard, cancel, _desk: Arc::new(desk) })
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
    let (instructions, tools) = beside.as_deref().cloned().unwrap_or_default();
    let system = match (picture.system.as_deref(), instructions.is_empty()) {
        (None, _) => instructions,
        (Some(summary), true) => summary.to_owned(),
        (Some(summary), false) => format!("{instructions}\n\n{summary}"),
    };
    let is_json = system.starts_with('[') && serde_json::from_str::<Vec<Value>>(&system).is_ok();
    let written = if is_json { system.clone() } else { Value::from(system.as_str()).to_string() };
    let mut messages: Vec<String> = picture.sent.iter().map(|sent| sent.json.to_string()).collect();
    let mut system = (!system.is_empty()).then_some(written);
    // Chat Completions has its instructions among the messages.
    if session.engine.0.dialect == Dialect::Chat
        && let Some(content) = system.take()
    {
        messages.insert(0, format!(r#"{{"role":"system","content":{content}}}"#));
    }
    Prefix { system, tools: (!tools.is_empty()).then_some(tools), messages }
}

/// Ends what a model is asked, when it is dropped.
pub(crate) struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
