//! What everything is worth: how likely it is that the work to come needs it again.
//!
//! Four goods are weighed against each other, each as a share of all there is of it: things by name, things that stand
//! together, text word for word, and what the user said. The likelihoods follow what agents were seen to reuse: what
//! they wrote themselves, above all calls that they made more than once; what came up in several messages; what was said
//! lately; and hardly ever what only a tool has listed.

use super::parts::Voice;
use super::quick::{QuickMap, QuickSet};
use super::reading::{Reading, Thing};
use super::said::{Said, said, says_decided};
use super::units::Unit;
use crate::items::Kind;

/// How much the goods count against each other.
const THINGS: f32 = 6.0;
const PAIRS: f32 = 0.4;
const WORDING: f32 = 6.0;
const ORDERS: f32 = 6.0;
/// A wish against an order.
const WISH: f32 = 0.6;
const DECISIONS: f32 = 0.3;
/// What the agent says to itself to remember; of many such notes each is worth at least half as much as an order.
const NOTES: f32 = 2.0;
const TERMS: f32 = 0.2;

/// Of many orders each is worth at least this.
const LEAST_ORDER: f32 = 0.2;
/// What is left of the worth of a result that was replaced by a later one.
const STALE: f32 = 0.05;

/// Of so many numbers in one listing none stands out by itself, if it is no longer than this.
const CROWD: u32 = 48;
const COUNT: usize = 4;

/// A short line counts for this part of its words.
const SHORT: u32 = 4;
/// Words in a row that make text a quotation.
const RUN: u32 = 8;

/// The worth of all units and things of a reading, and what of it is covered so far.
pub(super) struct Worth {
    things: Vec<f32>,
    lines: QuickMap<u64, f32>,
    pairs: QuickMap<(u32, u32), f32>,
    terms: Vec<f32>,
    said: Vec<Said>,
    order: f32,
    decision: f32,
    note: f32,
    covered: Covered,
}

#[derive(Default)]
struct Covered {
    things: Vec<bool>,
    units: Vec<bool>,
    lines: QuickSet<u64>,
    joints: QuickSet<(u64, u64)>,
    pairs: QuickSet<(u32, u32)>,
    terms: Vec<bool>,
}

impl Covered {
    fn nothing(reading: &Reading<'_>, terms: usize) -> Self {
        Self {
            things: vec![false; reading.things.len()],
            units: vec![false; reading.units.len()],
            terms: vec![false; terms],
            ..Self::default()
        }
    }
}

impl Worth {
    /// Weighs a reading. `tokens_after` says how many tokens follow a message.
    pub(super) fn of(reading: &Reading<'_>, tokens_after: &dyn Fn(usize) -> u64) -> Self {
        let crowds = crowds(reading);
        let likely = |thing: &Thing| {
            let crowd = crowds.get(&thing.latest).copied().unwrap_or(0);
            likelihood(reading, thing, tokens_after(thing.latest), crowd)
        };
        let raw: Vec<f32> = reading.things.iter().map(likely).collect();
        let mut worth = Self {
            lines: lines(reading, tokens_after),
            pairs: pairs(reading, &raw),
            terms: terms(reading),
            said: said(reading),
            order: 0.0,
            decision: 0.0,
            note: 0.0,
            things: raw,
            covered: Covered::default(),
        };
        scale(worth.things.iter_mut(), THINGS);
        scale(worth.pairs.values_mut(), PAIRS);
        scale(worth.terms.iter_mut(), TERMS);
        let number = |what: Said| worth.said.iter().filter(|said| **said == what).count() as f32;
        let orders = number(Said::Order) + (number(Said::Wish) + number(Said::Question)) * WISH;
        (worth.order, worth.decision) =
            ((ORDERS / orders.max(1.0)).max(LEAST_ORDER), DECISIONS / number(Said::Decision).max(1.0));
        worth.note = (NOTES / number(Said::Note).max(1.0)).max(LEAST_ORDER / 2.0);
        worth.covered = Covered::nothing(reading, worth.terms.len());
        worth
    }

    /// Begins anew with what is shown covered, and nothing else.
    pub(super) fn begin(&mut self, reading: &Reading<'_>) {
        self.covered = Covered::nothing(reading, self.terms.len());
        for unit in 0..reading.units.len() {
            if reading.is_shown(unit) {
                self.cover(reading, unit);
            }
        }
    }

    /// What a thing by its bare name would add.
    pub(super) fn of_thing(&self, thing: usize) -> f32 {
        match self.covered.things.get(thing) {
            Some(false) => self.things.get(thing).copied().unwrap_or(0.0),
            _ => 0.0,
        }
    }

