//! Relief: what is done about a full context before it is handed out.

mod patience;
mod rehearsal;

use std::sync::Arc;

use epitome_core::compact::{Fallback, StrategyName};
use epitome_core::pressure::Level;
use epitome_core::prune::PruneMode;
use epitome_core::{Tokens, events};
use tracing::Instrument;

use super::background::thrown_away;
use super::{Breaker, Case, Committed, Compact, Depth, Prepared, summarises};
use crate::error::Result;
use crate::session::{Context, Session, Warm};

/// How often relief is sought before a context is handed out.
const ROUNDS: usize = 3;

/// What is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Nothing.
    Nothing,
    /// A strategy that has rules of its own might want to act.
    Step,
    /// A summary should be prepared.
    Soon,
    /// Nothing is handed out before it is smaller.
    Now,
}

/// Where a session stands, and what that calls for.
#[derive(Clone, Copy)]
struct Situation {
    need: Need,
    /// Everything that would be sent, in the model's tokens.
    tokens: Tokens,
    /// Whether it does not fit into the window at all.
    overfull: bool,
}

impl Session {
    /// What to send: compacted first if that is due.
    pub async fn context(&self) -> Result<Context> {
        self.handed_out(None).instrument(self.span()).await
    }

    /// What to send, in at most so many tokens of our unit, everything that stands beside the messages included.
    pub async fn context_within(&self, most: Tokens) -> Result<Context> {
        self.handed_out(Some(most)).instrument(self.span()).await
    }

    async fn handed_out(&self, most: Option<Tokens>) -> Result<Context> {
        self.improve().await?;
        let situation = self.look(|warm| self.situation(warm, most)).await?;
        match situation.need {
            Need::Nothing => {}
            Need::Step => self.step(most, any).await?,
            Need::Soon => {
                self.step(most, any).await?;
                self.look(|warm| self.drop_stale(warm)).await?;
                if self.look(|warm| self.ready_pays(warm)).await? {
                    self.use_early().await?;
                } else {
                    self.prepare_soon(situation.tokens);
                }
            }
            Need::Now => {
                self.relieve(most).await?;
                self.step(most, is_plain).await?;
            }
        }
        self.look(|warm| self.context_of(warm, most)).await
    }

    pub(crate) fn context_of(&self, warm: &mut Warm, most: Option<Tokens>) -> Context {
        let (inner, outside) = (self.inner(), self.slot.outside());
        let pressure = warm.pressure(outside, inner);
        let shortfall = match most {
            Some(most) => outside + warm.tokens - most,
            None => pressure.tokens - pressure.marks.input,
        };
        if shortfall > Tokens::ZERO {
            tracing::warn!(
                target: events::COMPACT,
                tokens = pressure.tokens.0,
                shortfall = shortfall.0,
                "what must be kept does not fit: unpin messages, shorten the instructions, or use a larger window"
            );
        }
        warm.about_to_send();
        let mut context =
            Context::new(warm.head, inner.dialect, warm.system.clone(), warm.hand_out(), pressure);
        context.shortfall = shortfall;
        context
    }

    fn situation(&self, warm: &mut Warm, most: Option<Tokens>) -> Situation {
        let (inner, outside) = (self.inner(), self.slot.outside());
        let pressure = warm.pressure(outside, inner);
        let exceeds = most.is_some_and(|most| outside + warm.tokens > most);
        let need = match pressure.level {
            _ if exceeds => Need::Now,
            Level::Hard if inner.settings.compact.compaction_enabled => Need::Now,
            Level::Soft if inner.settings.compact.compaction_enabled => Need::Soon,
            Level::Warn if self.weighs() => Need::Soon,
            _ if !self.steps(warm).is_empty() => Need::Step,
            _ => Need::Nothing,
        };
        if self.slot.begins_to_fill(pressure.level >= Level::Warn) {
            let (tokens, warn) = (pressure.tokens.0, pressure.marks.warn.0);
            tracing::warn!(target: events::TOKENS, tokens, warn_threshold = warn, "the window fills up: {pressure}");
        }
        Situation {
            need,
            tokens: pressure.tokens,
            overfull: exceeds || pressure.tokens > pressure.marks.input,
        }
    }

    // Whether what is done depends on what it costs.
    pub(super) fn weighs(&self) -> bool {
        let (inner, compact) = (self.inner(), &self.inner().settings.compact);
        let by_price = compact.strategy == StrategyName::Auto && inner.strategy.is_none();
        compact.compaction_enabled && by_price && inner.is_priced()
    }

    // What might be done before a call although nothing is due, for all that is known without asking the strategy.
    fn steps(&self, warm: &Warm) -> Vec<Compact> {
        let settings = &self.inner().settings;
        if self.inner().strategy.is_some() {
            return Vec::new();
        }
        let crowded = warm.shown.len() > settings.max_conversation_messages;
        let compact = &settings.compact;
        let own = match compact.strategy {
            _ if !compact.compaction_enabled => crowded.then(trimming),
            StrategyName::None => crowded.then(trimming),
            StrategyName::Narrative if compact.fallback == Fallback::Seed => crowded.then(trimming),
            StrategyName::Narrative => crowded.then(Compact::if_due),
            StrategyName::Tiered => (warm.tokens > warm.decided).then(Compact::if_due),
            // Pruning is all that these do before they are due.
            StrategyName::Auto | StrategyName::Prune | StrategyName::Rolling | StrategyName::Checkpoint => {
                None
            }
        };
        own.into_iter().chain(self.might_prune(warm).then(|| self.pruning())).collect()
    }

