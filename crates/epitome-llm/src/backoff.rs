//! How long to wait before another attempt: anywhere up to a bound that doubles, so that clients do not come back together.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::failure::Failure;

/// How often to try, and how long to wait in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backoff {
    /// So many attempts at one endpoint, the first included.
    pub attempts: u32,
    /// The bound of the first wait; each further one is twice as large.
    pub first: Duration,
    /// No bound is larger. A server that asks for a longer wait is not waited for.
    pub longest: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { attempts: 4, first: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

impl Backoff {
    /// The wait before the next attempt after `failed` of them, the last one with this failure; `None` if there is none.
    ///
    /// `chance` is between 0 and 1. What the server asks for is waited at least.
    pub fn wait(&self, failed: u32, failure: &Failure, chance: f64) -> Option<Duration> {
        if failed >= self.attempts || !failure.is_retryable() {
            return None;
        }
        let doublings = failed.saturating_sub(1).min(31);
        let bound = self.first.saturating_mul(1 << doublings).min(self.longest);
        let jitter = bound.mul_f64(chance.clamp(0.0, 1.0));
        match failure.retry_after() {
            // Those who were told the same time come back spread over a tenth of it.
            Some(asked) if asked <= self.longest => Some(asked + jitter.min(asked / 10)),
            Some(_) => None,
            None => Some(jitter),
        }
    }
}

/// Numbers between 0 and 1 that look random and follow from a seed.
#[derive(Debug)]
pub struct Chance(AtomicU64);

impl Chance {
    /// The numbers that follow from this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number: the generator is SplitMix64.
    pub fn next(&self) -> f64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Default for Chance {
    /// Numbers that are others in every process.
    fn default() -> Self {
        Self::seeded(RandomState::new().build_hasher().finish())
    }
}
