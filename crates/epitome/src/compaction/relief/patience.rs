//! Patience with models: a turn waits for one only so long, then a summary picked by code stands in until the model's is there.

use std::sync::Arc;

use epitome_core::{Tokens, events};
use epitome_llm::summary::Rung;
use tokio::sync::OwnedMutexGuard;

use super::{Need, Session};
use crate::compaction::{Breaker, Compact, Prepared};
use crate::error::Result;
use crate::session::Warm;

/// Leave to compact.
pub(in crate::compaction) struct Turnstile {
    pub(in crate::compaction) guard: OwnedMutexGuard<Breaker>,
    /// Whether a turn waited for it: then it waits for no model again.
    pub(in crate::compaction) waited: bool,
}

impl Session {
    /// The turnstile, once nobody waits for a model any longer, and whether that had to be waited for; none where it takes too long.
    pub(in crate::compaction) async fn turnstile(&self, most: Option<Tokens>) -> Result<Option<Turnstile>> {
        let inner = self.inner();
        let turnstile = &self.slot.turnstile;
        let Some(scribe) = &inner.scribe else {
            let guard = Arc::clone(turnstile).lock_owned().await;
            return Ok(Some(Turnstile { guard, waited: false }));
        };
        if most.is_none() {
            self.ask_model().await?;
        }
        if let Ok(guard) = Arc::clone(turnstile).try_lock_owned() {
            return Ok(Some(Turnstile { guard, waited: false }));
        }
        Ok(tokio::select! {
            biased;
            guard = Arc::clone(turnstile).lock_owned() => Some(Turnstile { guard, waited: true }),
            () = inner.waits.sleep(scribe.patience) => None,
        })
    }

    // Has the model asked in the background, unless that is going on or done.
    async fn ask_model(&self) -> Result<()> {
        let Ok(breaker) = Arc::clone(&self.slot.turnstile).try_lock_owned() else { return Ok(()) };
        let (situation, is_ready) =
            self.look(|warm| (self.situation(warm, None), self.has_ready(warm))).await?;
        if situation.need == Need::Now && !is_ready && self.allows(&breaker, &situation) {
            let ask = Compact { patient: true, ..Compact::if_due() };
            self.prepare_behind(breaker, situation.tokens, ask);
        }
        Ok(())
    }

    /// Compacts by code while somebody waits for a model; what the model writes takes its place later.
    pub(super) async fn stand_in(&self, most: Option<Tokens>) -> Result<()> {
        let _side_door = self.slot.side_door.lock().await;
        if self.look(|warm| self.situation(warm, most)).await?.need != Need::Now {
            return Ok(());
        }
        tracing::warn!(target: events::COMPACT, "Compaction: the model takes too long, a summary picked by code stands in");
        let budget = most.map(|most| most - self.slot.outside());
        let ask = Compact { budget, insists: most.is_some(), offline: true, ..Compact::if_due() };
        self.compact_now(&ask).await?;
        if self.look(|warm| self.situation(warm, most)).await?.overfull {
            self.compact_now(&Compact { offline: true, ..Compact::last_resort() }).await?;
        }
        let turn = self.look(|warm| warm.base()).await?;
        self.preparation().stand_in(turn);
        Ok(())
    }

    /// Records what the model wrote in place of what stands in for it, if it is ready and there is room for it.
    pub(super) async fn improve(&self) -> Result<()> {
        if !self.has_better() {
            return Ok(());
        }
        let Ok(_turnstile) = self.slot.turnstile.try_lock() else { return Ok(()) };
        let Some(mut prepared) = self.look(|warm| self.take_ready(warm)).await? else { return Ok(()) };
        let is_better = prepared.summaries.iter().any(|written| written.rung != Rung::Offline);
        if is_better && self.has_room_for(&prepared).await? {
            prepared.notes.push("takes the place of a summary that was picked by code".to_owned());
            self.record_ready(prepared).await?;
        } else {
            super::thrown_away();
        }
        Ok(())
    }

    // Whether the window is not filled up again by what the stand-in hides and this one does not.
    async fn has_room_for(&self, prepared: &Prepared) -> Result<bool> {
        let (inner, outside) = (self.inner(), self.slot.outside());
        let covered = prepared.compaction.covered() as u64;
        let place = |warm: &mut Warm| (warm.head, warm.length, warm.pressure(outside, inner).marks.soft);
        let (Some(head), length, soft) = self.look(place).await? else { return Ok(false) };
        let since = inner.ledger.messages(inner.tenant, head, covered..length).await?;
        let since: Tokens = since.iter().map(|stored| stored.tokens).sum();
        Ok(inner.billed(prepared.picture.outside + prepared.report.tokens_after + since) <= soft)
    }
}
