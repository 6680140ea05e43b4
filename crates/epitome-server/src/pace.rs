//! A limit on silence: time between two pieces of a body, whichever way it goes.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// Runs only while somebody waits for the next piece.
pub(crate) struct Pace {
    limit: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl Pace {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, sleep: None, waiting: false }
    }

    /// A piece came.
    pub(crate) fn moved(&mut self) {
        self.waiting = false;
    }

    /// None came yet; ready when it took too long.
    pub(crate) fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let limit = self.limit;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !self.waiting {
            self.waiting = true;
            if let Some(end) = Instant::now().checked_add(limit) {
                sleep.as_mut().reset(end);
            }
        }
        sleep.as_mut().poll(context)
    }
}
