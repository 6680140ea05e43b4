//! What is new among findings, what was known, and what takes the place of what was known.

use std::collections::HashMap;

use super::finding::{Finding, Kind, Known, Standing};
use super::sense::Sense;

/// An earlier finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// The one of this number among those that are known.
    Known(usize),
    /// The one of this number among the fresh ones.
    Fresh(usize),
}

/// What a fresh finding is beside those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing was known of it.
    New,
    /// It was known.
    Same(Earlier),
    /// It takes the place of an earlier one, which is no longer the case.
    Supersedes(Earlier),
}

/// What each fresh finding is, one after the other: each sees those before it.
///
/// `known` are those that count, and those that were rejected; what was superseded before is no longer among them, so
/// that it can be said anew.
pub fn reconcile(known: &[Known], fresh: &[Finding]) -> Vec<Change> {
    let mut shelf = Shelf::default();
    for (number, known) in known.iter().enumerate() {
        let sense = Sense::of(known.kind, &known.subject, &known.text);
        shelf.add(sense, Earlier::Known(number), known.standing);
    }
    let mut changes = Vec::with_capacity(fresh.len());
    for (number, finding) in fresh.iter().enumerate() {
        let sense = Sense::of(finding.kind, &finding.subject, &finding.text);
        let change = shelf.change(&sense);
        if let Change::Supersedes(earlier) = change {
            shelf.remove(earlier);
        }
        if !matches!(change, Change::Same(_)) {
            shelf.add(sense, Earlier::Fresh(number), Standing::Current);
        }
        changes.push(change);
    }
    changes
}

/// A finding that counts, or was rejected.
struct Place {
    sense: Sense,
    earlier: Earlier,
    standing: Standing,
}

/// Findings by what they say and what they are about.
#[derive(Default)]
struct Shelf {
    places: Vec<Option<Place>>,
    by_normal: HashMap<(Kind, String), usize>,
    by_subject: HashMap<(Kind, String), Vec<usize>>,
    by_word: HashMap<String, Vec<usize>>,
}

impl Shelf {
    fn add(&mut self, sense: Sense, earlier: Earlier, standing: Standing) {
        let number = self.places.len();
        self.by_normal.insert((sense.kind, sense.normal.clone()), number);
        self.by_subject.entry((sense.kind, sense.subject.clone())).or_default().push(number);
        for word in sense.about.iter().chain(&sense.values) {
            self.by_word.entry(word.clone()).or_default().push(number);
        }
        self.places.push(Some(Place { sense, earlier, standing }));
    }

    fn remove(&mut self, earlier: Earlier) {
        for place in self.places.iter_mut() {
            if place.as_ref().is_some_and(|place| place.earlier == earlier) {
                *place = None;
            }
        }
    }

    fn change(&self, sense: &Sense) -> Change {
        if let Some(same) =
            self.by_normal.get(&(sense.kind, sense.normal.clone())).and_then(|at| self.place(*at))
        {
            return Change::Same(same.earlier);
        }
        let alike = self.by_subject.get(&(sense.kind, sense.subject.clone()));
        let mut current = None;
        for place in alike.into_iter().flatten().filter_map(|at| self.place(*at)) {
            if sense.says_as(&place.sense) {
                return Change::Same(place.earlier);
            }
            if place.standing == Standing::Current {
                current = Some(place.earlier);
            }
        }
        current.or_else(|| self.ousted(sense)).map_or(Change::New, Change::Supersedes)
    }

    // The one that shares most of its subject, the latest of them.
    fn ousted(&self, sense: &Sense) -> Option<Earlier> {
        let words = sense.about.iter().chain(&sense.replaces);
        let mut candidates: Vec<usize> =
            words.filter_map(|word| self.by_word.get(word)).flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        let ousted = |place: &&Place| place.standing == Standing::Current && sense.ousts(&place.sense);
        let places = candidates.into_iter().filter_map(|at| self.place(at)).filter(ousted);
        let shared = |place: &&Place| place.sense.about.intersection(&sense.about).count();
        places.max_by_key(shared).map(|place| place.earlier)
    }

    fn place(&self, at: usize) -> Option<&Place> {
        self.places.get(at)?.as_ref()
    }
}
