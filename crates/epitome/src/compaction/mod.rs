//! Compactions of sessions: when they are due, how they are prepared, and how they become turns.
//!
//! ```text
//! turnstile ─ lease ─ picture ─ plan ─ hooks ─ write, verify ─ commit ─ hooks
//! ```
//!
//! Nothing but the commit holds the state of the session, so that whoever appends never waits for a summary. What arrives in the
//! meantime stands behind the compaction as it is; if anything else happened, the work begins again on what there is now.

mod ask;
mod background;
mod breaker;
mod commit;
mod decide;
mod lease;
mod outcome;
mod overflow;
mod picture;
mod relief;
mod told;

use std::sync::Arc;

use epitome_core::compact::{Planned, Preview, Report};
use epitome_core::cost::Tariff;
use epitome_core::pressure::{Level, Occasion, Pressure, Trigger};
use epitome_core::{Tokens, events};
use epitome_ledger::model::TurnId;
use epitome_llm::summary::{Purse, Rung};
use tracing::Instrument;

pub use ask::Compact;
pub(crate) use background::Preparation;
pub(crate) use breaker::Breaker;
pub(crate) use commit::{Committed, Hidden, Lesson, Minded, Prepared};
pub(crate) use decide::Case;
pub(crate) use outcome::dropped;
pub use outcome::{Outcome, Saves};
pub(crate) use picture::{Depth, Picture};

use self::decide::Written;
use crate::error::{Error, Result};
use crate::hooks::{self, Answers, Compacting};
use crate::scribe::{Drawer, Scribe, Tab};
use crate::session::Session;

/// How often a compaction begins again because the session is no longer what it was.
const TRIES: usize = 8;

/// What preparing came to.
pub(crate) enum Preparing {
    /// It is ready to be recorded.
    Ready(Box<Prepared>),
    /// There is nothing to record.
    Nothing(Box<Outcome>),
}

impl Session {
    /// Compacts the session: because somebody wants it, or because the provider refused a request as too long.
    ///
    /// Messages that are appended meanwhile are neither blocked nor lost.
    pub async fn compact(&self, ask: Compact) -> Result<Outcome> {
        self.compact_asked(ask).instrument(self.span()).await
    }

    async fn compact_asked(&self, ask: Compact) -> Result<Outcome> {
        let mut breaker = self.slot.turnstile.lock().await;
        let outcome = self.compact_now(&ask).await?;
        if outcome.is_done() {
            *breaker = Breaker::default();
        }
        Ok(outcome)
    }

    /// What [`Session::compact`] would do. Nothing is recorded.
    pub async fn compact_dry_run(&self, ask: Compact) -> Result<Outcome> {
        let case = Case::new(self, self.picture(Depth::Whole).await?, &ask);
        Ok(Outcome::nothing(case.preview().await?.report))
    }

    /// Compacts, once the turnstile is held.
    pub(crate) async fn compact_now(&self, ask: &Compact) -> Result<Outcome> {
        // However often it begins again, it is one compaction, and its caps hold for all of it.
        let purse = Purse::default();
        self.leased(|fence| Box::pin(self.compact_with(ask, fence, &purse))).await
    }

    async fn compact_with(&self, ask: &Compact, fence: u64, purse: &Purse) -> Result<Outcome> {
        for _ in 0..TRIES {
            // Others may have compacted, or appended, while this one waited.
            self.refresh().await?;
            match self.prepare(ask, purse).await? {
                Preparing::Nothing(outcome) => return Ok(*outcome),
                // What frees nothing would only cost the provider's cache, each time anew.
                Preparing::Ready(prepared) if ask.occasion == Occasion::BeforeCall && prepared.is_vain() => {
                    let spent = prepared.spent();
                    return Ok(Outcome { notes: prepared.notes, spent, ..Outcome::nothing(prepared.report) });
                }
                Preparing::Ready(mut prepared) => {
                    if ask.patient {
                        prepared.learnt = self.learnt_by_model(&prepared.hidden(), purse).await;
                    }
                    let failed = self.learn(&prepared).await;
                    prepared.notes.extend(failed);
                    if let Committed::Done = self.commit(&prepared, fence).await? {
                        return Ok(self.announce(*prepared).await);
                    }
                }
            }
        }
        Err(Error::Contended)
    }

    // Reads the session anew if another process moved it.
    async fn refresh(&self) -> Result<()> {
        let mut state = self.slot.state.lock().await;
        let Some(warm) = state.take() else { return Ok(()) };
        let session = self.info().await?;
        if session.head == warm.head && session.messages == warm.length {
            self.put_back(&mut state, warm);
        }
        Ok(())
    }

