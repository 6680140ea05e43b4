//! A ledger that does not answer: asked again after a while, so that not every call pays for finding out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So long nobody asks.
const REST: Duration = Duration::from_secs(3);

/// Until when the ledger is left alone.
#[derive(Default)]
pub(super) struct Down(Mutex<Option<Instant>>);

impl Down {
    /// An error where the ledger is left alone just now.
    pub(super) fn check(&self) -> epitome::Result<()> {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match until.is_some_and(|until| Instant::now() < until) {
            true => Err(epitome::Error::Interrupted("the ledger did not answer a moment ago".to_owned())),
            false => Ok(()),
        }
    }

    /// It does not answer.
    pub(super) fn mark(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + REST);
    }
}
