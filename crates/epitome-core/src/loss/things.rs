//! The items of a source, each once, and what became of them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::parts::{Part, State};
use super::report::{Fate, Loss, Lost, Recall, Tally, What};
use super::words::{Codes, hash};
use crate::hash::RecallId;
use crate::items::{Found, Kind};
use crate::message::Role;
use crate::secrets;

const HIDDEN: u8 = 1;
const SHOWN: u8 = 1 << 1;
/// It is hidden, or shown, in the spelling of its key, or in another.
const HIDDEN_PLAIN: u8 = 1 << 2;
const HIDDEN_OTHER: u8 = 1 << 3;
const SHOWN_PLAIN: u8 = 1 << 4;
const SHOWN_OTHER: u8 = 1 << 5;
const BY_USER: u8 = 1 << 6;
const BY_AGENT: u8 = 1 << 7;

/// An item in whatever spelling.
struct Thing {
    kind: Kind,
    flags: u8,
    uses: u32,
    /// Where it stands first among what is hidden.
    part: u32,
    start: u32,
    end: u32,
    /// The first part that it stands in and that can be recalled.
    recallable: Option<u32>,
}

/// All items of a source.
#[derive(Default)]
pub(super) struct Things {
    ids: HashMap<u64, u32, Codes>,
    all: Vec<Thing>,
}

/// An item as it was met.
#[derive(Clone, Copy)]
pub(super) struct Met<'m> {
    pub(super) item: &'m Found<'m>,
    /// The code of its key.
    pub(super) code: u64,
    /// Whether it is written as it is compared.
    pub(super) plain: bool,
}

/// What can be recalled: parts by their recall id, messages by their number.
pub(super) struct Handles {
    pub(super) texts: HashMap<u32, RecallId>,
    pub(super) messages: HashSet<usize>,
}

impl Handles {
    pub(super) fn of(&self, number: u32, part: &Part<'_>) -> Option<Recall> {
        let text = self.texts.get(&number).copied().map(Recall::Text);
        let message = part.message.filter(|message| self.messages.contains(message));
        text.or(message.map(Recall::Message))
    }
}

impl Things {
    /// Takes in an item of a part of the path.
    pub(super) fn meet(&mut self, met: &Met<'_>, number: u32, part: &Part<'_>, recallable: bool) {
        let Met { item, code, plain } = *met;
        if matches!(part.state, State::Beside | State::Seen) || !item.is_telling() {
            return;
        }
        let thing = self.thing(item.kind, code);
        if part.state == State::Shown {
            thing.flags |= SHOWN | if plain { SHOWN_PLAIN } else { SHOWN_OTHER };
            return;
        }
        if thing.flags & HIDDEN == 0 {
            (thing.part, thing.start, thing.end) = (number, item.span.start as u32, item.span.end as u32);
        }
        thing.flags |= HIDDEN | if plain { HIDDEN_PLAIN } else { HIDDEN_OTHER };
        thing.uses += 1;
        match part.role {
            Role::User if part.spoken => thing.flags |= BY_USER,
            Role::Assistant => thing.flags |= BY_AGENT,
            _ => {}
        }
        if recallable && thing.recallable.is_none() {
            thing.recallable = Some(number);
        }
    }

    /// Takes in an item that is shown and of no part of the path.
    pub(super) fn show(&mut self, item: &Found<'_>) {
        let key = item.key();
        let plain = key == item.text;
        let thing = self.thing(item.kind, hash(&key));
        thing.flags |= SHOWN | if plain { SHOWN_PLAIN } else { SHOWN_OTHER };
    }

    fn thing(&mut self, kind: Kind, code: u64) -> &mut Thing {
        let next = self.all.len() as u32;
        let id = *self.ids.entry(code).or_insert(next);
        if id == next {
            let new = Thing { kind, flags: 0, uses: 0, part: 0, start: 0, end: 0, recallable: None };
            self.all.push(new);
        }
        // The id was found or made just now.
        let last = self.all.len() - 1;
        &mut self.all[(id as usize).min(last)]
    }

