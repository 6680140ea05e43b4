//! Means over conversations and how far they can be trusted.

use serde::Serialize;

/// How often the conversations are drawn anew.
const DRAWS: usize = 2_000;
/// The generator's fixed start: the same values give the same interval for ever.
const START: u64 = 0x5eed;

/// A mean and the interval that holds it with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// How many values there are.
    pub count: usize,
}

impl Interval {
    /// The mean of these values with its bootstrap percentile interval; nothing where there is no value.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = average(values)?;
        let mut random = Random::new(START);
        let mut drawn = values.to_vec();
        let draw = |_| {
            drawn.fill_with(|| values.get(random.below(values.len())).copied().unwrap_or(mean));
            average(&drawn)
        };
        let mut means: Vec<f64> = (0..DRAWS).filter_map(draw).collect();
        means.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| means.get((share * (means.len() - 1) as f64).round() as usize).copied();
        Some(Self { mean, low: at(0.025)?, high: at(0.975)?, count: values.len() })
    }
}

fn average(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// SplitMix64: a generator whose numbers are the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`; zero where that is none.
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.next().checked_rem(most as u64).unwrap_or(0) as usize
    }
}
