//! Where in a source a sentence is from: the place in which most of its words stand together.

use std::ops::Range;

use super::vocabulary::{Hit, Hits, Vocabulary};
use super::words::{NEGATION, code, hash, is_common, is_word, negates, says_nothing};
use crate::items::{Found, Kind, Token, Walk};

/// A sentence is compared by no more words than this.
const MOST_UNITS: usize = 64;
/// The rarest words of a sentence lead to its places.
const ANCHORS: usize = 4;
/// No more places than this are looked at for each.
const MOST_PLACES: usize = 64;
/// How many words may stand between those of a sentence.
const SLACK: u32 = 8;

/// A word or an item of a sentence.
#[derive(Clone, Debug)]
pub(super) struct Unit<'s> {
    /// Its number in the vocabulary.
    pub(super) id: u32,
    /// The item, where it is one.
    pub(super) item: Option<Found<'s>>,
    /// Whether it is what turns the sentence into its opposite.
    pub(super) negates: bool,
    /// Whether it stands in orders and decisions of all kinds.
    pub(super) common: bool,
    /// Where it stands in the sentence.
    pub(super) span: Range<usize>,
    /// The number of the word in the sentence.
    place: u32,
}

impl Unit<'_> {
    // Two sentences that share a path are more likely to be about the same than two that share a word; that both order
    // or decide something says little.
    fn weight(&self) -> f32 {
        match &self.item {
            Some(item) if item.is_telling() => 2.0,
            None if self.common => 0.25,
            _ => 1.0,
        }
    }
}

/// A sentence as it is looked for.
#[derive(Clone, Debug)]
pub(super) struct Phrase<'s> {
    /// The words and items that it can be known by, each once.
    pub(super) units: Vec<Unit<'s>>,
    /// How many words it has.
    length: u32,
}

impl<'s> Phrase<'s> {
    /// Reads a sentence and takes its words into the vocabulary.
    pub(super) fn new(text: &'s str, vocabulary: &mut Vocabulary) -> Self {
        let mut phrase = Self { units: Vec::new(), length: 0 };
        for token in Walk::<true>::new(text) {
            phrase.length += 1;
            phrase
                .units
                .extend(unit(text, token, phrase.length, vocabulary).filter(|unit| phrase.is_new(unit)));
            if phrase.units.len() == MOST_UNITS {
                break;
            }
        }
        phrase
    }

    fn is_new(&self, unit: &Unit<'_>) -> bool {
        self.units.iter().all(|other| other.id != unit.id)
    }

    /// How much these of its words weigh.
    pub(super) fn weight(&self, words: u64) -> f32 {
        let units = self.units.iter().enumerate().filter(|(bit, _)| words >> bit & 1 == 1);
        units.map(|(_, unit)| unit.weight()).sum()
    }

    // All its words, one bit each.
    fn everything(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.units.len() as u32).unwrap_or(0)
    }
}

fn unit<'s>(text: &'s str, token: Token, place: u32, vocabulary: &mut Vocabulary) -> Option<Unit<'s>> {
    let span = token.start..token.end;
    if let Some(item) = token.item(text).filter(|item| !is_word(item)) {
        return Some(Unit {
            span,
            id: vocabulary.add(hash(&item.key())),
            item: Some(item),
            negates: false,
            common: false,
            place,
        });
    }
    let code = Some(code(text, span.clone())).filter(|code| !says_nothing(*code))?;
    let negates = negates(code);
    let id = vocabulary.add(if negates { NEGATION } else { code });
    Some(Unit { id, item: None, negates, common: is_common(code), span, place })
}

// The name of a file, the last part of a joined name.
fn last_part<'k>(item: &Found<'_>, key: &'k str) -> Option<&'k str> {
    const SHORTEST: usize = 4;
    let separators: &[char] = match item.kind {
        Kind::Path => &['/', '\\'],
        Kind::Identifier | Kind::Error => &['.', ':'],
        _ => return None,
    };
    let at = key.rfind(separators)? + 1;
    key.get(at..).filter(|part| part.len() >= SHORTEST)
}

