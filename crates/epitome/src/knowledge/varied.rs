//! The order in which memories come back: the best first, and behind it what tells most that was not told yet.

use std::collections::HashSet;

use super::memory::{Memory, What};

/// What tells of a word that was told of already adds so much of what it would: five that say the same are little better
/// than one.
const TOLD: f64 = 0.5;

/// A memory, and what each word asked for adds to its score.
pub(super) struct Weighed {
    pub(super) memory: Memory,
    pub(super) shares: Vec<f64>,
}

impl Weighed {
    /// Counts for so many times as much.
    pub(super) fn times(&mut self, weight: f64) {
        self.shares.iter_mut().for_each(|share| *share *= weight);
        self.memory.score *= weight;
    }

    // What it adds to what was told.
    fn gain(&self, left: &[f64]) -> f64 {
        self.shares.iter().zip(left).map(|(share, left)| share * left).sum()
    }
}

/// Puts memories in order. A score becomes what a memory adds to those before it.
pub(super) fn varied(memories: Vec<Weighed>) -> Vec<Memory> {
    let mut rest = once(memories);
    let words = rest.iter().map(|weighed| weighed.shares.len()).max().unwrap_or(0);
    // How much of a word has not been told.
    let mut left = vec![1.0; words];
    let mut chosen = Vec::with_capacity(rest.len());
    while let Some((place, gain)) = best(&rest, &left) {
        let Weighed { mut memory, shares } = rest.remove(place);
        for (left, _) in left.iter_mut().zip(&shares).filter(|(_, share)| **share > 0.0) {
            *left *= TOLD;
        }
        memory.score = gain;
        chosen.push(memory);
    }
    chosen
}

// Of equals the first.
fn best(memories: &[Weighed], left: &[f64]) -> Option<(usize, f64)> {
    let gains = memories.iter().map(|memory| memory.gain(left)).enumerate();
    gains.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

// Of a message and what was learnt from it, what fits best is enough; the same words are enough once.
fn once(mut memories: Vec<Weighed>) -> Vec<Weighed> {
    memories.sort_by(|one, other| other.memory.score.total_cmp(&one.memory.score));
    let (mut places, mut texts) = (HashSet::new(), HashSet::new());
    memories.retain(|Weighed { memory, .. }| {
        let is_message = matches!(memory.what, What::Message { .. });
        let new_place = places.insert((memory.session, memory.message));
        let new_text = texts.insert(memory.text.to_lowercase());
        new_text && (new_place || !is_message)
    });
    memories
}

#[cfg(test)]
mod tests {
    use epitome_core::Role;
    use epitome_ledger::model::SessionId;

    use super::*;

    fn order(shares: &[&[f64]]) -> Vec<(u64, f64)> {
        let weighed = |(message, shares): (usize, &&[f64])| {
            let memory = Memory {
                what: What::Message { role: Role::User },
                session: SessionId::from_uuid(Default::default()),
                message: message as u64,
                text: format!("message {message}"),
                score: shares.iter().sum(),
            };
            Weighed { memory, shares: shares.to_vec() }
        };
        let memories = shares.iter().enumerate().map(weighed).collect();
        varied(memories).into_iter().map(|memory| (memory.message, memory.score)).collect()
    }

    #[test]
    fn what_tells_something_else_comes_before_what_tells_the_same() {
        assert_eq!(
            order(&[&[3.0, 3.0, 0.0], &[3.0, 3.0, 0.0], &[0.0, 0.0, 4.0]]),
            [(0, 6.0), (2, 4.0), (1, 3.0)]
        );
        assert_eq!(order(&[&[1.0, 0.0], &[4.0, 0.0]]), [(1, 4.0), (0, 0.5)]);
        assert_eq!(order(&[]), []);
    }

    #[test]
    fn of_equals_the_first_comes_first() {
        assert_eq!(order(&[&[2.0], &[2.0], &[2.0]]), [(0, 2.0), (1, 1.0), (2, 0.5)]);
    }
}
