//! How much of a sentence stands together in a source, whatever else is wrong or right with it.

use super::Sources;
use super::support::{Phrase, Search, read};
use super::vocabulary::{Hits, Vocabulary};

/// Which part of the words of each text stands together somewhere in the source, from 0 to 1; names and numbers count
/// twice. A text without a word that says something is taken for said.
pub fn coverage(texts: &[&str], sources: &Sources<'_>) -> Vec<f32> {
    let mut vocabulary = Vocabulary::new();
    let phrases: Vec<Phrase<'_>> = texts.iter().map(|text| Phrase::new(text, &mut vocabulary)).collect();
    let all = sources.parts();
    let (mut hits, mut place) = (Vec::new(), 0);
    for (number, part) in (0_u32..).zip(&all) {
        read(part.text, &vocabulary, number, &mut place, &mut hits, &mut |_, _, _| {});
    }
    let hits = Hits::new(hits, vocabulary.len());
    let mut search = Search::new(&hits, vocabulary.len());
    let everything = 0..all.len() as u32;
    let said = |phrase: &Phrase<'_>| match phrase.units.is_empty() {
        true => 1.0,
        false => search.best(phrase, &everything, &|_| true).coverage,
    };
    phrases.iter().map(said).collect()
}
