//! What users ordered and what was decided, and whether a summary still says so.

use super::claims::Claim;
use super::parts::{Part, State};
use super::report::{Fate, Lost, Tally, What};
use super::support::{Phrase, Search, Support, Unit, read};
use super::things::{Handles, Scored};
use super::vocabulary::{Hit, Hits, Vocabulary};
use crate::message::Role;
use crate::secrets::masked;
use crate::statements::{self, Kind};

/// Longer messages are pasted; what is ordered in them stands at their beginning or at their end.
const LONGEST: usize = 16_384;
/// A sentence is kept in other words when at least this part of its words stands together.
const REWORDED: f32 = 0.6;

/// An order or a decision that is no longer shown where it stood.
struct Saying<'a> {
    what: What,
    text: &'a str,
    part: u32,
    phrase: Phrase<'a>,
}

/// What became of orders and decisions, counted; and those that are not shown.
pub(super) fn fates(
    parts: &[Part<'_>],
    claims: &[Claim<'_>],
    shown: &[&str],
    handles: &Handles,
    tallies: &mut Vec<Tally>,
) -> (Vec<Scored>, Vec<Scored>) {
    let mut vocabulary = Vocabulary::new();
    let sayings = sayings(parts, &mut vocabulary);
    if sayings.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let texts: Vec<&str> = claims.iter().map(|claim| claim.text).collect();
    let hits = hits(&texts, &vocabulary);
    let written = flattened(&[&texts[..], shown].concat().join(" "));
    let mut search = Search::new(&hits, vocabulary.len());
    let (mut missing, mut recoverable) = (Vec::new(), Vec::new());
    let mut counted = [Tally::of(What::Constraint), Tally::of(What::Decision)];
    for saying in &sayings {
        let Some(part) = parts.get(saying.part as usize) else { continue };
        let recall = handles.of(saying.part, part);
        let support = search.best(&saying.phrase, &(0..u32::MAX), &|_| true);
        let fate = if written.contains(flattened(saying.text).trim()) {
            Fate::Kept
        } else if support.coverage >= REWORDED && has_its_items(&saying.phrase, &support) {
            Fate::Reworded
        } else if recall.is_some() {
            Fate::Recoverable
        } else {
            Fate::Missing
        };
        counted.iter_mut().filter(|tally| tally.what == saying.what).for_each(|tally| tally.count(fate));
        let lost = || Lost {
            what: saying.what,
            text: masked(saying.text).into_owned(),
            message: part.message.unwrap_or_default(),
            role: part.role,
            uses: 1,
            recall,
        };
        // Of what people said, the latest holds.
        let score = part.message.unwrap_or_default() as f32;
        match fate {
            Fate::Missing => add(&mut missing, Scored { score, lost: lost() }),
            Fate::Recoverable => add(&mut recoverable, Scored { score, lost: lost() }),
            _ => {}
        }
    }
    tallies.extend(counted);
    (missing, recoverable)
}

// Other words may say the same; about another number or another name they say something else.
fn has_its_items(phrase: &Phrase<'_>, support: &Support) -> bool {
    let is_there = |(bit, unit): (usize, &Unit<'_>)| unit.item.is_none() || support.nearby >> bit & 1 == 1;
    phrase.units.iter().enumerate().all(is_there)
}

// What was said again and again is told once.
fn add(all: &mut Vec<Scored>, new: Scored) {
    match all.iter_mut().find(|known| known.lost.text == new.lost.text) {
        Some(known) => {
            known.lost.uses += 1;
            known.score = known.score.max(new.score);
        }
        None => all.push(new),
    }
}

fn sayings<'a>(parts: &'a [Part<'_>], vocabulary: &mut Vocabulary) -> Vec<Saying<'a>> {
    let mut sayings: Vec<Saying<'a>> = Vec::new();
    let spoken = |part: &&Part<'_>| part.spoken && matches!(part.role, Role::User | Role::Assistant);
    for (number, part) in (0_u32..).zip(parts) {
        if part.state != State::Hidden || !spoken(&part) {
            continue;
        }
        for text in both_ends(part.text) {
            for statement in statements::read(text) {
                let what = match (statement.kind, part.role) {
                    (Kind::Constraint, Role::User) => What::Constraint,
                    (Kind::Decision, _) => What::Decision,
                    _ => continue,
                };
                let phrase = Phrase::new(statement.text, vocabulary);
                // A word or two is no order that could be told from another.
                if phrase.units.len() > 1 {
                    sayings.push(Saying { what, text: statement.text, part: number, phrase });
                }
            }
        }
    }
    sayings
}

fn both_ends(text: &str) -> impl Iterator<Item = &str> {
    let cut = text.len() > LONGEST;
    let at = |from: usize| (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (head, tail) =
        if cut { (at(LONGEST / 2), at(text.len() - LONGEST / 2)) } else { (text.len(), text.len()) };
    [text.get(..head), text.get(tail..).filter(|_| cut)].into_iter().flatten()
}

fn hits(texts: &[&str], vocabulary: &Vocabulary) -> Hits {
    let mut all: Vec<Hit> = Vec::new();
    let mut place = 0;
    for text in texts {
        read(text, vocabulary, 0, &mut place, &mut all, &mut |_, _, _| {});
    }
    Hits::new(all, vocabulary.len())
}

// Line breaks and runs of blanks as one blank.
fn flattened(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        flat.push_str(word);
        flat.push(' ');
    }
    flat
}
