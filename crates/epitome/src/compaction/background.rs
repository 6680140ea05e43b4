//! Preparing a summary in the background, from the soft threshold on, so that nobody waits for it at the hard one.

use std::sync::{Arc, MutexGuard, PoisonError};

use epitome_core::{Tokens, events};
use epitome_llm::summary::{Purse, Spent};
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::{Breaker, Compact, Hidden, Lesson, Prepared, Preparing};
use crate::scribe::Unused;
use crate::session::{Session, Warm};

/// A compaction that is prepared.
#[derive(Default)]
pub(crate) struct Preparation {
    stage: Stage,
    /// Who is at work, the last one for what is prepared now: learning may go on when a compaction is ready, and when it is used.
    tasks: Vec<JoinHandle<()>>,
    /// The turn, by its number, of the compaction that stands in until this one is ready.
    stand_in: Option<u64>,
}

/// How far it is.
#[derive(Default)]
enum Stage {
    /// Nobody has begun.
    #[default]
    Idle,
    /// Somebody is at it.
    Running,
    /// It is ready.
    Ready(Box<Prepared>),
    /// It came to nothing when the context had so many tokens.
    Vain(Tokens),
}

/// After something came to nothing, the context must grow by this share of itself before it is tried again.
const GROWTH: f64 = 0.05;

impl Preparation {
    /// Lets go of what is ready: it holds the messages that it was made from.
    pub(crate) fn forget(&mut self) {
        if let Stage::Ready(_) = self.stage {
            self.stage = Stage::Idle;
        }
    }

    /// Ends it, and all learning. What is returned has ended once nothing of it goes on.
    pub(crate) fn cancel(&mut self) -> Vec<JoinHandle<()>> {
        let Self { tasks, .. } = std::mem::take(self);
        tasks.iter().for_each(JoinHandle::abort);
        tasks
    }

    fn begin(&mut self, task: JoinHandle<()>) {
        self.tasks.retain(|task| !task.is_finished());
        self.tasks.push(task);
        self.stand_in = None;
        self.stage = Stage::Running;
    }

    /// Whether another one is of use at this size.
    pub(super) fn is_wanted(&self, tokens: Tokens) -> bool {
        match &self.stage {
            // A task that has ended without a word panicked.
            Stage::Running => self.tasks.last().is_none_or(JoinHandle::is_finished),
            Stage::Ready(_) => false,
            Stage::Vain(before) => tokens.0 as f64 >= before.0 as f64 * (1.0 + GROWTH),
            Stage::Idle => true,
        }
    }

    /// Takes note of the compaction that stands in for it, if it is still under way.
    pub(super) fn stand_in(&mut self, turn: Option<u64>) {
        match &mut self.stage {
            Stage::Running => self.stand_in = turn,
            Stage::Ready(prepared) => prepared.stand_in = turn,
            Stage::Idle | Stage::Vain(_) => {}
        }
    }

    /// Whether it is ready and something stands in for it.
    fn is_better(&self) -> bool {
        matches!(&self.stage, Stage::Ready(prepared) if prepared.stand_in.is_some())
    }

    /// Takes what was learnt from it, if it is still there.
    fn learnt(&mut self, hidden: &Hidden, lesson: Lesson) {
        if let Stage::Ready(prepared) = &mut self.stage
            && prepared.id == hidden.by
        {
            prepared.learnt = Some(lesson);
        }
    }

    fn end(&mut self, prepared: Option<Box<Prepared>>, tokens: Tokens) {
        let stand_in = self.stand_in.take();
        self.stage = match prepared {
            Some(prepared) => Stage::Ready(Box::new(Prepared { stand_in, ..*prepared })),
            None => Stage::Vain(tokens),
        };
    }
}

impl Session {
    /// Begins to prepare a compaction, unless somebody does or did already.
    pub(crate) fn prepare_soon(&self, tokens: Tokens) {
        // Whoever compacts now makes this one pointless.
        let turnstile = Arc::clone(&self.slot.turnstile).try_lock_owned();
        let Ok(turnstile) = turnstile else { return };
        if self.preparation().is_wanted(tokens) {
            self.prepare_behind(turnstile, tokens, Compact::ahead());
        }
    }

    /// Prepares a compaction in the background. Who waits for it finds it ready: the turnstile opens last.
    pub(super) fn prepare_behind(&self, turnstile: OwnedMutexGuard<Breaker>, tokens: Tokens, ask: Compact) {
        let session = self.clone();
        let work = async move {
            let purse = Purse::default();
            let prepared = session.prepare_now(&ask, &purse).await;
            let hidden = prepared.as_ref().map(|prepared| prepared.hidden());
            session.preparation().end(prepared, tokens);
            drop(turnstile);
            // It can be used from now on, and whoever does so before this is done learns by code.
            if let Some(hidden) = hidden
                && let Some(lesson) = session.learnt_by_model(&hidden, &purse).await
            {
                session.preparation().learnt(&hidden, lesson);
            }
        };
        // It has to be known as running before it can be over.
        let mut preparation = self.preparation();
        preparation.begin(tokio::spawn(work.instrument(self.span())));
    }