/// What is told of every item that is read: the item, its key and the key's code.
pub(super) type Meet<'m, 't> = dyn FnMut(&Found<'t>, &str, u64) + 'm;

/// Finds the words and items of a vocabulary in a text; `meet` is told of every item.
pub(super) fn read<'t>(
    text: &'t str,
    vocabulary: &Vocabulary,
    part: u32,
    place: &mut u32,
    hits: &mut Vec<Hit>,
    meet: &mut Meet<'_, 't>,
) {
    for token in Walk::<true>::new(text) {
        *place += 1;
        let code = match token.item(text) {
            Some(item) if !is_word(&item) => {
                let key = item.key();
                let code = hash(&key);
                meet(&item, &key, code);
                // Who names a file means that file wherever it lies.
                if let Some(unit) = last_part(&item, &key).and_then(|part| vocabulary.find(hash(part))) {
                    hits.push(Hit { unit, part, place: *place });
                }
                code
            }
            _ => code(text, token.start..token.end),
        };
        if let Some(unit) = vocabulary.find(code) {
            hits.push(Hit { unit, part, place: *place });
        }
    }
    // What stands in different texts stands not together.
    *place += SLACK * 4;
}

/// The place that says most of a sentence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Support {
    /// Which part of its words stands there, from 0 to 1.
    pub(super) coverage: f32,
    /// The words, one bit each, of all places that say nearly as much.
    pub(super) nearby: u64,
    /// The part of the source.
    pub(super) part: u32,
}

/// Looks for the places of sentences.
pub(super) struct Search<'h> {
    hits: &'h Hits,
    /// For each unit its number in the sentence at hand, from 1 on.
    numbers: Vec<u8>,
    /// The places that were looked at: their words, and how much of the sentence these are.
    seen: Vec<(u64, f32)>,
}

impl<'h> Search<'h> {
    pub(super) fn new(hits: &'h Hits, units: usize) -> Self {
        Self { hits, numbers: vec![0; units], seen: Vec::new() }
    }

    /// Whether a unit stands anywhere.
    pub(super) fn has(&self, unit: &Unit<'_>) -> bool {
        !self.hits.of(unit.id).is_empty()
    }

    /// What these parts say of a sentence, its words taken from wherever they stand.
    pub(super) fn together(&self, phrase: &Phrase<'_>, parts: &Range<u32>) -> Support {
        let is_there = |unit: &Unit<'_>| !self.places(unit.id, parts).is_empty();
        let units = phrase.units.iter().enumerate();
        let nearby = units.fold(0, |mask, (bit, unit)| mask | u64::from(is_there(unit)) << bit);
        let coverage = phrase.weight(nearby) / phrase.weight(self.expected(phrase)).max(1.0);
        Support { coverage, nearby, part: parts.start }
    }

    /// Whether a unit stands as near to one of its neighbours in a sentence as it does there, in these parts.
    pub(super) fn is_beside(&self, phrase: &Phrase<'_>, number: usize, parts: &Range<u32>) -> bool {
        let Some(unit) = phrase.units.get(number) else { return false };
        let neighbours = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
        let mut neighbours = neighbours.filter_map(|at| phrase.units.get(at));
        neighbours.any(|neighbour| {
            let apart = neighbour.place.abs_diff(unit.place) + 1;
            let mut places = self.places(neighbour.id, parts).iter();
            places.any(|hit| self.is_near(*hit as usize, unit.id, apart))
        })
    }

    // Whether a unit stands at most so many words from a hit.
    fn is_near(&self, hit: usize, unit: u32, apart: u32) -> bool {
        let all = &self.hits.all;
        let Some(here) = all.get(hit) else { return false };
        let near = |other: &&Hit| other.place.abs_diff(here.place) <= apart;
        let before = all.get(..hit).unwrap_or_default().iter().rev().take_while(near);
        let after = all.get(hit..).unwrap_or_default().iter().take_while(near);
        before.chain(after).any(|other| other.unit == unit)
    }

