//! Finds changes of subject that nobody announced, by lexical cohesion: exchanges about one thing share words.
//!
//! It is TextTiling on exchanges: the words of the exchanges before a gap are compared with those after it,
//! and where they have much less in common than is usual in the conversation, the subject has changed. It is
//! made to be right rather than complete: a topic that is not told apart costs less than one that is torn.

use std::collections::HashMap;

use super::terms::{Terms, terms};
use crate::message::Message;
use crate::outline::Entry;
use crate::turn::exchanges;

/// How many exchanges on either side of a gap are compared.
const WINDOW: usize = 2;
/// What a window must weigh to tell anything.
const LEAST_WEIGHT: f64 = 20.0;
/// A gap counts if it is lower than this part of what is usual here.
const OF_USUAL: f64 = 0.25;
/// And lower than this in any case.
const LOW: f64 = 0.1;
/// With fewer gaps than this nothing is usual.
const USUAL_NEEDS: usize = 5;
/// It must be the lowest among this many gaps on either side.
const NEIGHBOURS: usize = 3;

/// The first messages of exchanges that change the subject, ascending, in time linear in the path.
pub(crate) fn subject_changes(path: &[Entry], messages: &[Message]) -> Vec<usize> {
    let exchanges = exchanges(path.iter().map(|entry| entry.outline.as_ref()));
    let vectors: Vec<Terms> =
        exchanges.iter().map(|range| terms(messages.get(range.clone()).unwrap_or_default())).collect();
    let gaps = similarities(&vectors);
    let low = threshold(&gaps);
    let is_change = |gap: usize| {
        let similarity = gaps.get(gap).copied().flatten()?;
        let around = gaps.get(gap.saturating_sub(NEIGHBOURS)..(gap + NEIGHBOURS + 1).min(gaps.len()))?;
        let lowest = around.iter().flatten().all(|other| similarity <= *other);
        (similarity < low && lowest).then_some(gap + 1)
    };
    let changes = (0..gaps.len()).filter_map(is_change);
    changes.filter_map(|exchange| Some(exchanges.get(exchange)?.start)).collect()
}

fn threshold(gaps: &[Option<f64>]) -> f64 {
    let mut known: Vec<f64> = gaps.iter().flatten().copied().collect();
    if known.len() < USUAL_NEEDS {
        return LOW;
    }
    let middle = known.len() / 2;
    let (_, usual, _) = known.select_nth_unstable_by(middle, f64::total_cmp);
    LOW.min(*usual * OF_USUAL)
}

// The similarity at every gap between two exchanges; none where too little was said to tell.
fn similarities(vectors: &[Terms]) -> Vec<Option<f64>> {
    let mut spread: HashMap<u64, f64> = HashMap::new();
    for term in vectors.iter().flat_map(Terms::keys) {
        *spread.entry(*term).or_default() += 1.0;
    }
    #[allow(clippy::cast_precision_loss)]
    let all = vectors.len() as f64;
    // A term that is everywhere tells nothing about where it is.
    let rarity = |term: &u64| (1.0 + all / spread.get(term).copied().unwrap_or(1.0)).ln();
    let window = |range: std::ops::Range<usize>| {
        let mut sum: Vec<(u64, f64)> = vectors
            .get(range)
            .unwrap_or_default()
            .iter()
            .flatten()
            .map(|(term, weight)| (*term, *weight))
            .collect();
        // In one order, so that rounding comes out the same every time.
        sum.sort_unstable_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
        sum.dedup_by(|right, left| {
            let same = left.0 == right.0;
            if same {
                left.1 += right.1;
            }
            same
        });
        sum
    };
    let gap = |at: usize| {
        let left = window(at.saturating_sub(WINDOW)..at);
        let right = window(at..(at + WINDOW).min(vectors.len()));
        let weight = |side: &[(u64, f64)]| side.iter().map(|(_, weight)| weight).sum::<f64>();
        (weight(&left) >= LEAST_WEIGHT && weight(&right) >= LEAST_WEIGHT)
            .then(|| cosine(&left, &right, rarity))
    };
    (1..vectors.len()).map(gap).collect()
}

// Both sides by term, ascending.
fn cosine(left: &[(u64, f64)], right: &[(u64, f64)], rarity: impl Fn(&u64) -> f64) -> f64 {
    let norm =
        |side: &[(u64, f64)]| side.iter().map(|(term, weight)| (weight * rarity(term)).powi(2)).sum::<f64>();
    let mut theirs = right.iter().peekable();
    let mut shared = 0.0;
    for (term, weight) in left {
        while theirs.next_if(|(other, _)| other < term).is_some() {}
        if let Some((_, other)) = theirs.next_if(|(other, _)| other == term) {
            shared += weight * other * rarity(term).powi(2);
        }
    }
    shared / (norm(left) * norm(right)).sqrt().max(f64::MIN_POSITIVE)
}