    /// Waits until nothing is prepared in the background any longer: what could be prepared is ready then. Says whether there
    /// was anything to wait for.
    ///
    /// Nobody needs to wait for that. It is for those who replay conversations faster than a model answers, and want to see
    /// what a session would have had time for.
    pub async fn prepared(&self) -> bool {
        let is_running = matches!(self.preparation().stage, Stage::Running);
        if is_running {
            // The turnstile opens last.
            drop(self.slot.turnstile.lock().await);
        }
        is_running
    }

    /// What was spent on this session's summaries that came to nothing and is not recorded with any compaction. What is prepared is
    /// given up for it, for nobody knows of it yet whether it will be used.
    pub async fn spent_in_vain(&self) -> Option<Spent> {
        let tasks = self.preparation().cancel();
        for task in tasks {
            // One that was ended says so.
            let _ = task.await;
        }
        Unused::of(self.inner(), self.id()).await.spent()
    }

    pub(super) fn preparation(&self) -> MutexGuard<'_, Preparation> {
        self.slot.preparation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn prepare_now(&self, ask: &Compact, purse: &Purse) -> Option<Box<Prepared>> {
        let lease = self.lease_if_free().await.ok().flatten()?;
        // While a model is asked, other processes are not kept from compacting: what they record shows when this is used.
        let prepared = if self.inner().scribe.is_some() {
            lease.give_back().await;
            self.prepare(ask, purse).await
        } else {
            let prepared = self.prepare(ask, purse).await;
            lease.give_back().await;
            prepared
        };
        match prepared {
            Ok(Preparing::Ready(prepared)) => Some(prepared),
            Ok(Preparing::Nothing(_)) => None,
            Err(error) => {
                tracing::warn!(%error, "no summary could be prepared in the background");
                None
            }
        }
    }

    /// Ends what is prepared, and lets go of what is ready.
    pub(crate) fn drop_prepared(&self) {
        self.preparation().cancel();
    }

    /// Whether a compaction is ready that is better than the one that stands in for it.
    pub(super) fn has_better(&self) -> bool {
        self.preparation().is_better()
    }

    /// Whether a compaction is ready that would be a relief.
    pub(super) fn has_ready(&self, warm: &Warm) -> bool {
        let is_relief =
            |prepared: &Prepared| prepared.fits(warm) && !prepared.replaces(warm) && !prepared.is_early(warm);
        matches!(&self.preparation().stage, Stage::Ready(prepared) if is_relief(prepared))
    }

    /// Whether a compaction is ready, of use or not.
    pub(crate) fn has_any_ready(&self) -> bool {
        matches!(&self.preparation().stage, Stage::Ready(_))
    }

    /// Throws a compaction away that is ready and no longer fits, so that another can be prepared.
    pub(crate) fn drop_stale(&self, warm: &Warm) {
        let mut preparation = self.preparation();
        if matches!(&preparation.stage, Stage::Ready(prepared) if !prepared.fits(warm)) {
            preparation.stage = Stage::Idle;
        }
    }

    /// Whether a compaction is ready that pays for itself, so that `auto` need not wait until it is due. Once the provider has
    /// forgotten what was sent, it costs nothing to send something else.
    pub(crate) fn ready_pays(&self, warm: &Warm) -> bool {
        let inner = self.inner();
        let forgotten = warm.cached(inner.now(), inner) == Tokens::ZERO;
        let pays = |prepared: &Prepared| {
            let verdict = prepared.report.verdict;
            verdict.is_some_and(|verdict| verdict.pays || forgotten) && !prepared.is_vain()
        };
        let is_paying = matches!(&self.preparation().stage, Stage::Ready(prepared) if pays(prepared));
        self.weighs() && is_paying && self.has_ready(warm)
    }

    /// Takes a compaction that is ready and still fits. One that does not is thrown away; one whose time has not come stays.
    pub(crate) fn take_ready(&self, warm: &Warm) -> Option<Box<Prepared>> {
        let mut preparation = self.preparation();
        match std::mem::take(&mut preparation.stage) {
            Stage::Ready(prepared) if prepared.fits(warm) && !prepared.is_early(warm) => Some(prepared),
            Stage::Ready(prepared) if !prepared.fits(warm) => {
                thrown_away();
                None
            }
            other => {
                preparation.stage = other;
                None
            }
        }
    }
}

/// Says that what was prepared is of no use.
pub(super) fn thrown_away() {
    tracing::info!(target: events::COMPACT, "Compaction: what was prepared is thrown away, the session went on otherwise");
}