    /// Plans, asks the hooks, has summaries written and checked, within what the purse allows. Nothing is recorded.
    pub(crate) async fn prepare(&self, ask: &Compact, purse: &Purse) -> Result<Preparing> {
        // Most questions are answered by what is shown; what is hidden is read only where a summary is to be written.
        let mut case = Case::new(self, self.picture(Depth::Shown).await?, ask);
        let mut preview = case.preview().await?;
        let mut of_session = None;
        if summarises(&preview) {
            of_session = self.instructions().await?;
            case = Case::new(self, self.picture(Depth::Whole).await?, ask);
            preview = case.preview().await?;
        }
        let Some(plan) = &preview.plan else {
            let reason = preview.report.reason.as_str();
            tracing::debug!(target: events::COMPACT, reason, "nothing to compact: {reason}");
            return Ok(Preparing::Nothing(Box::new(Outcome::nothing(preview.report))));
        };
        let (messages, hides_more) =
            (plan.messages_summarized(), plan.hides_more(case.picture.previous.as_deref()));
        let answers = self.ask_hooks(&case, &preview).await;
        let urgent = preview.report.pressure.level == Level::Hard || ask.is_urgent();
        told::vetoes(&answers.vetoes, urgent);
        let mut notes = answers.notes;
        if !answers.vetoes.is_empty() && !urgent {
            let report = preview.report;
            return Ok(Preparing::Nothing(Box::new(Outcome {
                vetoes: answers.vetoes,
                notes,
                ..Outcome::nothing(report)
            })));
        }
        notes.extend(
            answers.vetoes.iter().map(|veto| format!("not postponed, there is no room left ({veto})")),
        );
        let asked = case.ask.instructions.take();
        case.ask.instructions =
            joined(of_session.clone().into_iter().chain(asked).chain(answers.instructions));
        let minded = summarises(&preview).then(|| Minded { of_session, all: case.ask.instructions.clone() });
        case.pins = answers.pins.into_iter().flatten().filter_map(|pin| usize::try_from(pin).ok()).collect();
        case.pins.retain(|pin| *pin < case.picture.path.len());
        if hides_more {
            let Pressure { tokens, marks, .. } = case.picture.pressure;
            events::compacting(tokens, marks.hard, messages);
        }
        let Written { compaction, report, loss, notes: more, summaries, tab } = case.write(purse).await?;
        notes.extend(more);
        // Who reads of summaries by a model reads that nobody knows what they cost.
        let warning = self.inner().scribe.as_ref().and_then(Scribe::warning);
        notes.extend(warning.filter(|_| !summaries.is_empty()));
        let Some(compaction) = compaction else {
            return Ok(Preparing::Nothing(Box::new(Outcome {
                notes,
                summaries,
                spent: tab.as_ref().and_then(Tab::spent),
                ..Outcome::nothing(report)
            })));
        };
        let trigger = report.trigger.map_or("step", Trigger::as_str);
        let saves = self.saves(&report);
        let prepared = Box::new(Prepared {
            id: TurnId::generate(),
            picture: case.picture,
            compaction,
            report,
            loss,
            trigger: trigger.to_owned(),
            notes,
            stand_in: None,
            learnt: None,
            minded,
            summaries,
            tab,
            saves,
            is_ahead: ask.occasion == Occasion::Ahead,
        });
        Ok(Preparing::Ready(prepared))
    }

    // What each call costs less, once it is recorded.
    fn saves(&self, report: &Report) -> Option<Saves> {
        let inner = self.inner();
        let freed = inner.billed(report.tokens_before - report.tokens_after);
        let is_priced = inner.model_is_known && inner.model.price.input > 0.0;
        let money = is_priced.then(|| Tariff::of(&inner.model).rates(freed).read.times(freed));
        (freed > Tokens::ZERO).then_some(Saves { tokens: freed, money })
    }

    async fn ask_hooks(&self, case: &Case, preview: &Preview) -> Answers {
        let inner = self.inner();
        if inner.hooks.is_empty() {
            return Answers::default();
        }
        let event = Compacting {
            agent: inner.agent.clone(),
            session: self.id(),
            messages: decide::compacted(preview, &case.picture),
            level: preview.report.pressure.level,
            tokens: preview.report.pressure.tokens,
        };
        inner.hooks.compacting(Arc::new(event)).await
    }

    /// Tells everybody of a compaction that was recorded.
    pub(crate) async fn announce(&self, prepared: Prepared) -> Outcome {
        prepared.tell();
        let (inner, failed) = (self.inner(), self.close_episode(&prepared).await);
        let spent = prepared.spent();
        let Prepared { id, picture, compaction, report, loss, mut notes, summaries, saves, .. } = prepared;
        notes.extend(failed);
        // What a model failed at is tried again with what it finished.
        if summaries.iter().any(|written| written.rung != Rung::Offline) {
            Drawer::empty(inner, self.id()).await;
        }
        if !inner.hooks.is_empty() {
            let event = hooks::Compacted {
                agent: inner.agent.clone(),
                session: self.id(),
                turn: id,
                report: report.clone(),
                dropped: dropped(&compaction, picture.previous.as_deref()),
                loss: loss.clone().unwrap_or_default(),
            };
            notes.extend(inner.hooks.compacted(Arc::new(event)).await);
        }
        Outcome { turn: Some(id), report, loss, vetoes: Vec::new(), notes, summaries, spent, saves }
    }
}

// Whether a plan has summaries written.
fn summarises(preview: &Preview) -> bool {
    let parts = preview.plan.iter().flat_map(|plan| &plan.parts);
    parts.into_iter().any(|part| matches!(part, Planned::Summary(_)))
}

fn joined(all: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join("\n"))
}
