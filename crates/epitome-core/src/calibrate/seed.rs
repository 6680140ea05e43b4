//! The estimator of spec 008.1 v4, to the letter: for conformance and comparison.

use serde::{Deserialize, Serialize};

use crate::units::{Chars, Tokens};

/// Tokens a character, learned as an exponential moving average.
///
/// It starts at a quarter and believes every observation a tenth. [`Calibration`](super::Calibration) is what
/// decisions are made on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenEstimator {
    ratio: f64,
    samples: u32,
}

impl Default for TokenEstimator {
    fn default() -> Self {
        Self { ratio: 0.25, samples: 0 }
    }
}

impl TokenEstimator {
    /// Weight of an observation.
    pub const ALPHA: f64 = 0.1;
    /// Tokens that frame a message.
    pub const MESSAGE: Tokens = Tokens(4);

    /// Tokens a character.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Observations so far.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// The tokens of content of this length; at least one.
    pub fn estimate(&self, content: Chars) -> Tokens {
        Tokens(((content.0 as f64 * self.ratio) as u64).max(1))
    }

    /// The tokens of messages whose contents have these lengths.
    pub fn estimate_messages(&self, contents: impl IntoIterator<Item = Chars>) -> Tokens {
        contents.into_iter().map(|content| self.estimate(content) + Self::MESSAGE).sum()
    }

    /// Learns that so many characters were billed as so many tokens; nothing from zero.
    pub fn calibrate(&mut self, chars: Chars, billed: Tokens) {
        if chars == Chars::ZERO || billed == Tokens::ZERO {
            return;
        }
        let observed = billed.0 as f64 / chars.0 as f64;
        self.ratio = Self::ALPHA * observed + (1.0 - Self::ALPHA) * self.ratio;
        self.samples += 1;
    }
}