    /// What became of each, counted; and the most important of those that are not shown.
    pub(super) fn fates(
        &self,
        parts: &[Part<'_>],
        handles: &Handles,
        tallies: &mut Vec<Tally>,
    ) -> (Vec<Scored>, Vec<Scored>) {
        let ends = self.shown_ends(parts);
        let (mut missing, mut recoverable) = (Vec::new(), Vec::new());
        let mut counted = What::ALL.map(Tally::of);
        for thing in self.all.iter().filter(|thing| thing.flags & HIDDEN != 0) {
            let Some(text) = thing.text(parts) else { continue };
            let what = What::from(thing.kind);
            let fate = self.fate(thing, text, &ends);
            counted.iter_mut().filter(|tally| tally.what == what).for_each(|tally| tally.count(fate));
            match fate {
                Fate::Missing => missing.push(thing),
                Fate::Recoverable => recoverable.push(thing),
                Fate::Kept | Fate::Reworded => {}
            }
        }
        tallies.extend(counted);
        let lost = |things: Vec<&Thing>| {
            let things = most_important(things).into_iter();
            things.filter_map(|thing| thing.lost(parts, handles)).collect()
        };
        (lost(missing), lost(recoverable))
    }

    fn fate(&self, thing: &Thing, text: &str, ends: &HashSet<u64, Codes>) -> Fate {
        let has = |flags: u8| thing.flags & flags != 0;
        if has(SHOWN) {
            let same = has(HIDDEN_PLAIN) && has(SHOWN_PLAIN) || has(HIDDEN_OTHER) && has(SHOWN_OTHER);
            return if same { Fate::Kept } else { Fate::Reworded };
        }
        let item = Found { kind: thing.kind, text, span: 0..text.len() };
        let key = item.key();
        let is_shown = |end: &str| {
            let id = self.ids.get(&hash(end));
            id.and_then(|id| self.all.get(*id as usize)).is_some_and(|other| other.flags & SHOWN != 0)
        };
        if ends.contains(&hash(&key)) || ends_of(thing.kind, &key).any(is_shown) {
            return Fate::Reworded;
        }
        if thing.recallable.is_some() { Fate::Recoverable } else { Fate::Missing }
    }

    // The ends by which things that are shown may be meant: `main.rs` of `src/main.rs`.
    fn shown_ends(&self, parts: &[Part<'_>]) -> HashSet<u64, Codes> {
        let mut ends = HashSet::default();
        for thing in self.all.iter().filter(|thing| thing.flags & SHOWN != 0 && thing.flags & HIDDEN != 0) {
            let Some(text) = thing.text(parts) else { continue };
            let item = Found { kind: thing.kind, text, span: 0..text.len() };
            ends.extend(ends_of(thing.kind, &item.key()).map(hash));
        }
        ends
    }
}

/// Something lost, and how much it matters.
pub(super) struct Scored {
    pub(super) score: f32,
    pub(super) lost: Lost,
}

impl Thing {
    fn text<'p>(&self, parts: &'p [Part<'_>]) -> Option<&'p str> {
        parts.get(self.part as usize)?.text.get(self.start as usize..self.end as usize)
    }

    fn score(&self) -> f32 {
        let kind = match What::from(self.kind) {
            What::Error => 3.0,
            What::Path | What::Url | What::Id | What::Email => 2.0,
            What::Number => 0.7,
            _ => 1.0,
        };
        let said = if self.flags & BY_USER != 0 { 3.0 } else { 1.0 };
        let used = if self.flags & BY_AGENT != 0 { 2.0 } else { 1.0 };
        kind * said * used * (1.0 + self.uses as f32).ln()
    }

    fn lost(&self, parts: &[Part<'_>], handles: &Handles) -> Option<Scored> {
        let part = parts.get(self.part as usize)?;
        if is_secret(part.text, self.start as usize..self.end as usize) {
            return None;
        }
        let recallable = self.recallable.and_then(|number| Some((number, parts.get(number as usize)?)));
        let lost = Lost {
            what: self.kind.into(),
            text: self.text(parts)?.to_owned(),
            message: part.message.unwrap_or_default(),
            role: part.role,
            uses: self.uses as usize,
            recall: recallable.and_then(|(number, part)| handles.of(number, part)),
        };
        Some(Scored { score: self.score(), lost })
    }
}

// Whether an item is a secret, or a part of one: no report tells it.
fn is_secret(text: &str, item: Range<usize>) -> bool {
    const BEFORE: usize = 4_096;
    const AFTER: usize = 512;
    let mut starts = item.start.saturating_sub(BEFORE)..=item.start;
    let mut ends = item.end..=(item.end + AFTER).min(text.len()).max(item.end);
    let start = starts.find(|at| text.is_char_boundary(*at)).unwrap_or(item.start);
    let end = ends.rfind(|at| text.is_char_boundary(*at)).unwrap_or(item.end);
    let secrets = secrets::find(text.get(start..end).unwrap_or_default());
    let overlaps =
        |found: &secrets::Found| found.span.start + start < item.end && item.start < found.span.end + start;
    secrets.iter().any(overlaps)
}

// There may be thousands, of which a few are listed; of equals the earlier.
fn most_important(mut things: Vec<&Thing>) -> Vec<&Thing> {
    let first = |left: &&Thing, right: &&Thing| {
        let by_place = (left.part, left.start).cmp(&(right.part, right.start));
        right.score().total_cmp(&left.score()).then(by_place)
    };
    if things.len() > Loss::LONGEST_LIST {
        things.select_nth_unstable_by(Loss::LONGEST_LIST, first);
        things.truncate(Loss::LONGEST_LIST);
    }
    things
}

/// The ends of a key that stand for it among people: names of files, last parts of names.
pub(super) fn ends_of(kind: Kind, key: &str) -> impl Iterator<Item = &str> {
    const SHORTEST: usize = 4;
    let separators: &[char] = match kind {
        Kind::Path => &['/', '\\'],
        Kind::Identifier | Kind::Error => &['.', ':', '/'],
        Kind::Date => &['-', 'T'],
        _ => &[],
    };
    let dated = kind == Kind::Date;
    let ends = key.match_indices(separators).map(move |(at, sign)| &key[at + sign.len()..]);
    // Of a date only the year may go.
    let ends = ends.filter(move |end| end.len() >= SHORTEST).take(if dated { 1 } else { usize::MAX });
    ends.filter(|end| !end.starts_with([':', '.']))
}
