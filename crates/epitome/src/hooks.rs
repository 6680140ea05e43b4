//! Hooks: those who are told before and after every compaction, and may have a say in it.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use epitome_core::compact::Report;
use epitome_core::loss::Loss;
use epitome_core::pressure::Level;
use epitome_core::{Message, Tokens};
use epitome_ledger::model::{SessionId, TurnId};
use tokio::time::timeout;
use tracing::Instrument;

/// The target of hooks' log events.
const TARGET: &str = "epitome::hooks";

/// What a hook returns: a future that owns what it needs.
pub type Told<T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send>>;

/// Why a hook failed. It is reported, and the work goes on.
pub type HookError = Box<dyn std::error::Error + Send + Sync>;

/// Somebody who is told of compactions.
///
/// A hook that fails, panics or takes too long is reported in the log and in the notes of the compaction; it holds nothing up.
pub trait Hook: Send + Sync + 'static {
    /// A compaction is about to begin (`conversation_compacting`). It waits for the answer.
    fn compacting(&self, event: Arc<Compacting>) -> Told<Answer> {
        let _ = event;
        Box::pin(async { Ok(Answer::default()) })
    }

    /// A compaction was recorded (`conversation_compacted`).
    fn compacted(&self, event: Arc<Compacted>) -> Told<()> {
        let _ = event;
        Box::pin(async { Ok(()) })
    }
}

/// `conversation_compacting`: what is about to be compacted.
#[derive(Clone, Debug)]
pub struct Compacting {
    /// The agent.
    pub agent: String,
    /// The session.
    pub session: SessionId,
    /// The messages that will no longer be shown as they were, by their numbers.
    pub messages: Vec<(u64, Message)>,
    /// How urgent it is. At `Hard` a veto has no effect.
    pub level: Level,
    /// Everything that would be sent now.
    pub tokens: Tokens,
}

impl Compacting {
    /// How many messages are being compacted (`messages_being_compacted`).
    pub fn count(&self) -> usize {
        self.messages.len()
    }
}

/// What a hook says to a compaction that is about to begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Why it should be postponed, if it should.
    pub veto: Option<String>,
    /// What the summary is to mind.
    pub instructions: Option<String>,
    /// Messages to be kept as they are.
    pub pins: Vec<Range<u64>>,
}

impl Answer {
    /// Postpones the compaction, where there is room left.
    pub fn veto(why: impl Into<String>) -> Self {
        Self { veto: Some(why.into()), ..Self::default() }
    }

    /// Tells the summariser what to mind.
    pub fn instructions(instructions: impl Into<String>) -> Self {
        Self { instructions: Some(instructions.into()), ..Self::default() }
    }

    /// Keeps these messages as they are.
    pub fn pin(messages: Range<u64>) -> Self {
        Self { pins: vec![messages], ..Self::default() }
    }
}

/// `conversation_compacted`: what was compacted.
#[derive(Clone, Debug)]
pub struct Compacted {
    /// The agent.
    pub agent: String,
    /// The session.
    pub session: SessionId,
    /// The turn that the compaction is.
    pub turn: TurnId,
    /// What was done, in figures.
    pub report: Report,
    /// The messages that are no longer shown, by their numbers.
    pub dropped: Vec<Range<u64>>,
    /// What was kept of them, what can be recalled, what is missing.
    pub loss: Loss,
}

/// The hooks of an engine.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    hooks: Vec<(String, Arc<dyn Hook>)>,
    patience: Duration,
}

/// What all hooks said together.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) vetoes: Vec<String>,
    pub(crate) instructions: Vec<String>,
    pub(crate) pins: Vec<Range<u64>>,
    /// What went wrong.
    pub(crate) notes: Vec<String>,
}

impl Hooks {
    pub(crate) fn add(&mut self, hooks: Vec<(String, Arc<dyn Hook>)>, patience: Duration) {
        self.hooks.extend(hooks);
        self.patience = patience;
    }

    /// Whether nobody is to be told.
    pub(crate) fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Asks everybody, one after the other.
    pub(crate) async fn compacting(&self, event: Arc<Compacting>) -> Answers {
        let mut answers = Answers::default();
        for (name, hook) in &self.hooks {
            let (hook, event) = (Arc::clone(hook), Arc::clone(&event));
            match self.hear(name, move || hook.compacting(event)).await {
                Ok(Answer { veto, instructions, pins }) => {
                    answers.vetoes.extend(veto.map(|why| format!("{name}: {why}")));
                    answers.instructions.extend(instructions);
                    answers.pins.extend(pins);
                }
                Err(note) => answers.notes.push(note),
            }
        }
        answers
    }

    /// Tells everybody, one after the other, and says what went wrong.
    pub(crate) async fn compacted(&self, event: Arc<Compacted>) -> Vec<String> {
        let mut notes = Vec::new();
        for (name, hook) in &self.hooks {
            let (hook, event) = (Arc::clone(hook), Arc::clone(&event));
            notes.extend(self.hear(name, move || hook.compacted(event)).await.err());
        }
        notes
    }

    // A task of its own, so that a hook that panics takes nobody with it; begun on a thread that may be blocked.
    pub(crate) async fn hear<T: Send + 'static>(
        &self,
        name: &str,
        tell: impl FnOnce() -> Told<T> + Send + 'static,
    ) -> Result<T, String> {
        let begun = async {
            match tokio::task::spawn_blocking(tell).await {
                Ok(told) => told.await,
                Err(stopped) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
                Err(stopped) => Err(stopped.into()),
            }
        };
        let mut task = Aborting(tokio::spawn(begun.in_current_span()));
        let why = match timeout(self.patience, &mut task.0).await {
            Ok(Ok(Ok(answer))) => return Ok(answer),
            Ok(Ok(Err(error))) => format!("failed: {error}"),
            Ok(Err(stopped)) if stopped.is_panic() => "panicked".to_owned(),
            Ok(Err(_)) => "was stopped".to_owned(),
            Err(_) => format!("took longer than {} ms", self.patience.as_millis()),
        };
        tracing::warn!(target: TARGET, hook = name, why, "Hook {name} {why}; the work goes on without it");
        Err(format!("hook {name} {why}"))
    }
}

/// A task that ends with whoever waits for it.
struct Aborting<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
