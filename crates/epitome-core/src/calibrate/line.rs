//! A line through noisy points, learned one by one: so much for each token, so much for each item.
//!
//! This is the exponential moving average of spec 008.1 v4 for two unknowns instead of one: the averages are
//! taken over the normal equations of a weighted least-squares fit, so that the price of a token and the price
//! of a frame do not blur into each other. A prior stands in until there is data.

use serde::{Deserialize, Serialize};

/// The ratio of an honest tokenizer to o200k on any text that matters.
const RATIO: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// The most a single observation moves the ratio.
const STEP: f64 = 0.15;
/// What frames an item costs at least and at most.
const FRAME: std::ops::RangeInclusive<f64> = 0.0..=200.0;
/// How far a text's own ratio is off the model's, as a share.
const NOISE: f64 = 0.08;
/// Tokens of an observation of usual size, for which both horizons see the same noise.
const USUAL: f64 = 1_000.0;
/// How far a frame is off, in tokens.
const FRAME_NOISE: f64 = 4.0;
/// Trust in the start: how far the ratio and the frame may well be off it.
const PRIOR: (f64, f64) = (0.1, 8.0);
/// Beyond so many deviations an observation counts less.
const OUTLIER: f64 = 3.0;

/// `billed = ratio × counted + frame × items`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    start: (f64, f64),
    horizon: Horizon,
    ratio: f64,
    frame: f64,
    /// Weighted sums of counted², counted·items, items², counted·billed and items·billed.
    sums: [f64; 5],
}

/// What a line is to be right about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Horizon {
    /// The next observation, whatever its size: the last ten count, as with the α of 0.1 of spec 008.1 v4.
    Next,
    /// The sum of all observations, as a context is: each counts by its size, and for long.
    Sum,
}

impl Horizon {
    /// Weight of an observation in the moving averages.
    pub(super) fn alpha(self) -> f64 {
        match self {
            Horizon::Next => 0.1,
            Horizon::Sum => 0.005,
        }
    }

    /// How far an observation may well be off, squared.
    fn variance(self, Measure { counted, items }: Measure) -> f64 {
        let spread = match self {
            Horizon::Next => (NOISE * counted).powi(2),
            Horizon::Sum => NOISE.powi(2) * counted * USUAL,
        };
        spread + FRAME_NOISE.powi(2) * items.max(1.0)
    }
}

/// What was counted of something, and in how many items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measure {
    pub(super) counted: f64,
    pub(super) items: f64,
}

impl Line {
    /// A line that starts at these values.
    pub(super) fn new(ratio: f64, frame: f64, horizon: Horizon) -> Self {
        Self { start: (ratio, frame), horizon, ratio, frame, sums: [0.0; 5] }
    }

    pub(super) fn ratio(&self) -> f64 {
        self.ratio
    }

    pub(super) fn billed(&self, measure: Measure) -> f64 {
        self.ratio * measure.counted + self.frame * measure.items
    }

    /// Learns from one observation.
    pub(super) fn learn(&mut self, measure: Measure, billed: f64) {
        let Measure { counted, items } = measure;
        if counted <= 0.0 && items <= 0.0 || !billed.is_finite() {
            return;
        }
        let variance = self.horizon.variance(measure);
        let deviations = (billed - self.billed(measure)).abs() / variance.sqrt();
        let weight = (OUTLIER / deviations).min(1.0) / variance;
        let terms = [counted * counted, counted * items, items * items, counted * billed, items * billed];
        for (sum, term) in self.sums.iter_mut().zip(terms) {
            *sum = *sum * (1.0 - self.horizon.alpha()) + weight * term;
        }
        let (ratio, frame) = self.solve();
        let ratio = ratio.clamp(self.ratio - STEP, self.ratio + STEP);
        self.ratio = ratio.clamp(*RATIO.start(), *RATIO.end());
        self.frame = frame.clamp(*FRAME.start(), *FRAME.end());
    }

    fn solve(&self) -> (f64, f64) {
        let [cc, ci, ii, cb, ib] = self.sums;
        let (trust_ratio, trust_frame) = (PRIOR.0.powi(-2), PRIOR.1.powi(-2));
        let (cc, ii) = (cc + trust_ratio, ii + trust_frame);
        let (cb, ib) = (cb + trust_ratio * self.start.0, ib + trust_frame * self.start.1);
        // Positive, because both diagonal terms grew and ci² ≤ cc·ii held before.
        let determinant = cc * ii - ci * ci;
        ((cb * ii - ci * ib) / determinant, (cc * ib - ci * cb) / determinant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_ratio_and_frame() {
        let mut line = Line::new(1.0, 4.0, Horizon::Sum);
        for n in 1..200 {
            let measure = Measure { counted: f64::from(n * 37 % 500), items: f64::from(1 + n % 3) };
            line.learn(measure, 1.3 * measure.counted + 14.0 * measure.items);
        }
        assert!((line.ratio - 1.3).abs() < 0.01, "{line:?}");
        assert!((line.frame - 14.0).abs() < 1.0, "{line:?}");
    }

    #[test]
    fn nonsense_moves_it_slowly_and_never_far() {
        let mut line = Line::new(1.2, 4.0, Horizon::Next);
        for billed in [1e12, 0.0, f64::NAN, f64::INFINITY, -1e9, 1e12] {
            let before = line.ratio;
            line.learn(Measure { counted: 1_000.0, items: 1.0 }, billed);
            assert!((line.ratio - before).abs() <= STEP + 1e-9);
            assert!(RATIO.contains(&line.ratio) && FRAME.contains(&line.frame), "{line:?}");
        }
    }
}
