//! How long models are waited for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::question::locked;
use crate::clock::Clock;

/// Adds up how long somebody waits for an answer; what is waited for at the same time counts once. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Stopwatch(Arc<Mutex<Waits>>);

#[derive(Debug, Default)]
struct Waits {
    /// Those that wait now, and since when somebody does.
    waiting: usize,
    since: Duration,
    over: Duration,
}

impl Stopwatch {
    /// The time that was waited so far, waits that are not over left aside.
    pub fn waited(&self) -> Duration {
        locked(&self.0).over
    }

    /// Somebody waits, until what is returned is dropped.
    pub(super) fn start<'c>(&self, clock: &'c dyn Clock) -> Running<'c> {
        let mut waits = locked(&self.0);
        if waits.waiting == 0 {
            waits.since = clock.now();
        }
        waits.waiting += 1;
        Running { watch: self.clone(), clock }
    }
}

/// A wait that is not over.
pub(super) struct Running<'c> {
    watch: Stopwatch,
    clock: &'c dyn Clock,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut waits = locked(&self.watch.0);
        waits.waiting = waits.waiting.saturating_sub(1);
        if waits.waiting == 0 {
            let waited = self.clock.now().saturating_sub(waits.since);
            waits.over += waited;
        }
    }
}
