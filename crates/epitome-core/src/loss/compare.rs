//! The comparison itself: one walk over the source, one over what is shown.

use std::collections::{HashMap, HashSet};

use super::claims::{Claim, claims};
use super::parts::Part;
use super::report::{Invented, Loss, Lost, What};
use super::sayings;
use super::support::{Phrase, Search, read};
use super::things::{Handles, Met, Scored, Things};
use super::trace::{Manner, Traced, Voice};
use super::verify::Verifier;
use super::vocabulary::{Hits, Vocabulary};
use super::words::is_word;
use crate::hash::RecallId;
use crate::items;

/// The two sides of a comparison.
pub(super) struct Sides<'a> {
    /// All texts of the source, in order.
    pub(super) parts: Vec<Part<'a>>,
    /// The recall ids that the view names, by the number of the part.
    pub(super) recall: HashMap<u32, RecallId>,
    /// What is shown and is no part of the source: summaries, and what pruning left of longer texts.
    pub(super) shown: Vec<&'a str>,
    /// The summaries.
    pub(super) summaries: Vec<&'a str>,
}

pub(super) fn compare(sides: &Sides<'_>) -> Loss {
    let said: Vec<Vec<Claim<'_>>> = sides.summaries.iter().map(|summary| claims(summary)).collect();
    let mut vocabulary = Vocabulary::new();
    let known: Vec<Vec<Phrase<'_>>> = said
        .iter()
        .map(|claims| claims.iter().map(|claim| Phrase::new(claim.text, &mut vocabulary)).collect())
        .collect();
    let sources = said.iter().flatten().filter_map(|claim| claim.source).map(|source| source.message);
    let handles = Handles { texts: sides.recall.clone(), messages: sources.collect::<HashSet<_>>() };
    let (hits, things) = walk(sides, &vocabulary, &handles);
    let mut loss = Loss { claims: said.iter().map(Vec::len).sum(), ..Loss::default() };
    loss.invented = invented(sides, &said, &known, &hits, vocabulary.len());
    let all: Vec<Claim<'_>> = said.into_iter().flatten().collect();
    let (mut missing, mut recoverable) = things.fates(&sides.parts, &handles, &mut loss.tallies);
    let unsaid = sayings::fates(&sides.parts, &all, &sides.shown, &handles, &mut loss.tallies);
    missing.extend(unsaid.0);
    recoverable.extend(unsaid.1);
    loss.tallies.retain(|tally| tally.total > 0);
    loss.tallies.sort_by_key(|tally| tally.what);
    loss.missing = most_important(missing);
    loss.recoverable = most_important(recoverable);
    loss
}

fn walk(sides: &Sides<'_>, vocabulary: &Vocabulary, handles: &Handles) -> (Hits, Things) {
    let mut things = Things::default();
    let (mut hits, mut place) = (Vec::new(), 0);
    for (number, part) in (0_u32..).zip(&sides.parts) {
        let recallable = handles.of(number, part).is_some();
        let mut meet = |item: &items::Found<'_>, key: &str, code: u64| {
            things.meet(&Met { item, code, plain: key == item.text }, number, part, recallable);
        };
        read(part.text, vocabulary, number, &mut place, &mut hits, &mut meet);
    }
    let shown = sides.shown.iter().flat_map(|text| items::find(text));
    shown.filter(|item| !is_word(item)).for_each(|item| things.show(&item));
    (Hits::new(hits, vocabulary.len()), things)
}

fn invented(
    sides: &Sides<'_>,
    said: &[Vec<Claim<'_>>],
    known: &[Vec<Phrase<'_>>],
    hits: &Hits,
    words: usize,
) -> Vec<Invented> {
    let mut verifier = Verifier::new(&sides.parts, Search::new(hits, words));
    let mut invented = Vec::new();
    for (summary, (claims, phrases)) in said.iter().zip(known).enumerate() {
        let pairs = claims.iter().zip(phrases).filter(|(_, phrase)| !phrase.units.is_empty());
        let traced: Vec<Traced<'_, '_>> =
            pairs.map(|(claim, phrase)| verifier.trace(claim, phrase)).collect();
        let manner = |voice: Voice| Manner::of(&traced, &sides.parts, voice);
        let (free, traceable) = (manner(Voice::Free), manner(Voice::Traceable));
        for traced in &traced {
            let manner = if traced.voice() == Voice::Free { free } else { traceable };
            let findings = verifier.judge(traced, manner);
            invented.extend(findings.into_iter().map(|finding| traced.invented(finding, summary)));
        }
    }
    invented
}

// What was ordered and decided first, then by how much it matters.
fn most_important(mut losses: Vec<Scored>) -> Vec<Lost> {
    let rank = |what: What| match what {
        What::Constraint => 0,
        What::Decision => 1,
        _ => 2,
    };
    losses.sort_by(|left, right| {
        let by_rank = rank(left.lost.what).cmp(&rank(right.lost.what));
        let by_score = right.score.total_cmp(&left.score);
        by_rank.then(by_score).then(left.lost.message.cmp(&right.lost.message))
    });
    losses.truncate(Loss::LONGEST_LIST);
    losses.into_iter().map(|scored| scored.lost).collect()
}
