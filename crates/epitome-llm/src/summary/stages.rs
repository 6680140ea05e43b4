//! How a conversation that is too long for one call is parted: into stretches that are full but for the last two, none too large.

use std::ops::Range;

use epitome_core::Tokens;

/// The sizes of stretches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stages {
    /// This part of a window a stretch may take where messages are small.
    pub base_ratio: f64,
    /// This part where they are large.
    pub min_ratio: f64,
    /// Tokens are counted with another tokenizer than the model's: so many times more are reckoned with.
    pub safety_margin: f64,
    /// So much of a window is left for the prompt and the answer.
    pub reserve: Tokens,
    /// So many stretches are summarised at the same time.
    pub parallel: usize,
}

impl Default for Stages {
    fn default() -> Self {
        Self { base_ratio: 0.4, min_ratio: 0.15, safety_margin: 1.2, reserve: Tokens(20_000), parallel: 3 }
    }
}

/// The share of a window that a message has on average is known in so many steps.
const STEPS: f64 = 40.0;

/// A conversation in stretches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parted {
    /// The messages of each stretch, in order.
    pub chunks: Vec<Vec<usize>>,
    /// Messages that no stretch has room for.
    pub left_out: Vec<usize>,
}

impl Stages {
    /// How many tokens of a conversation one call may hold.
    pub fn one_call(&self, window: Tokens) -> Tokens {
        let reserve = self.reserve.0.min(window.0 / 2);
        Tokens(((window.0 - reserve) as f64 / self.safety_margin.max(1.0)) as u64)
    }

    /// How many tokens a stretch may have, for messages of these sizes.
    pub fn chunk(&self, window: Tokens, sizes: &[Tokens]) -> Tokens {
        let total: Tokens = sizes.iter().copied().sum();
        let average = total.0 as f64 / sizes.len().max(1) as f64 * self.safety_margin;
        // In steps, so that one more message does not move every border.
        let share = (average / window.0.max(1) as f64 * STEPS).floor() / STEPS;
        // From a tenth of the window on, messages are large: the stretches become smaller so that fewer are left out.
        let less = if share >= 0.1 { (share * 2.0).min(self.base_ratio - self.min_ratio) } else { 0.0 };
        let ratio = (self.base_ratio - less).max(self.min_ratio);
        let most = (window.0 as f64 * ratio / self.safety_margin.max(1.0)) as u64;
        Tokens(most.max(1)).min(self.one_call(window))
    }

    /// Parts messages of these sizes. What `atoms` holds together stays together; what is larger than `most` is left out.
    ///
    /// Stretches are filled from the front, so that what is said later leaves the earlier ones as they are.
    pub fn part(&self, sizes: &[Tokens], atoms: &[Range<usize>], most: Tokens) -> Parted {
        let size = |atom: &Range<usize>| -> Tokens {
            sizes.get(atom.clone()).unwrap_or_default().iter().copied().sum()
        };
        let (small, large): (Vec<_>, Vec<_>) = atoms.iter().cloned().partition(|atom| size(atom) <= most);
        let mut filled: Vec<Vec<Range<usize>>> = Vec::new();
        let mut held = Tokens::ZERO;
        for atom in small {
            let size = size(&atom);
            match filled.last_mut().filter(|_| held + size <= most) {
                Some(chunk) => {
                    chunk.push(atom);
                    held += size;
                }
                None => {
                    filled.push(vec![atom]);
                    held = size;
                }
            }
        }
        if let [.., first, last] = filled.as_mut_slice() {
            balance(first, last, &size);
        }
        let chunks = filled.into_iter().map(|chunk| chunk.into_iter().flatten().collect()).collect();
        Parted { chunks, left_out: large.into_iter().flatten().collect() }
    }
}

// The last stretch may be a remnant; it gets what is behind the middle of the two.
fn balance(
    first: &mut Vec<Range<usize>>,
    last: &mut Vec<Range<usize>>,
    size: &dyn Fn(&Range<usize>) -> Tokens,
) {
    let total: Tokens = first.iter().chain(last.iter()).map(size).sum();
    let half = Tokens(total.0.div_ceil(2));
    let mut held = Tokens::ZERO;
    let is_before = |atom: &&Range<usize>| {
        let is_before = held < half;
        held += size(atom);
        is_before
    };
    let stay = first.iter().take_while(is_before).count().max(1);
    last.splice(0..0, first.split_off(stay.min(first.len())));
}