    // The hits of a unit in a range of parts.
    fn places(&self, unit: u32, parts: &Range<u32>) -> &'h [u32] {
        let hits = self.hits.of(unit);
        let before = |part: u32| {
            hits.partition_point(|hit| self.hits.all.get(*hit as usize).is_some_and(|hit| hit.part < part))
        };
        hits.get(before(parts.start)..before(parts.end)).unwrap_or_default()
    }

    /// The place in these parts that says most of a sentence; `allowed` may rule parts out.
    pub(super) fn best(
        &mut self,
        phrase: &Phrase<'_>,
        parts: &Range<u32>,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Support {
        let everything = self.expected(phrase);
        let total = phrase.weight(everything).max(1.0);
        self.seen.clear();
        self.number(&phrase.units);
        let mut best = Support::default();
        let reach = phrase.length + SLACK;
        'search: for anchor in self.anchors(&phrase.units, parts) {
            for hit in spread(anchor) {
                let Some((words, part)) = self.around(*hit as usize, reach, allowed) else { continue };
                let coverage = phrase.weight(words & everything) / total;
                self.seen.push((words, coverage));
                if coverage > best.coverage {
                    best = Support { coverage, nearby: 0, part };
                }
                if words & everything == everything {
                    break 'search;
                }
            }
        }
        self.forget(&phrase.units);
        const NEARLY: f32 = 0.15;
        let close = self.seen.iter().filter(|(_, coverage)| *coverage >= best.coverage - NEARLY);
        best.nearby = close.fold(0, |mask, (words, _)| mask | words);
        best
    }

    // All words of a sentence but a last one that stands nowhere, as it may have been cut short.
    fn expected(&self, phrase: &Phrase<'_>) -> u64 {
        let whole = phrase.everything();
        let cut = phrase.units.len() > 1 && phrase.units.last().is_some_and(|last| !self.has(last));
        if cut { whole >> 1 } else { whole }
    }

    fn number(&mut self, units: &[Unit<'_>]) {
        for (number, unit) in (1..).zip(units) {
            if let Some(place) = self.numbers.get_mut(unit.id as usize) {
                *place = number;
            }
        }
    }

    fn forget(&mut self, units: &[Unit<'_>]) {
        for unit in units {
            if let Some(place) = self.numbers.get_mut(unit.id as usize) {
                *place = 0;
            }
        }
    }

    // The places of the rarest units.
    fn anchors(&self, units: &[Unit<'_>], parts: &Range<u32>) -> Vec<&'h [u32]> {
        let places = units.iter().filter(|unit| !unit.negates).map(|unit| self.places(unit.id, parts));
        let mut places: Vec<&[u32]> = places.filter(|places| !places.is_empty()).collect();
        places.sort_by_key(|places| places.len());
        places.truncate(ANCHORS);
        places
    }

    // The units of the sentence that stand around a hit, in the same part.
    fn around(&self, hit: usize, reach: u32, allowed: &dyn Fn(u32) -> bool) -> Option<(u64, u32)> {
        let all = &self.hits.all;
        let Hit { part, place, .. } = *all.get(hit)?;
        if !allowed(part) {
            return None;
        }
        let bit = |near: &Hit| match self.numbers.get(near.unit as usize) {
            Some(0) | None => 0,
            Some(number) => 1_u64 << (number - 1),
        };
        let together = |near: &&Hit| near.part == part && near.place.abs_diff(place) <= reach;
        let before = all.get(..hit)?.iter().rev().take_while(together).fold(0, |mask, near| mask | bit(near));
        let after = all.get(hit..)?.iter().take_while(together).fold(before, |mask, near| mask | bit(near));
        Some((after, part))
    }
}

// Of many places the first and the last.
fn spread(places: &[u32]) -> impl Iterator<Item = &u32> {
    let half = MOST_PLACES / 2;
    let (head, tail) = match places.len() {
        0..=MOST_PLACES => (places, &places[..0]),
        length => (&places[..half], &places[length - half..]),
    };
    head.iter().chain(tail)
}
