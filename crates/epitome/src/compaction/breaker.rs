//! The loop breaker: who gains nothing by compacting waits longer and longer before trying again.

use epitome_core::{Time, Tokens};

/// What a compaction must free at least to count as progress, as a share of the context.
const PROGRESS: f64 = 0.05;
/// How much the context must grow before the first new try, as a share of the window; doubled each time.
const GROWTH: f64 = 0.01;
/// How long the first wait lasts at most, in milliseconds; doubled each time.
const WAIT: i64 = 30_000;
/// The longest wait is this many doublings.
const DOUBLINGS: u32 = 5;

/// Counts tries that gained nothing. It recovers by itself: by time, by growth, and at once by success.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Breaker {
    failures: u32,
    /// What the last one left, and when.
    last: Option<(Tokens, Time)>,
    /// Whether somebody was told that it holds up.
    told: bool,
}

impl Breaker {
    /// Whether a try is worth it now.
    pub(crate) fn allows(&self, tokens: Tokens, window: Tokens, now: Time) -> bool {
        let Some((left, since)) = self.last else { return true };
        let doublings = self.failures.saturating_sub(1).min(DOUBLINGS);
        let growth = (window.0 as f64 * GROWTH) as u64 * (1 << doublings);
        tokens.0 >= left.0.saturating_add(growth) || now.0 - since.0 >= WAIT << doublings
    }

    /// Whether nobody was told of this wait yet; from now on somebody was.
    pub(crate) fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    /// Takes note of what a try came to.
    pub(crate) fn tried(&mut self, before: Tokens, after: Tokens, now: Time) {
        if (before - after).0 as f64 >= before.0 as f64 * PROGRESS {
            *self = Self::default();
        } else {
            *self = Self { failures: self.failures.saturating_add(1), last: Some((after, now)), told: false };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Tokens = Tokens(100_000);

    #[test]
    fn tries_that_gain_nothing_are_throttled_and_time_or_growth_ends_it() {
        let mut breaker = Breaker::default();
        assert!(breaker.allows(Tokens(90_000), WINDOW, Time(0)));
        breaker.tried(Tokens(90_000), Tokens(89_000), Time(0));
        assert!(!breaker.allows(Tokens(89_500), WINDOW, Time(1_000)), "nothing has changed");
        assert!(
            breaker.allows(Tokens(90_000), WINDOW, Time(1_000)),
            "it has grown by a hundredth of the window"
        );
        assert!(breaker.allows(Tokens(89_000), WINDOW, Time(30_000)), "time has passed");

        breaker.tried(Tokens(90_000), Tokens(90_000), Time(30_000));
        assert!(!breaker.allows(Tokens(91_000), WINDOW, Time(60_000)), "the second wait is longer");
        assert!(breaker.allows(Tokens(92_000), WINDOW, Time(60_000)));
        assert!(breaker.allows(Tokens(90_000), WINDOW, Time(90_000)));

        (0..100).for_each(|_| breaker.tried(Tokens(90_000), Tokens(90_000), Time(0)));
        assert!(breaker.allows(Tokens(90_000), WINDOW, Time(WAIT << DOUBLINGS)), "no wait is for ever");
    }

    #[test]
    fn success_forgives_everything() {
        let mut breaker = Breaker::default();
        (0..4).for_each(|_| breaker.tried(Tokens(90_000), Tokens(90_000), Time(0)));
        breaker.tried(Tokens(90_000), Tokens(40_000), Time(1));
        assert_eq!(breaker, Breaker::default());
    }
}