    /// What a unit would add to what is covered.
    pub(super) fn of_unit(&self, reading: &Reading<'_>, unit: usize) -> f32 {
        let mentions = reading.mentions(unit);
        let mut sum = 0.0;
        for (at, thing) in mentions.iter().enumerate() {
            if !mentions.get(..at).unwrap_or_default().contains(thing) {
                sum += self.of_thing(*thing as usize);
            }
        }
        let fresh = |pair: &(u32, u32)| !self.covered.pairs.contains(pair);
        sum += neighbours(mentions).filter(fresh).filter_map(|pair| self.pairs.get(&pair)).sum::<f32>();
        sum += self.of_wording(reading, unit);
        let said = reading.units.get(unit).is_some_and(|unit| self.covered.lines.contains(&unit.key));
        sum += match self.said.get(unit) {
            _ if said => 0.0,
            Some(Said::Order) => self.order,
            Some(Said::Wish | Said::Question) => self.order * WISH,
            Some(Said::Decision) => self.decision,
            Some(Said::Note) => self.note,
            _ => 0.0,
        };
        for term in reading.terms(unit) {
            if !self.covered.terms.get(*term as usize).copied().unwrap_or(true) {
                sum += self.terms.get(*term as usize).copied().unwrap_or(0.0);
            }
        }
        sum
    }

    /// Whether the user says here what must or must not be done.
    pub(super) fn is_order(&self, unit: usize) -> bool {
        self.said.get(unit).is_some_and(|said| matches!(said, Said::Order | Said::Wish))
    }

    /// Whether the user asks something here that is not answered yet.
    pub(super) fn is_question(&self, unit: usize) -> bool {
        self.said.get(unit) == Some(&Said::Question)
    }

    /// Whether somebody decides something here, and says so: what an agent will use next is no decision to go by later.
    pub(super) fn is_decision(&self, reading: &Reading<'_>, unit: usize) -> bool {
        self.said.get(unit) == Some(&Said::Decision) && says_decided(reading.text(unit))
    }

    /// Whether the agent says here that something is done.
    pub(super) fn is_report(&self, unit: usize) -> bool {
        self.said.get(unit) == Some(&Said::Report)
    }

    // A quotation is worth as much as the runs of words that it holds; next to another one it completes more of them.
    fn of_wording(&self, reading: &Reading<'_>, unit: usize) -> f32 {
        let Some(Unit { key, length, .. }) = reading.units.get(unit) else { return 0.0 };
        // A short line holds no run by itself; together with its neighbours it may.
        let alone = length.saturating_sub(RUN - 1).max(length / SHORT);
        let whole = if self.covered.lines.contains(key) { 0 } else { alone };
        let joint = |first: Option<usize>, second: Option<usize>| {
            let (first, second) = (first?, second?);
            let other = if first == unit { second } else { first };
            let chosen = self.covered.units.get(other).copied().unwrap_or(false);
            let keys = (reading.units.get(first)?.key, reading.units.get(second)?.key);
            (chosen && !self.covered.joints.contains(&keys)).then_some((*length).min(RUN - 1))
        };
        let joined = joint(reading.before(unit), Some(unit)).unwrap_or(0)
            + joint(Some(unit), reading.after(unit)).unwrap_or(0);
        self.lines.get(key).copied().unwrap_or(0.0) * (whole + joined) as f32
    }

    /// Takes note that a thing is named.
    pub(super) fn cover_thing(&mut self, thing: usize) {
        if let Some(covered) = self.covered.things.get_mut(thing) {
            *covered = true;
        }
    }

    /// Takes note that a unit is quoted.
    pub(super) fn cover(&mut self, reading: &Reading<'_>, unit: usize) {
        let mentions = reading.mentions(unit);
        mentions.iter().for_each(|thing| self.cover_thing(*thing as usize));
        self.covered.pairs.extend(neighbours(mentions));
        if let Some(covered) = self.covered.units.get_mut(unit) {
            *covered = true;
        }
        let key = |unit: Option<usize>| {
            let unit = unit.filter(|unit| self.covered.units.get(*unit).copied().unwrap_or(false))?;
            Some(reading.units.get(unit)?.key)
        };
        let (before, own, after) = (key(reading.before(unit)), key(Some(unit)), key(reading.after(unit)));
        self.covered.lines.extend(own);
        self.covered.joints.extend(before.zip(own).into_iter().chain(own.zip(after)));
        for term in reading.terms(unit) {
            if let Some(covered) = self.covered.terms.get_mut(*term as usize) {
                *covered = true;
            }
        }
    }
}

// Every value as a share of all of them, times what the good counts.
fn scale<'a>(values: impl Iterator<Item = &'a mut f32>, counts: f32) {
    let values: Vec<&mut f32> = values.collect();
    let all: f64 = values.iter().map(|value| f64::from(**value)).sum();
    if all > 0.0 {
        let factor = (f64::from(counts) / all) as f32;
        values.into_iter().for_each(|value| *value *= factor);
    }
}

// How many short numbers each message lists that nobody has taken up.
fn crowds(reading: &Reading<'_>) -> QuickMap<usize, u32> {
    let mut crowds = QuickMap::default();
    for thing in reading.things.iter().filter(|thing| is_one_of_many(reading, thing)) {
        *crowds.entry(thing.latest).or_insert(0) += 1;
    }
    crowds
}

