//! Thinking that a provider does not take back: left out of what is sent, all of it and for good.
//!
//! A block of thinking may be bound to everything that stood before it when it was thought. Who refuses one refuses those behind it, too,
//! and a session that left out some of it once and sent it again would be refused again; so what was left out stays out, and what is
//! sent keeps its beginning. It is recorded as it was said.

use epitome_core::models::ThinkingBinding;
use epitome_wire::Dialect;

use super::{Context, Session};
use crate::error::Result;

/// The scope of the memos that say so, each under the name of its session.
const SCOPE: &str = "thinking";
/// What they say.
const LEFT_OUT: &str = "left out";

impl Session {
    /// What to send in place of a request that was refused for thinking in it that the provider does not take back: the same without
    /// any. From then on none is sent in this session. None where there was none to be left out.
    ///
    /// Where the model is known to bind its thinking, that outlives the process; elsewhere it is found out again by the next refusal.
    pub async fn context_without_thinking(&self) -> Result<Option<Context>> {
        let inner = self.inner();
        // Elsewhere nobody refuses it.
        if inner.dialect != Dialect::Anthropic {
            return Ok(None);
        }
        let mut state = self.slot.state.lock().await;
        let mut warm = match state.take() {
            Some(warm) => warm,
            None => self.load().await?,
        };
        let context = match warm.strip(inner)? {
            true => Some(self.context_of(&mut warm, None)),
            false => None,
        };
        self.put_back(&mut state, warm);
        drop(state);
        if context.is_some() {
            self.slot.strip();
            inner.ledger.put_memo(inner.tenant, SCOPE, self.id().to_string(), LEFT_OUT.to_owned()).await?;
        }
        Ok(context)
    }

    /// Whether thinking is left out of what is sent.
    pub(super) async fn sends_no_thinking(&self) -> Result<bool> {
        let inner = self.inner();
        let is_bound = inner.dialect == Dialect::Anthropic && inner.model.thinking == ThinkingBinding::Prefix;
        if self.slot.is_bare() || !is_bound {
            return Ok(self.slot.is_bare());
        }
        let memo = inner.ledger.memo(inner.tenant, SCOPE, self.id().to_string()).await?;
        if memo.is_some() {
            self.slot.strip();
        }
        Ok(memo.is_some())
    }
}
