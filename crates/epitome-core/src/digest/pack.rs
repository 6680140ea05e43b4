//! Packs what is worth most into a number of tokens.
//!
//! Greedy by worth for a token: what one choice covers lowers the worth of others, so a candidate's worth is looked at
//! again when its turn comes. Only quoting next to a quotation is worth more than before; those neighbours line up anew.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::quick::QuickSet;
use super::reading::Reading;
use super::worth::Worth;

/// Something that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// A unit is quoted.
    Quote(usize),
    /// A thing is named.
    Name(usize),
}

/// What the first quotation from a message costs beside its text: saying whose it is.
const HEADING: f32 = 3.0;

/// Where so many choices found no room, the rest is not looked at.
const REFUSALS: usize = 16;

struct Candidate {
    ratio: f32,
    choice: Choice,
}

/// What to quote and to name, the best first, and what everything up to each choice costs, about.
#[derive(Default)]
pub(super) struct Ranking {
    pub(super) choices: Vec<Choice>,
    costs: Vec<f32>,
    /// What the best of those that found no room is worth for a token; nothing where there was room for all.
    pub(super) price: f32,
}

impl Ranking {
    /// How many choices cost at most so many tokens.
    pub(super) fn within(&self, tokens: f32) -> usize {
        self.costs.partition_point(|cost| *cost <= tokens)
    }

    /// What the first choices cost.
    pub(super) fn cost(&self, choices: usize) -> f32 {
        choices.checked_sub(1).and_then(|last| self.costs.get(last)).copied().unwrap_or(0.0)
    }
}

/// Ranks until about so many tokens are spent.
pub(super) fn ranked(reading: &Reading<'_>, worth: &mut Worth, tokens: f32) -> Ranking {
    let mut packing = Packing { reading, worth, opened: QuickSet::default() };
    // Of what somebody said more than once, only the last time lines up.
    let mut lines = QuickSet::default();
    let line = |unit: usize| Some((reading.units.get(unit)?.key, reading.part(unit)?.voice));
    let is_last = |unit: &usize| lines.insert(line(*unit));
    let units = (0..reading.units.len()).rev().filter(|unit| !reading.is_shown(*unit));
    let quotes = units.filter(is_last).map(Choice::Quote);
    let names = (0..reading.things.len()).map(Choice::Name);
    let mut queue: BinaryHeap<Candidate> =
        quotes.chain(names).map(|choice| packing.candidate(choice)).filter(|one| one.ratio > 0.0).collect();
    let mut taken = vec![false; reading.units.len()];
    let mut ranking = Ranking::default();
    let (mut room, mut refused) = (tokens, 0);
    while let Some(best) = queue.pop() {
        if best.ratio <= 0.0 || refused == REFUSALS {
            break;
        }
        if matches!(best.choice, Choice::Quote(unit) if taken.get(unit).copied().unwrap_or(true)) {
            continue;
        }
        let now = packing.candidate(best.choice);
        if now.ratio < best.ratio && queue.peek().is_some_and(|next| now < *next) {
            queue.push(now);
            continue;
        }
        let cost = packing.cost(best.choice);
        if cost > room {
            ranking.price = ranking.price.max(best.ratio);
            refused += 1;
            continue;
        }
        room -= cost;
        ranking.choices.push(best.choice);
        ranking.costs.push(tokens - room);
        packing.take(best.choice);
        if let Choice::Quote(unit) = best.choice {
            if let Some(taken) = taken.get_mut(unit) {
                *taken = true;
            }
            let beside = [reading.before(unit), reading.after(unit)].into_iter().flatten();
            queue.extend(beside.map(|unit| packing.candidate(Choice::Quote(unit))));
        }
    }
    ranking
}

struct Packing<'a, 'p> {
    reading: &'a Reading<'p>,
    worth: &'a mut Worth,
    /// Messages that are quoted from.
    opened: QuickSet<usize>,
}

impl Packing<'_, '_> {
    fn candidate(&self, choice: Choice) -> Candidate {
        let worth = match choice {
            Choice::Quote(unit) => self.worth.of_unit(self.reading, unit),
            Choice::Name(thing) => self.worth.of_thing(thing),
        };
        Candidate { ratio: worth / self.cost(choice), choice }
    }

    fn cost(&self, choice: Choice) -> f32 {
        match choice {
            Choice::Name(thing) => self.reading.things.get(thing).map_or(1.0, |thing| thing.cost),
            Choice::Quote(unit) => {
                let text = self.reading.units.get(unit).map_or(1.0, |unit| unit.cost);
                let message = self.reading.part(unit).map(|part| part.message);
                let opened = message.is_some_and(|message| self.opened.contains(&message));
                if opened { text } else { text + HEADING }
            }
        }
    }

    fn take(&mut self, choice: Choice) {
        match choice {
            Choice::Name(thing) => self.worth.cover_thing(thing),
            Choice::Quote(unit) => {
                self.worth.cover(self.reading, unit);
                self.opened.extend(self.reading.part(unit).map(|part| part.message));
            }
        }
    }
}

// Of equals, what was said last.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |choice: &Choice| match choice {
            Choice::Quote(unit) => (1, *unit),
            Choice::Name(thing) => (0, *thing),
        };
        self.ratio.total_cmp(&other.ratio).then_with(|| place(&self.choice).cmp(&place(&other.choice)))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
