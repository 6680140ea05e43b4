//! A stretch of conversation taken apart: its units, and the items that they mention.

use std::collections::hash_map::Entry;
use std::ops::Range;

use super::parts::{Part, Voice};
use super::quick::{QuickMap, QuickSet};
use super::units::{Unit, split};
use crate::items::{self, Kind};
use crate::topics::word_terms;
use crate::turn::Place;

/// An item and where it was mentioned.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    /// Where it stands for the first time.
    part: usize,
    span: Range<usize>,
    pub(super) kind: Kind,
    /// What naming it takes in tokens, about.
    pub(super) cost: f32,
    /// Mentions by who spoke: user, agent (calls included), tool.
    pub(super) by_user: u32,
    pub(super) by_agent: u32,
    pub(super) by_tool: u32,
    /// Whether it was ever more than the name of a field in data.
    pub(super) is_value: bool,
    /// In how many messages.
    pub(super) messages: u32,
    /// The unit of the last mention.
    pub(super) last: usize,
    /// The message of the last mention.
    pub(super) latest: usize,
}

/// All that is known of a stretch before anything is weighed.
pub(super) struct Reading<'m> {
    pub(super) parts: Vec<Part<'m>>,
    /// Which parts are shown as they are, whatever is quoted.
    shown: Vec<bool>,
    pub(super) units: Vec<Unit>,
    /// The units of each part.
    pub(super) of_part: Vec<Range<usize>>,
    pub(super) things: Vec<Thing>,
    mentions: Lists,
    terms: Lists,
    /// How many different words there are.
    pub(super) distinct_terms: usize,
}

impl<'m> Reading<'m> {
    /// Takes parts in. What `supplied` mentions is at hand anyway and no thing of its own.
    pub(super) fn of(parts: Vec<Part<'m>>, supplied: &[&str]) -> Self {
        let supplied: QuickSet<&str> =
            supplied.iter().flat_map(|text| items::find(text)).map(|found| found.text).collect();
        let mut reading = Self {
            parts: Vec::new(),
            shown: vec![false; parts.len()],
            units: Vec::new(),
            of_part: Vec::with_capacity(parts.len()),
            things: Vec::new(),
            mentions: Lists::default(),
            terms: Lists::default(),
            distinct_terms: 0,
        };
        let mut numbers: QuickMap<&str, u32> = QuickMap::default();
        let mut known: QuickMap<(u64, bool), usize> = QuickMap::default();
        let mut terms: QuickMap<u64, u32> = QuickMap::default();
        for (number, part) in parts.iter().enumerate() {
            let from = reading.units.len();
            split(part, number, &mut reading.units);
            for unit in from..reading.units.len() {
                // A line that was read before, as in a file that is shown again, is not taken apart again.
                let key = reading.units.get(unit).map_or(0, |unit| unit.key);
                match known.entry((key, part.voice == Voice::Tool)) {
                    Entry::Occupied(first) => reading.repeat(*first.get(), unit, part),
                    Entry::Vacant(place) => {
                        place.insert(unit);
                        reading.mention(unit, number, part, &supplied, &mut numbers);
                    }
                }
                reading.say(unit, part, &mut terms);
            }
            reading.of_part.push(from..reading.units.len());
        }
        reading.distinct_terms = terms.len();
        reading.parts = parts;
        reading
    }

    /// Takes note of what is shown as it is.
    pub(super) fn show(&mut self, is_shown: &dyn Fn(Place) -> bool) {
        let shown = |part: &Part<'_>| is_shown(Place { message: part.message, block: part.block });
        self.shown = self.parts.iter().map(shown).collect();
    }

