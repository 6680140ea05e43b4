//! A clock on which no time passes until somebody says that it is over.

use std::time::Duration;

use epitome_llm::{Clock, Wait};
use tokio::sync::watch;

/// Stands at the beginning, then at the end.
#[derive(Debug)]
pub(super) struct GateClock(watch::Sender<bool>);

impl Default for GateClock {
    fn default() -> Self {
        Self(watch::channel(false).0)
    }
}

impl GateClock {
    /// All time is over.
    pub(super) fn end(&self) {
        self.0.send_replace(true);
    }
}

impl Clock for GateClock {
    fn now(&self) -> Duration {
        if *self.0.borrow() { Duration::from_secs(1_000_000) } else { Duration::ZERO }
    }

    fn sleep(&self, _: Duration) -> Wait<'_> {
        let mut over = self.0.subscribe();
        Box::pin(async move {
            // The clock lives as long as whoever waits for it.
            let _ = over.wait_for(|over| *over).await;
        })
    }
}