// Counts and places in a list; what is longer or has a fraction is an id or an amount.
fn is_one_of_many(reading: &Reading<'_>, thing: &Thing) -> bool {
    let name = reading.name(thing);
    let is_short = name.len() <= COUNT && name.bytes().all(|byte| byte.is_ascii_digit());
    thing.kind == Kind::Number && only_listed(thing) && is_short
}

fn only_listed(thing: &Thing) -> bool {
    thing.by_agent == 0 && thing.by_user == 0
}

// A logistic curve over what is known of a thing, one of a crowd of numbers perhaps.
fn likelihood(reading: &Reading<'_>, thing: &Thing, tokens_after: u64, crowd: u32) -> f32 {
    let log = |count: u32| (count as f32).ln_1p();
    let number = thing.kind == Kind::Number;
    // That a small number comes up in several places is chance.
    let messages = if number { 1 } else { thing.messages };
    let small = number && reading.name(thing).len() <= 2;
    let only_listed = only_listed(thing);
    if crowd > CROWD && is_one_of_many(reading, thing) {
        return 0.0;
    }
    // What a field is called matters less than what stands in it; and the time of day is said to be complete.
    let field = only_listed && !thing.is_value;
    let clock = thing.kind == Kind::Date && reading.name(thing).contains(':');
    let score = -0.5 + 0.9 * log(messages) + 0.4 * log(thing.by_agent)
        - 0.5 * log(thing.by_tool)
        - if only_listed { 1.15 } else { 0.0 }
        - 0.17 * (1.0 + tokens_after as f32).log2()
        - if number { 0.6 } else { 0.0 }
        - if small { 1.2 } else { 0.0 }
        - if field { 1.5 } else { 0.0 }
        - if clock { 1.5 } else { 0.0 };
    1.0 / (1.0 + (-score).exp())
}

// By line: how often the agent itself wrote it, who said it, and how long ago.
fn lines(reading: &Reading<'_>, tokens_after: &dyn Fn(usize) -> u64) -> QuickMap<u64, f32> {
    let mut calls: QuickMap<u64, (u32, usize)> = QuickMap::default();
    for unit in &reading.units {
        let Some(part) = reading.parts.get(unit.part).filter(|part| part.voice == Voice::Call) else {
            continue;
        };
        let (times, latest) = calls.entry(unit.key).or_insert((0, usize::MAX));
        *times += u32::from(*latest != part.message);
        *latest = part.message;
    }
    let mut lines: QuickMap<u64, (f32, u32)> = QuickMap::default();
    for unit in &reading.units {
        let Some(part) = reading.parts.get(unit.part) else { continue };
        let voice = match part.voice {
            Voice::Call => 1.0,
            Voice::User => 0.2,
            Voice::Tool | Voice::Frame => 0.1,
            Voice::Agent => 0.08,
        };
        let times = calls.get(&unit.key).map_or(1, |(times, _)| *times);
        let after = tokens_after(part.message) as f32;
        // What was read again is no longer so.
        let voice = if part.stale { voice * STALE } else { voice };
        let worth = voice * times as f32 * (1.0 + after).powf(-0.1);
        let (known, _) = lines.entry(unit.key).or_insert((0.0, unit.length));
        *known = known.max(worth);
    }
    // A line counts for as much as it is long, each line once.
    let all: f64 = lines.values().map(|(worth, length)| f64::from(*worth) * f64::from(*length)).sum();
    let factor = (f64::from(WORDING) / all.max(f64::MIN_POSITIVE)) as f32;
    lines.into_iter().map(|(key, (worth, _))| (key, worth * factor)).collect()
}

fn neighbours(mentions: &[u32]) -> impl Iterator<Item = (u32, u32)> + '_ {
    let pair = |(left, right): (&u32, &u32)| (left != right).then(|| (*left.min(right), *left.max(right)));
    mentions.iter().zip(mentions.iter().skip(1)).filter_map(pair)
}

fn pairs(reading: &Reading<'_>, things: &[f32]) -> QuickMap<(u32, u32), f32> {
    let worth = |thing: u32| things.get(thing as usize).copied().unwrap_or(0.0);
    let mut pairs = QuickMap::default();
    for unit in 0..reading.units.len() {
        for (left, right) in neighbours(reading.mentions(unit)) {
            pairs.insert((left, right), worth(left) * worth(right));
        }
    }
    pairs
}

// Words of prose, by how many messages use them: what a talk is about when it names nothing.
fn terms(reading: &Reading<'_>) -> Vec<f32> {
    let mut terms = vec![(0.0, usize::MAX); reading.distinct_terms];
    for unit in 0..reading.units.len() {
        let Some(part) = reading.part(unit) else { continue };
        let voice = if part.voice == Voice::User { 2.0 } else { 1.0 };
        for term in reading.terms(unit) {
            let Some((worth, latest)) = terms.get_mut(*term as usize) else { continue };
            if *latest != part.message {
                *worth += voice;
                *latest = part.message;
            }
        }
    }
    terms.into_iter().map(|(worth, _): (f32, usize)| worth.ln_1p()).collect()
}
