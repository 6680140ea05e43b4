//! Sessions: where an agent says what it says, and asks what to send.

mod append;
mod beside;
mod context;
mod draft;
mod fork;
mod instructions;
mod notes;
mod path;
mod read;
mod say;
mod sendable;
mod shown;
mod slot;
mod thinking;
mod undo;
mod warm;

use std::fmt;
use std::sync::{Arc, PoisonError};

use epitome_ledger::model::{Expect, SessionId, TurnId};
use epitome_wire::Body;

pub use context::{Context, ContextMessage};
pub(crate) use draft::Draft;
pub use draft::{BilledFor, Input, Reply};
pub use fork::{Beginning, Sight};
pub use instructions::instructions;
pub(crate) use path::laid_out;
pub use say::{Said, ToSend};
pub(crate) use shown::{Sent, Shown};
pub(crate) use slot::{Slot, State, Warmth};
pub(crate) use undo::UNDO;
pub use undo::{Run, Undo};
pub(crate) use warm::{Warm, place};

use self::beside::Beside;
use crate::engine::{Engine, Inner};
use crate::error::Result;

/// What every line of the log about one turn says.
pub(crate) fn told_of(turn: TurnId) -> tracing::Span {
    tracing::error_span!(target: "epitome::session", "turn", %turn)
}

/// A conversation of an agent. Cheap to clone; all handles of a session are one session.
#[derive(Clone)]
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) slot: Arc<Slot>,
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Session({})", self.slot.id)
    }
}

impl Session {
    pub(crate) fn new(engine: Engine, slot: Arc<Slot>) -> Self {
        Self { engine, slot }
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.slot.id
    }

    /// Where it stands, as the ledger knows it.
    pub async fn info(&self) -> Result<epitome_ledger::model::Session> {
        Ok(self.inner().ledger.session(self.inner().tenant, self.slot.id).await?)
    }

    /// Says what is sent beside the messages: the system prompt and the definitions of tools. They are counted, and not recorded.
    pub fn beside(&self, system: &str, tools: &str) {
        self.count_beside([system, tools].into_iter());
        self.keep_beside(|| Beside::said(system, tools));
    }

    /// The same by a request that carries the messages; so many of those at its beginning are the operator's, and no part of the
    /// conversation. What else of it the provider's cache depends on is known then, too, where summaries are asked for behind it.
    pub fn beside_of(&self, body: &Body<'_>, leading: usize) {
        let system = body.system_text();
        let messages = (0..leading).map(|at| body.message(at));
        self.count_beside(system.into_iter().chain(messages).chain(body.tools_text()));
        self.keep_beside(|| Beside::sent(body, leading));
    }

    fn count_beside<'t>(&self, texts: impl Iterator<Item = &'t str>) {
        let counter = &self.inner().counter;
        self.slot.set_outside(texts.filter(|text| !text.is_empty()).map(|text| counter.text(text)).sum());
    }

    fn keep_beside(&self, beside: impl FnOnce() -> Beside) {
        if self.inner().scribe.as_ref().is_some_and(|scribe| scribe.behind.is_some()) {
            *self.slot.beside.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(beside()));
        }
    }

    /// Whether the provider cut the input of the call that was answered last, by what it billed: then that was an answer to another
    /// question, and less is sent from now on.
    pub fn input_was_cut(&self) -> bool {
        self.slot.is_cut()
    }

    /// What every line of the log about this session says: which one, and whose.
    ///
    /// Its level is the highest, so that no filter takes it from the lines that pass.
    pub(crate) fn span(&self) -> tracing::Span {
        tracing::error_span!(target: "epitome::session", "session", session = %self.slot.id, agent = self.inner().agent)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.engine.0
    }

    pub(crate) fn expect(&self, head: Option<TurnId>, fence: Option<u64>) -> Expect {
        Expect { session: self.slot.id, head, fence }
    }

    /// Reads the session anew.
    pub(crate) async fn load(&self) -> Result<Box<Warm>> {
        let inner = self.inner();
        let resumed = inner.ledger.resume(inner.tenant, self.slot.id).await?;
        let mut warm = Warm::resumed(&resumed, inner)?;
        if self.sends_no_thinking().await? {
            warm.strip(inner)?;
        }
        Ok(Box::new(warm))
    }

    /// Looks at the session as it is at hand, or reads it first.
    pub(crate) async fn look<T>(&self, look: impl FnOnce(&mut Warm) -> T) -> Result<T> {
        let mut state = self.slot.state.lock().await;
        let mut warm = match state.take() {
            Some(warm) => warm,
            None => self.load().await?,
        };
        let seen = look(&mut warm);
        self.put_back(&mut state, warm);
        Ok(seen)
    }

    /// Puts what was taken out back in its place.
    pub(crate) fn put_back(&self, state: &mut State, warm: Box<Warm>) {
        let bytes = warm.bytes();
        *state = Some(warm);
        self.inner().warmth.touch(&self.slot, bytes);
    }
}
