//! The time and the waiting, so that tests need neither.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

/// A wait.
pub type Wait<'c> = Pin<Box<dyn Future<Output = ()> + Send + 'c>>;

/// Tells the time, and waits.
pub trait Clock: Send + Sync + Debug {
    /// The time since some moment that stays the same. It never goes back.
    fn now(&self) -> Duration;

    /// Waits so long.
    fn sleep(&self, wait: Duration) -> Wait<'_>;
}

/// The clock of the machine. Its waits need a runtime of `tokio` with its timer.
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    start: Instant,
}

impl Default for MachineClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, wait: Duration) -> Wait<'_> {
        Box::pin(tokio::time::sleep(wait))
    }
}