    fn mention<'p>(
        &mut self,
        unit: usize,
        number: usize,
        part: &'p Part<'_>,
        supplied: &QuickSet<&str>,
        numbers: &mut QuickMap<&'p str, u32>,
    ) {
        let start = self.units.get(unit).map_or(0, |unit| unit.span.start);
        let text = self.units.get(unit).and_then(|unit| part.text.get(unit.span.clone())).unwrap_or_default();
        let is_field = |end: usize| {
            part.voice == Voice::Tool && text.get(end..).is_some_and(|rest| rest.starts_with("\":"))
        };
        let found = items::find(text).filter(items::Found::is_telling);
        let found = found.map(|found| (found.span.clone(), found.kind, is_field(found.span.end)));
        for (span, kind, is_field) in found.chain(codes(text).map(|code| (code, Kind::Identifier, false))) {
            let name = text.get(span.clone()).unwrap_or_default();
            if name.len() > LONGEST || supplied.contains(name) {
                continue;
            }
            let thing = *numbers.entry(name).or_insert_with(|| {
                let span = start + span.start..start + span.end;
                self.things.push(Thing::new(number, span, kind, cost(name)));
                (self.things.len() - 1) as u32
            });
            self.meet(thing, unit, part);
            if let Some(thing) = self.things.get_mut(thing as usize) {
                thing.is_value |= !is_field;
            }
        }
        self.mentions.close();
    }

    // What an earlier unit with the same words mentions.
    fn repeat(&mut self, earlier: usize, unit: usize, part: &Part<'_>) {
        for at in self.mentions.range(earlier) {
            if let Some(number) = self.mentions.all.get(at).copied() {
                self.meet(number, unit, part);
            }
        }
        self.mentions.close();
    }

    fn meet(&mut self, number: u32, unit: usize, part: &Part<'_>) {
        if let Some(thing) = self.things.get_mut(number as usize) {
            thing.mentioned(part.voice, part.message, unit);
        }
        self.mentions.all.push(number);
    }

    // Only prose is about something; the words of code and data are names.
    fn say(&mut self, unit: usize, part: &Part<'_>, numbers: &mut QuickMap<u64, u32>) {
        if matches!(part.voice, Voice::User | Voice::Agent) {
            let from = self.terms.all.len();
            let text = self.units.get(unit).and_then(|unit| part.text.get(unit.span.clone()));
            for term in word_terms(text.unwrap_or_default()) {
                let next = numbers.len() as u32;
                let number = *numbers.entry(term).or_insert(next);
                if !self.terms.all.get(from..).unwrap_or_default().contains(&number) {
                    self.terms.all.push(number);
                }
            }
        }
        self.terms.close();
    }

    /// The things that a unit mentions, in their order.
    pub(super) fn mentions(&self, unit: usize) -> &[u32] {
        self.mentions.of(unit)
    }

    /// The words that a unit of prose uses, each once.
    pub(super) fn terms(&self, unit: usize) -> &[u32] {
        self.terms.of(unit)
    }

    pub(super) fn part(&self, unit: usize) -> Option<&Part<'m>> {
        self.parts.get(self.units.get(unit)?.part)
    }

    pub(super) fn text(&self, unit: usize) -> &str {
        let text = || self.part(unit)?.text.get(self.units.get(unit)?.span.clone());
        text().unwrap_or_default()
    }

    /// Whether a unit is shown as it is, whatever is decided.
    pub(super) fn is_shown(&self, unit: usize) -> bool {
        self.units.get(unit).is_none_or(|unit| self.is_part_shown(unit.part))
    }

    /// Whether all of a part is.
    pub(super) fn is_part_shown(&self, part: usize) -> bool {
        self.shown.get(part).copied().unwrap_or(true)
    }

    /// What a thing is called.
    pub(super) fn name(&self, thing: &Thing) -> &str {
        let text = || self.parts.get(thing.part)?.text.get(thing.span.clone());
        text().unwrap_or_default()
    }

    /// The unit before in the same part.
    pub(super) fn before(&self, unit: usize) -> Option<usize> {
        let range = self.of_part.get(self.units.get(unit)?.part)?;
        unit.checked_sub(1).filter(|before| range.contains(before))
    }

    /// The unit after in the same part.
    pub(super) fn after(&self, unit: usize) -> Option<usize> {
        let range = self.of_part.get(self.units.get(unit)?.part)?;
        Some(unit + 1).filter(|after| range.contains(after))
    }
}

/// A list for every unit, one behind the other.
#[derive(Default)]
struct Lists {
    all: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    fn close(&mut self) {
        self.ends.push(self.all.len());
    }

    fn range(&self, unit: usize) -> Range<usize> {
        let start = unit.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        start..self.ends.get(unit).copied().unwrap_or(start)
    }

    fn of(&self, unit: usize) -> &[u32] {
        self.all.get(self.range(unit)).unwrap_or_default()
    }
}

// Short and all capitals: an airport, a currency, a protocol. Words that people shout are among them; they do not come up
// often enough to matter.
fn codes(text: &str) -> impl Iterator<Item = Range<usize>> {
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + bytes.get(at..)?.iter().position(joins)?;
            let length = bytes.get(start..)?.iter().position(|byte| !joins(byte));
            at = length.map_or(bytes.len(), |length| start + length);
            let word = bytes.get(start..at)?;
            if (3..=5).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase) {
                return Some(start..at);
            }
        }
    })
}

/// Longer items are data, not names.
const LONGEST: usize = 120;

impl Thing {
    fn new(part: usize, span: Range<usize>, kind: Kind, cost: f32) -> Self {
        Self {
            part,
            span,
            kind,
            cost,
            by_user: 0,
            by_agent: 0,
            by_tool: 0,
            is_value: false,
            messages: 0,
            last: 0,
            latest: usize::MAX,
        }
    }

    fn mentioned(&mut self, voice: Voice, message: usize, unit: usize) {
        match voice {
            Voice::User => self.by_user += 1,
            Voice::Agent | Voice::Call => self.by_agent += 1,
            Voice::Tool | Voice::Frame => self.by_tool += 1,
        }
        self.messages += u32::from(self.latest != message);
        self.latest = message;
        self.last = unit;
    }
}

// Names of letters take few tokens, codes and numbers many.
fn cost(name: &str) -> f32 {
    let digits = name.bytes().filter(|byte| !byte.is_ascii_lowercase()).count() as f32;
    let letters = name.len() as f32 - digits;
    0.6 + letters / 4.5 + digits / 2.2
}