    // Whether tool results might be pruned: they have rules and switches of their own, whatever else is done.
    fn might_prune(&self, warm: &Warm) -> bool {
        let prune = &self.inner().settings.prune;
        let grown = warm.tokens - warm.decided;
        let stale =
            prune.prune_mode == PruneMode::EveryCall || warm.lapsed || grown.0 >= prune.clear_at_least.0 / 2;
        let is_tiered = self.inner().settings.compact.strategy == StrategyName::Tiered;
        !is_tiered && (warm.oversized || stale && prune.tool_pruning_enabled)
    }

    // `auto` weighs what a step costs; with the others it is a plain step of pruning.
    fn pruning(&self) -> Compact {
        let compact = &self.inner().settings.compact;
        match compact.strategy {
            StrategyName::Auto if compact.compaction_enabled => Compact::if_due(),
            _ => Compact::if_due().by(StrategyName::Prune),
        }
    }

    // Takes these steps, unless somebody is at work already.
    async fn step(&self, most: Option<Tokens>, which: fn(&Compact) -> bool) -> Result<()> {
        let Ok(turnstile) = Arc::clone(&self.slot.turnstile).try_lock_owned() else { return Ok(()) };
        let outside = self.slot.outside();
        for ask in self.look(|warm| self.steps(warm)).await?.into_iter().filter(which) {
            let ask = Compact { budget: most.map(|most| most - outside), ..ask };
            let case = Case::new(self, self.picture(Depth::Shown).await?, &ask);
            let preview = case.preview().await?;
            if preview.plan.is_some() && self.inner().scribe.is_some() && summarises(&preview) {
                // A model is asked where no turn waits for it.
                self.look(|warm| self.drop_stale(warm)).await?;
                if !self.use_ready().await? {
                    let tokens = self.look(|warm| self.situation(warm, most)).await?.tokens;
                    // What came to nothing is not paid for again at every turn.
                    if self.preparation().is_wanted(tokens) {
                        self.prepare_behind(turnstile, tokens, Compact { patient: true, ..ask });
                    }
                    return Ok(());
                }
            } else if preview.plan.is_some() {
                self.compact_now(&ask).await?;
            }
        }
        self.look(Warm::settle).await
    }

    // Makes it smaller before anything is handed out.
    async fn relieve(&self, most: Option<Tokens>) -> Result<()> {
        let (inner, outside) = (self.inner(), self.slot.outside());
        let Some(turnstile) = self.turnstile(most).await? else { return self.stand_in(most).await };
        let patience::Turnstile { guard: mut breaker, waited } = turnstile;
        for round in 0..ROUNDS {
            // Somebody else may have seen to it while this one waited.
            let before = self.look(|warm| self.situation(warm, most)).await?;
            if before.need != Need::Now {
                return Ok(());
            }
            if !self.allows(&breaker, &before) {
                if breaker.is_news() {
                    let tokens = before.tokens;
                    tracing::warn!(
                        target: events::COMPACT,
                        tokens = tokens.0,
                        "Compaction throttled at ~{tokens:#} tokens: the last ones gained little"
                    );
                }
                return Ok(());
            }
            if most.is_none() && self.use_ready().await? {
                let after = self.look(|warm| self.situation(warm, most)).await?;
                breaker.tried(before.tokens, after.tokens, inner.now());
                continue;
            }
            let budget = most.map(|most| most - outside);
            // The model was waited for already, but for where it could not be asked before the size was known.
            let offline = inner.scribe.is_some() && (most.is_none() || round > 0 || waited);
            let ask = Compact { budget, insists: most.is_some(), offline, ..Compact::if_due() };
            self.compact_now(&ask).await?;
            let after = self.look(|warm| self.situation(warm, most)).await?;
            breaker.tried(before.tokens, after.tokens, inner.now());
        }
        let last = self.look(|warm| self.situation(warm, most)).await?;
        if last.overfull {
            self.compact_now(&Compact::last_resort()).await?;
        }
        Ok(())
    }

    // What does not fit the window at all is never throttled.
    fn allows(&self, breaker: &Breaker, situation: &Situation) -> bool {
        let inner = self.inner();
        situation.overfull || breaker.allows(situation.tokens, inner.window(), inner.now())
    }

    // Records what is ready before it is due, unless somebody is at work already.
    async fn use_early(&self) -> Result<()> {
        let Ok(_turnstile) = self.slot.turnstile.try_lock() else { return Ok(()) };
        self.use_ready().await?;
        Ok(())
    }

    // Records what was prepared in the background, if it still fits what it was made of.
    async fn use_ready(&self) -> Result<bool> {
        // What takes the place of a stand-in covers less than that does.
        let ready = |warm: &mut Warm| {
            let replaces = |prepared: &Prepared| prepared.replaces(warm);
            self.take_ready(warm).filter(|prepared| !replaces(prepared))
        };
        match self.look(ready).await? {
            Some(prepared) => self.record_ready(prepared).await,
            None => Ok(false),
        }
    }

    async fn record_ready(&self, mut prepared: Box<Prepared>) -> Result<bool> {
        let failed = self.learn(&prepared).await;
        prepared.notes.extend(failed);
        match self.leased(|fence| Box::pin(self.commit(&prepared, fence))).await? {
            Committed::Done => {
                self.announce(*prepared).await;
                Ok(true)
            }
            Committed::Stale => {
                thrown_away();
                Ok(false)
            }
        }
    }
}

fn any(_: &Compact) -> bool {
    true
}

// What names its strategy costs little and summarises nothing: it is done also where a compaction cannot be had.
fn is_plain(ask: &Compact) -> bool {
    ask.strategy.is_some()
}

// The oldest messages go by their number.
fn trimming() -> Compact {
    Compact::if_due().by(StrategyName::None)
}
