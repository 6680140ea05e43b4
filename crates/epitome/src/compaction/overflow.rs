//! What to send in place of a request that the provider refused as too long: less each time.

use epitome_core::Tokens;
use epitome_core::compact::StrategyName;
use epitome_llm::Failure;
use tracing::Instrument;

use super::Compact;
use crate::error::Result;
use crate::session::{Context, Session, Warm};

/// So much of what was refused is left by each attempt, in per cent.
const LEFT: [u64; 3] = [75, 55, 35];

impl Session {
    /// What to send in place of a request that was refused like this. Each time it is less than before, three times at most until
    /// something else is said; only the first time a model is asked for a summary. None where the request was not refused for its
    /// size, or nothing smaller is left to send.
    ///
    /// What the refusal says of the window is kept for later calls of the model.
    pub async fn context_after(&self, failure: &Failure) -> Result<Option<Context>> {
        self.smaller(failure).instrument(self.span()).await
    }

    async fn smaller(&self, failure: &Failure) -> Result<Option<Context>> {
        let (inner, outside) = (self.inner(), self.slot.outside());
        if !failure.wants_less() {
            return Ok(None);
        }
        let sent = |warm: &mut Warm| (warm.tokens, warm.estimated(outside, inner));
        let (before, expected) = self.look(sent).await?;
        inner.window.refused(&self.engine, expected, failure);
        let attempt = self.slot.refused();
        let Some(left) = LEFT.get(attempt as usize - 1) else { return Ok(None) };
        let share = Tokens(before.0 * left / 100);
        let ratio = inner.billing.ratio(&inner.model.id);
        let room = inner.window.limit().map(|limit| limit.scaled(1.0 / ratio) - outside);
        let budget = room.filter(|room| *room > Tokens::ZERO).map_or(share, |room| room.min(share));
        let ask = Compact::after_overflow(attempt).within(budget).insisting();
        let plain = Compact { offline: true, ..ask.clone() };
        // Only the first attempt waits for a model, and for one that is asked already no longer than a turn does.
        let (turnstile, side_door) = match self.turnstile(Some(budget)).await? {
            Some(turnstile) => (Some(turnstile), None),
            None => (None, Some(self.slot.side_door.lock().await)),
        };
        let is_free = turnstile.as_ref().is_some_and(|turnstile| !turnstile.waited);
        let first = if attempt == 1 && is_free { ask } else { plain.clone() };
        // A strategy that cannot meet a budget gives way to one that cuts whatever it takes.
        for ask in [first, plain.by(StrategyName::Auto)] {
            self.compact_now(&ask).await?;
            let (after, _) = self.look(sent).await?;
            if after < before {
                drop((turnstile, side_door));
                return self.look(|warm| self.context_of(warm, None)).await.map(Some);
            }
        }
        Ok(None)
    }
}
