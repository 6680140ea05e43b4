//! What the sentences of a talk do: order, wish, ask, note, decide, report.
//!
//! More is taken for an order than [`statements`](crate::statements) takes for one: an order that is lost costs more than a
//! remark that is kept.

use super::parts::Voice;
use super::questions::open_questions;
use super::reading::Reading;
use crate::statements::{self, Kind};

/// What a unit of prose does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Said {
    /// It tells something.
    Something,
    /// The agent says that something is done.
    Report,
    /// Somebody decides.
    Decision,
    /// The agent says what it wants to remember.
    Note,
    /// The user has a wish.
    Wish,
    /// The user asks something, and has no answer yet.
    Question,
    /// The user says what must or must not be done.
    Order,
}

/// For every unit, what it does.
pub(super) fn said(reading: &Reading<'_>) -> Vec<Said> {
    let mut said = vec![Said::Something; reading.units.len()];
    for (part, units) in reading.parts.iter().zip(&reading.of_part) {
        if !matches!(part.voice, Voice::User | Voice::Agent) {
            continue;
        }
        let mut unit = units.start;
        for statement in statements::read(&part.text) {
            let Some(what) = of_statement(part.voice, statement.kind) else { continue };
            let ends_before = |unit: usize| {
                reading.units.get(unit).is_some_and(|unit| unit.span.end <= statement.span.start)
            };
            while unit < units.end && ends_before(unit) {
                unit += 1;
            }
            // A sentence that was wrapped has several units.
            let inside = |unit: &usize| {
                reading.units.get(*unit).is_some_and(|unit| unit.span.start < statement.span.end)
            };
            for unit in (unit..units.end).take_while(inside) {
                raise(&mut said, unit, what);
            }
        }
        for unit in units.clone() {
            if let Some(what) = by_words(part.voice, reading.text(unit)) {
                raise(&mut said, unit, what);
            }
        }
    }
    for unit in open_questions(reading) {
        raise(&mut said, unit, Said::Question);
    }
    said
}

/// Whether a sentence has a word for deciding, in any of some languages.
pub(super) fn says_decided(sentence: &str) -> bool {
    const STEMS: [&str; 9] =
        ["decid", "chose", "settled on", "entschied", "entschloss", "décid", "реши", "決め", "决定"];
    let sentence = sentence.to_lowercase();
    STEMS.iter().any(|stem| sentence.contains(stem))
}

/// Whether a sentence of the user is more than a wish.
pub(super) fn is_order(sentence: &str) -> bool {
    let orders = |statement: &statements::Statement<'_>| statement.kind == Kind::Constraint;
    by_words(Voice::User, sentence) == Some(Said::Order) || statements::read(sentence).iter().any(orders)
}

/// The sentences of a text of the user that order something.
pub(super) fn ordered(text: &str) -> impl Iterator<Item = &str> {
    let orders = |sentence: &&str| by_words(Voice::User, sentence).is_some();
    statements::sentences(text).map(|sentence| sentence.text).filter(orders)
}

fn raise(said: &mut [Said], unit: usize, what: Said) {
    if let Some(said) = said.get_mut(unit) {
        *said = what.max(*said);
    }
}

fn of_statement(voice: Voice, kind: Kind) -> Option<Said> {
    match (voice, kind) {
        (Voice::User, Kind::Constraint) => Some(Said::Order),
        (Voice::User, Kind::Preference) => Some(Said::Wish),
        (_, Kind::Decision) => Some(Said::Decision),
        _ => None,
    }
}

/// Words of an order, by language: English, German, French, Spanish, Italian, Portuguese, Russian.
#[rustfmt::skip]
const ORDERS: [&str; 78] = [
    "must", "except", "mustn't", "never", "not", "don't", "dont", "doesn't", "should", "shouldn't", "always", "only",
    "ensure", "avoid", "cannot", "can't", "won't", "shall", "required", "requires", "forbidden", "exactly",
    "muss", "musst", "müssen", "nicht", "nie", "niemals", "kein", "keine", "darf", "darfst", "nur", "immer", "soll",
    "pas", "jamais", "doit", "dois", "doivent", "toujours", "seulement", "uniquement", "aucun", "aucune",
    "debe", "debes", "deben", "nunca", "jamás", "siempre", "sólo", "ningún", "ninguna",
    "deve", "devi", "devono", "mai", "sempre", "soltanto", "nessun", "nessuna",
    "não", "deves", "devem", "apenas", "nenhum", "nenhuma", "só",
    "не", "нельзя", "никогда", "должен", "должна", "должны", "только", "всегда", "нужно",
];
#[rustfmt::skip]
const WISHES: [&str; 12] = [
    "please", "want", "wants", "prefer", "would", "without", "instead", "keep", "leave",
    "let's", "lets", "until",
];
/// What languages without spaces between words order with.
const PARTS_OF_ORDERS: [&str; 10] =
    ["ないで", "ないこと", "なければ", "てはいけ", "必ず", "まま", "不要", "必须", "禁止", "只能"];

/// What an agent begins a sentence with that it says to itself.
const NOTES: [&str; 14] = [
    "noted",
    "note",
    "notes",
    "remember",
    "reminder",
    "memo",
    "important",
    "notiert",
    "merke",
    "wichtig",
    "noté",
    "anotado",
    "запомним",
    "メモ",
];

const REPORTS: [&str; 16] = [
    "done",
    "fixed",
    "implemented",
    "completed",
    "finished",
    "added",
    "removed",
    "updated",
    "passes",
    "passed",
    "works",
    "resolved",
    "successfully",
    "erledigt",
    "terminé",
    "完成",
];

fn by_words(voice: Voice, text: &str) -> Option<Said> {
    const LONGEST: usize = 16;
    if voice == Voice::User && !text.is_ascii() && PARTS_OF_ORDERS.iter().any(|part| text.contains(part)) {
        return Some(Said::Order);
    }
    // Who asks whether something needs to be done does not order it.
    let asks = text.trim_end().ends_with(['?', '？']);
    let (mut found, mut has, mut begins) = (None, false, true);
    let mut letters = String::with_capacity(LONGEST);
    for word in text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’')) {
        if word.is_empty() || word.len() > LONGEST + 2 {
            continue;
        }
        letters.clear();
        letters.extend(
            word.chars().map(|letter| if letter == '’' { '\'' } else { letter }).flat_map(char::to_lowercase),
        );
        let is_need = matches!(letters.as_str(), "need" | "needs") || (has && letters == "to");
        match voice {
            Voice::Agent if begins && NOTES.contains(&letters.as_str()) => return Some(Said::Note),
            Voice::Agent if REPORTS.contains(&letters.as_str()) => return Some(Said::Report),
            Voice::User if ORDERS.contains(&letters.as_str()) => return Some(Said::Order),
            Voice::User if is_need && asks => found = Some(Said::Wish),
            Voice::User if is_need => return Some(Said::Order),
            Voice::User if WISHES.contains(&letters.as_str()) => found = Some(Said::Wish),
            _ => {}
        }
        has = matches!(letters.as_str(), "have" | "has" | "had");
        begins = false;
    }
    found
}
