//! A circuit breaker: an upstream that failed again and again is left alone for a while, then asked once, then trusted again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::failure::{Failure, Kind};

/// When to leave an upstream alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// After so many failures in a row.
    pub failures: u32,
    /// For so long at first; twice as long after each probe that fails.
    pub rest: Duration,
    /// For no longer than this, where nobody says how long.
    pub longest: Duration,
    /// An upstream that says how long is believed up to this; who asks for more is probed then.
    pub longest_asked: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            failures: 5,
            rest: Duration::from_secs(15),
            longest: Duration::from_secs(300),
            longest_asked: Duration::from_secs(3_600),
        }
    }
}

/// Watches one upstream.
#[derive(Debug)]
pub struct Breaker {
    patience: Patience,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Calls go through; so many failed in a row.
    Closed { failed: u32 },
    /// Nobody calls before `until`.
    Open { until: Duration, rest: Duration },
    /// One call is under way to see whether the upstream is back.
    Probing { rest: Duration },
}

/// The right to make one call. Dropped without a result, it tells nothing about the upstream.
#[derive(Debug)]
#[must_use]
pub struct Permit<'b> {
    breaker: &'b Breaker,
    is_probe: bool,
    is_told: bool,
}

impl Breaker {
    /// A breaker that trusts its upstream.
    pub fn new(patience: Patience) -> Self {
        Self { patience, state: Mutex::new(State::Closed { failed: 0 }) }
    }

    /// A permit for one call, or how long the upstream is left alone; zero while it is being probed.
    pub fn enter(&self, now: Duration) -> Result<Permit<'_>, Duration> {
        let mut state = self.state();
        let is_probe = match *state {
            State::Closed { .. } => false,
            State::Open { until, .. } if now < until => return Err(until.saturating_sub(now)),
            State::Probing { .. } => return Err(Duration::ZERO),
            State::Open { rest, .. } => {
                *state = State::Probing { rest };
                true
            }
        };
        Ok(Permit { breaker: self, is_probe, is_told: false })
    }

    /// Whether calls go through.
    pub fn is_closed(&self) -> bool {
        matches!(*self.state(), State::Closed { .. })
    }

    // A thread that panicked left a whole state behind: it is replaced in one step.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, is_probe: bool, now: Duration) {
        let mut state = self.state();
        *state = match *state {
            State::Probing { rest } if is_probe => {
                let rest = rest.saturating_mul(2).min(self.patience.longest);
                State::Open { until: now.saturating_add(rest), rest }
            }
            State::Closed { failed } if failed + 1 >= self.patience.failures => {
                State::Open { until: now.saturating_add(self.patience.rest), rest: self.patience.rest }
            }
            State::Closed { failed } => State::Closed { failed: failed + 1 },
            // A call that began before the breaker opened tells nothing new.
            other => other,
        };
    }

    /// Leaves the upstream alone for as long as it asks, as far as it is believed.
    pub(crate) fn rest(&self, asked: Duration, now: Duration) {
        let mut state = self.state();
        if let State::Closed { .. } = *state {
            let until = now.saturating_add(asked.min(self.patience.longest_asked));
            *state = State::Open { until, rest: self.patience.rest };
        }
    }

    // A probe that came too early is made again when the upstream wants it; the rest after it does not grow.
    fn postpone(&self, is_probe: bool, asked: Duration, now: Duration) {
        let mut state = self.state();
        if let State::Probing { rest } = *state
            && is_probe
        {
            let until = now.saturating_add(asked.min(self.patience.longest_asked));
            *state = State::Open { until, rest };
        }
    }

    fn succeed(&self, is_probe: bool) {
        let mut state = self.state();
        match *state {
            State::Closed { .. } => *state = State::Closed { failed: 0 },
            State::Probing { .. } if is_probe => *state = State::Closed { failed: 0 },
            // A call that began before the breaker opened tells of then, not of now.
            _ => {}
        }
    }
}

impl Permit<'_> {
    /// The call was answered.
    pub fn succeeded(mut self) {
        self.is_told = true;
        self.breaker.succeed(self.is_probe);
    }

    /// The call failed at this time. A failure that the request is to blame for speaks for the upstream; one that says when
    /// to come back, because too much was asked, speaks neither for nor against it.
    pub fn failed(mut self, failure: &Failure, now: Duration) {
        self.is_told = true;
        match failure.kind {
            Kind::RateLimited if failure.retry_after().is_some() => {
                let asked = failure.retry_after().unwrap_or_default();
                self.breaker.postpone(self.is_probe, asked, now);
            }
            Kind::Overflow { .. } | Kind::TooLarge | Kind::Refused => self.breaker.succeed(self.is_probe),
            _ => self.breaker.fail(self.is_probe, now),
        }
    }
}

impl Drop for Permit<'_> {
    // A probe that was given up leaves the way free for the next one.
    fn drop(&mut self) {
        if self.is_told || !self.is_probe {
            return;
        }
        let mut state = self.breaker.state();
        if let State::Probing { rest } = *state {
            *state = State::Open { until: Duration::ZERO, rest };
        }
    }
}
