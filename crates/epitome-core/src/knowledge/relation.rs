//! "What it is about" – "verb" – "what is the case": where a sentence has these parts.

use std::ops::Range;

use super::cues::{Cue, Relation};
use super::said::Said;

/// A sentence in its parts.
pub(super) struct Parts {
    pub(super) relation: Relation,
    /// The words that it is about.
    pub(super) about: Range<usize>,
    /// The first word behind the verb.
    pub(super) value: usize,
}

/// So many words may say what a sentence is about.
const LONGEST: usize = 8;

/// Words with which nothing begins that is understood by itself.
const POINTING: &str = "it this that these those there here he she they you i what which who whom how why where when everything \
    something anything nothing all none one both some many most each if because as while although though after before \
    once since then until unless let another such no not any either neither only my-self es dies diese dieser dieses \
    hier dort er sie ihr ich was wer wie wo il elle ils elles ce cela ceci vous je tu ça esto eso ello él ella \
    ellos qué quién cómo";
/// Words that part a sentence in sentences of their own.
const PARTING: &str = "that which who whom whose when where if because while whether how what why to it says said say dass wenn weil ob qui que \
    quand si cuando porque i you we and or but could should would can will must didn't doesn't don't not";
/// Words about the work at hand; what is said of them holds until the next step.
const PASSING: &str = "error errors output result results step steps line lines test tests failure change changes fix solution \
    difference answer question problem issue task goal plan idea way thing things part point current failing remaining \
    first second third last next previous new old only main best other same right example traceback message reason \
    fehler ausgabe ergebnis schritt test tests erreur sortie résultat étape error resultado paso status state";

pub(super) fn parts(said: &Said<'_>) -> Option<Parts> {
    // Of verbs that begin in one place the longest is meant: "is", "is in", "is located in".
    let mut best: Option<(Relation, Range<usize>)> = None;
    for hit in &said.hits {
        let Cue::Relation(relation) = hit.cue else { continue };
        match &best {
            Some((_, words)) if words.start < hit.words.start => break,
            Some((_, words)) if words.end >= hit.words.end => {}
            _ => best = Some((relation, hit.words.clone())),
        }
    }
    let (relation, verb) = best?;
    let about = about(said, verb.start)?;
    Some(Parts { relation, about, value: verb.end })
}

// The words before the verb, as far as they belong together.
fn about(said: &Said<'_>, verb: usize) -> Option<Range<usize>> {
    let words = said.words.get(..verb)?;
    let parted = words.iter().rposition(|word| word.closes).map_or(0, |at| at + 1);
    let led = said
        .hits
        .iter()
        .filter(|hit| hit.cue == Cue::Memory && hit.words.end <= verb)
        .map(|hit| hit.words.end);
    let mut start = parted.max(led.max().unwrap_or(0));
    while lists("and but so also ok okay well und aber et mais y pero that actually", said.low(start)) {
        start += 1;
    }
    let about = start..verb;
    let fits = (1..=LONGEST).contains(&about.len())
        && !lists(POINTING, said.low(start))
        && !said.lows(start + 1..verb).any(|low| lists(PARTING, low));
    fits.then_some(about)
}

/// Whether these words are about the work at hand.
pub(super) fn is_passing(said: &Said<'_>, about: Range<usize>) -> bool {
    said.lows(about).any(|low| lists(PASSING, low))
}

/// Whether a list that is parted by blanks has a word.
pub(super) fn lists(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}
