//! The words and items that are looked for, and the places where they were found.

use std::collections::HashMap;

use super::words::{Codes, NEGATION, negations};

/// How many words the sketch of a vocabulary tells apart.
const SKETCH: usize = 1 << 16;

/// Words and items by their codes. Most words of a source are in no vocabulary, which a sketch tells at once.
pub(super) struct Vocabulary {
    ids: HashMap<u64, u32, Codes>,
    sketch: Vec<u64>,
    units: usize,
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        let mut vocabulary = Self { ids: HashMap::default(), sketch: vec![0; SKETCH / 64], units: 0 };
        let id = vocabulary.add(NEGATION);
        negations().for_each(|code| vocabulary.insert(code, id));
        vocabulary
    }

    /// The number of a code, a new one where it has none yet.
    pub(super) fn add(&mut self, code: u64) -> u32 {
        if let Some(id) = self.ids.get(&code) {
            return *id;
        }
        let id = self.units as u32;
        self.units += 1;
        self.insert(code, id);
        id
    }

    fn insert(&mut self, code: u64, id: u32) {
        self.ids.insert(code, id);
        let bit = bit(code);
        if let Some(bits) = self.sketch.get_mut(bit / 64) {
            *bits |= 1 << (bit % 64);
        }
    }

    /// The number of a code, if it has one.
    #[inline]
    pub(super) fn find(&self, code: u64) -> Option<u32> {
        let bit = bit(code);
        let known = self.sketch.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 == 1);
        if known { self.ids.get(&code).copied() } else { None }
    }

    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.units
    }
}

fn bit(code: u64) -> usize {
    (code.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize & (SKETCH - 1)
}

/// A word or an item of the vocabulary at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Its number in the vocabulary.
    pub(super) unit: u32,
    /// The part of the source that it stands in.
    pub(super) part: u32,
    /// The number of the word.
    pub(super) place: u32,
}

/// All hits, in the order of their places and by unit.
pub(super) struct Hits {
    pub(super) all: Vec<Hit>,
    /// Where the hits of each unit begin in `order`.
    starts: Vec<u32>,
    /// The numbers of the hits, sorted by unit, in the order of their places.
    order: Vec<u32>,
}

impl Hits {
    pub(super) fn new(all: Vec<Hit>, units: usize) -> Self {
        let mut starts = vec![0_u32; units + 2];
        for hit in &all {
            if let Some(count) = starts.get_mut(hit.unit as usize + 2) {
                *count += 1;
            }
        }
        for at in 1..starts.len() {
            let before = starts.get(at - 1).copied().unwrap_or(0);
            if let Some(start) = starts.get_mut(at) {
                *start += before;
            }
        }
        // Each start moves on as its hits are put in, and ends where the next unit begins.
        let mut order = vec![0; all.len()];
        for (number, hit) in all.iter().enumerate() {
            if let Some(next) = starts.get_mut(hit.unit as usize + 1) {
                if let Some(place) = order.get_mut(*next as usize) {
                    *place = number as u32;
                }
                *next += 1;
            }
        }
        Self { all, starts, order }
    }

    /// The numbers of the hits of a unit.
    pub(super) fn of(&self, unit: u32) -> &[u32] {
        let bound = |at: usize| self.starts.get(at).map_or(0, |start| *start as usize);
        self.order.get(bound(unit as usize)..bound(unit as usize + 1)).unwrap_or_default()
    }
}
