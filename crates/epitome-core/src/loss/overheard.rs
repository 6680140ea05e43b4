//! What a summary passes on without saying from whom, and only tools say.

use std::ops::Range;

use super::Sources;
use super::claims::{Claim, Form, claims};
use super::support::{Phrase, Search, read};
use super::vocabulary::{Hits, Vocabulary};
use super::voices::{Voices, is_overheard};
use crate::checkpoint::Section;

/// A sentence of a summary that only tools say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overheard<'s> {
    /// The sentence.
    pub text: &'s str,
    /// The line of the summary it stands in.
    pub line: Range<usize>,
}

/// The sentences of a summary that only tools say, where it does not say so itself: by whom a sentence is, by a message, or by a
/// heading for what was quoted or failed.
pub fn overheard<'s>(summary: &'s str, sources: &Sources<'_>) -> Vec<Overheard<'s>> {
    let is_bare = |claim: &Claim<'_>| {
        let is_told = claim.source.is_some() || claim.speaker.is_some() || claim.added;
        claim.form == Form::Sentence && !is_told && claim.section != Some(Section::Failed)
    };
    let claims: Vec<Claim<'s>> = claims(summary).into_iter().filter(is_bare).collect();
    let mut vocabulary = Vocabulary::new();
    let phrases: Vec<Phrase<'_>> =
        claims.iter().map(|claim| Phrase::new(claim.text, &mut vocabulary)).collect();
    let parts = sources.parts();
    let (mut hits, mut place) = (Vec::new(), 0);
    for (number, part) in (0_u32..).zip(&parts) {
        read(part.text, &vocabulary, number, &mut place, &mut hits, &mut |_, _, _| {});
    }
    let hits = Hits::new(hits, vocabulary.len());
    let mut search = Search::new(&hits, vocabulary.len());
    let mut found = Vec::new();
    for (claim, phrase) in claims.iter().zip(&phrases) {
        if is_overheard((claim.text, phrase), Voices::Talking, &parts, &mut search) {
            found.push(Overheard { text: claim.text, line: claim.line.clone() });
        }
    }
    found
}
