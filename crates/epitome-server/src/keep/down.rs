//! A ledger that does not answer: asked again after a while, so that not every call pays for finding out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::spool::is_passing;

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

    /// Waits for work on the ledger, so long at most, and takes note of how it went.
    pub(super) async fn watched<T>(
        &self,
        most: Duration,
        work: impl Future<Output = epitome::Result<T>>,
    ) -> epitome::Result<T> {
        let late = || epitome::Error::Interrupted("the ledger took too long".to_owned());
        let done = tokio::time::timeout(most, work).await.unwrap_or_else(|_| Err(late()));
        let is_down = done.as_ref().is_err_and(is_passing);
        let until = is_down.then(|| Instant::now() + REST);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
        done
    }
}
