//! Preparing a summary in the background, from the soft threshold on, so that nobody waits for it at the hard one.

use std::sync::PoisonError;

use epitome_core::{Tokens, events};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::{Compact, Prepared, Preparing};
use crate::session::{Session, Warm};

/// How far it is.
#[derive(Default)]
pub(crate) enum Preparation {
    /// Nobody has begun.
    #[default]
    Idle,
    /// Somebody is at it, and lets go of the other end once there is nothing more to do.
    Running(JoinHandle<()>, watch::Receiver<()>),
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
        if let Preparation::Ready(_) = self {
            *self = Preparation::Idle;
        }
    }

    /// Ends it. What is returned has ended once nothing of it goes on.
    pub(crate) fn cancel(&mut self) -> Option<JoinHandle<()>> {
        let Preparation::Running(task, _) = std::mem::take(self) else { return None };
        task.abort();
        Some(task)
    }
}

impl Session {
    /// Begins to prepare a compaction, unless somebody does or did already.
    pub(crate) fn prepare_soon(&self, tokens: Tokens) {
        let mut preparation = self.slot.preparation.lock().unwrap_or_else(PoisonError::into_inner);
        match &*preparation {
            // A task that has ended without a word panicked.
            Preparation::Running(task, _) if task.is_finished() => {}
            Preparation::Running(..) | Preparation::Ready(_) => return,
            Preparation::Vain(before) if (tokens.0 as f64) < before.0 as f64 * (1.0 + GROWTH) => return,
            Preparation::Idle | Preparation::Vain(_) => {}
        }
        let session = self.clone();
        let (end, running) = watch::channel(());
        let work = async move {
            let _end = end;
            // Whoever compacts now makes this one pointless. Who waits for it finds it ready: the turnstile opens last.
            let turnstile = session.slot.turnstile.try_lock();
            let done = match &turnstile {
                Ok(_) => session.prepare_now().await,
                Err(_) => None,
            };
            let mut preparation = session.slot.preparation.lock().unwrap_or_else(PoisonError::into_inner);
            *preparation = match done {
                Some(prepared) => Preparation::Ready(prepared),
                None => Preparation::Vain(tokens),
            };
        };
        *preparation = Preparation::Running(tokio::spawn(work.instrument(self.span())), running);
    }

    /// Waits until nothing is prepared in the background any longer: what could be prepared is ready then. Says whether there
    /// was anything to wait for.
    ///
    /// Nobody needs to wait for that. It is for those who replay conversations faster than a model answers, and want to see
    /// what a session would have had time for.
    pub async fn prepared(&self) -> bool {
        let mut running = {
            let preparation = self.slot.preparation.lock().unwrap_or_else(PoisonError::into_inner);
            match &*preparation {
                Preparation::Running(_, running) => running.clone(),
                Preparation::Idle | Preparation::Ready(_) | Preparation::Vain(_) => return false,
            }
        };
        // Nothing is ever sent: it ends when the other end is gone.
        while running.changed().await.is_ok() {}
        true
    }

    async fn prepare_now(&self) -> Option<Box<Prepared>> {
        let lease = self.lease_if_free().await.ok().flatten()?;
        let prepared = self.prepare(&Compact::ahead()).await;
        lease.give_back().await;
        match prepared {
            Ok(Preparing::Ready(prepared)) => Some(prepared),
            Ok(Preparing::Nothing(_)) => None,
            Err(error) => {
                tracing::warn!(%error, "no summary could be prepared in the background");
                None
            }
        }
    }

    /// Throws a compaction away that is ready and no longer fits, so that another can be prepared.
    pub(crate) fn drop_stale(&self, warm: &Warm) {
        let mut preparation = self.slot.preparation.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*preparation, Preparation::Ready(prepared) if !prepared.fits(warm)) {
            *preparation = Preparation::Idle;
        }
    }

    /// Takes a compaction that is ready and still fits. One that does not is thrown away.
    pub(crate) fn take_ready(&self, warm: &Warm) -> Option<Box<Prepared>> {
        let mut preparation = self.slot.preparation.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut *preparation) {
            Preparation::Ready(prepared) if prepared.fits(warm) => Some(prepared),
            Preparation::Ready(_) => {
                thrown_away();
                None
            }
            other => {
                *preparation = other;
                None
            }
        }
    }
}

/// Says that what was prepared is of no use.
pub(super) fn thrown_away() {
    tracing::info!(target: events::COMPACT, "Compaction: what was prepared is thrown away, the session went on otherwise");
}
