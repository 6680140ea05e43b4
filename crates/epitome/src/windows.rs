//! How large the windows of models really are, by what their servers say, take, refuse and cut; kept in the ledger.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use epitome_core::{Tokens, Usage, events};
use epitome_llm::{Failure, Window};
use serde_json::{Value, json};

use crate::engine::{Engine, Inner};
use crate::session::Session;

/// The scope of the memos that hold it, each under the name of its model and of who serves it.
const SCOPE: &str = "window";

/// What was learnt of the window of the engine's model.
#[derive(Default)]
pub(crate) struct Learnt(Mutex<Window>);

impl Learnt {
    /// The window, where it turned out to be another than was thought.
    pub(crate) fn limit(&self) -> Option<Tokens> {
        self.known().limit()
    }

    fn known(&self) -> MutexGuard<'_, Window> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that was taken for so many tokens was answered, and this was billed for it; whether its input was cut.
    pub(crate) fn answered(&self, engine: &Engine, expected: Tokens, billed: &Usage) -> bool {
        let is_cut = self.change(engine, |window| window.answered(expected, billed));
        if is_cut {
            tracing::warn!(
                target: events::TOKENS,
                expected = expected.0,
                billed = billed.total_input().0,
                "the provider counted far fewer tokens than were sent: it cut the input"
            );
        }
        is_cut
    }

    /// A call that was taken for so many tokens was refused like this.
    pub(crate) fn refused(&self, engine: &Engine, expected: Tokens, failure: &Failure) {
        self.change(engine, |window| window.failed(expected, failure));
    }

    // What matters is kept: that more passed than before does not.
    fn change<T>(&self, engine: &Engine, lesson: impl FnOnce(&mut Window) -> T) -> T {
        let mut window = self.known();
        let before = window.limit();
        let learnt = lesson(&mut window);
        if window.limit() != before {
            let (engine, value) = (engine.clone(), written(&window));
            let Some(name) = name(&engine.0) else { return learnt };
            engine.clone().0.errands.run(async move { save(&engine.0, name, value).await });
        }
        learnt
    }

    /// Reads what others learnt before.
    pub(crate) async fn load(&self, inner: &Inner) {
        let Some(name) = name(inner) else { return };
        if let Some(window) = kept(inner, name).await {
            *self.known() = window;
        }
    }
}

impl Session {
    /// Whether the model's server may well refuse so many tokens for their number: from half of what the window leaves for them on, since
    /// estimates and tables err, and always where the window is a guess.
    pub fn may_overflow(&self, tokens: Tokens) -> bool {
        let inner = self.inner();
        let is_known = inner.window_is_given || inner.model_is_known || inner.window.limit().is_some();
        let ratio = inner.billing.ratio(&inner.model.id);
        let room = inner.settings.compact.marks(inner.window(), &[], ratio).input;
        !is_known || tokens.0.saturating_mul(2) >= room.0
    }
}

/// Reads what was learnt of the windows of those who write summaries, and has what is learnt from now on kept.
pub(crate) async fn keep_those_of_writers(engine: &Engine) {
    let Some(scribe) = &engine.0.scribe else { return };
    for endpoint in scribe.endpoints() {
        if let Some(window) = kept(&engine.0, endpoint.clone()).await {
            scribe.windows.put(endpoint, window);
        }
    }
    // They are the engine's own, and must not keep it from its end.
    let engine = Arc::downgrade(&engine.0);
    scribe.windows.kept_by(move |endpoint, window| {
        let Some(inner) = engine.upgrade() else { return };
        let (name, value) = (endpoint.to_owned(), written(window));
        Arc::clone(&inner).errands.run(async move { save(&inner, name, value).await });
    });
}

async fn kept(inner: &Inner, name: String) -> Option<Window> {
    match inner.ledger.memo(inner.tenant, SCOPE, name).await {
        Ok(memo) => memo.and_then(|memo| read(&memo.value)),
        Err(error) => {
            tracing::warn!(%error, "what was learnt of a model's window cannot be read");
            None
        }
    }
}

async fn save(inner: &Inner, name: String, value: String) {
    if let Err(error) = inner.ledger.put_memo(inner.tenant, SCOPE, name, value).await {
        tracing::warn!(%error, "what was learnt of the model's window is not kept");
    }
}

// A model without a name is a guess, and nothing is kept of guesses.
fn name(inner: &Inner) -> Option<String> {
    let model = inner.model.id.as_ref();
    let name = || inner.upstream.as_ref().map_or_else(|| model.to_owned(), |at| format!("{model}@{at}"));
    (!model.is_empty()).then(name)
}

fn written(window: &Window) -> String {
    let tokens = |tokens: Option<Tokens>| tokens.map(|tokens| tokens.0);
    json!({"told": tokens(window.told), "passed": window.passed.0, "refused": tokens(window.refused)})
        .to_string()
}

fn read(text: &str) -> Option<Window> {
    let value: Value = serde_json::from_str(text).ok()?;
    let tokens = |name: &str| value.get(name).and_then(Value::as_u64).map(Tokens);
    let mut window = Window::default();
    window.told = tokens("told");
    window.passed = tokens("passed").unwrap_or_default();
    window.refused = tokens("refused");
    Some(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_is_read_as_it_was_written() {
        let mut window = Window::default();
        window.told = Some(Tokens(8_192));
        window.passed = Tokens(7_000);
        assert_eq!(read(&written(&window)), Some(window));
        assert_eq!(read("gibberish"), None);
    }
}
