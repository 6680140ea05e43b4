//! Who says a sentence, and who has a say in it. What a tool gave orders nothing, whatever it says of itself.

use super::parts::Part;
use super::support::{Phrase, Search};
use super::trace::FEWEST;
use crate::checkpoint::Section;
use crate::message::Role;

/// Those of whom somebody must have said what stands at a place of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voices {
    /// The user and the operator: what is wanted and what is ordered.
    Ordering,
    /// The assistant as well: what was decided, and what is about to be done.
    Talking,
    /// Whoever says something.
    Any,
}

/// A sentence of which so much stands together is said there.
const SAID: f32 = 0.8;
/// The same for one in other words.
const REPHRASED: f32 = 0.5;
/// Who says no more than this of it does not say it.
const HINTED: f32 = 0.34;

impl Voices {
    /// Those who have a say in a section.
    pub(super) fn of(section: Option<Section>) -> Self {
        match section {
            Some(Section::Goal | Section::Constraints | Section::Request) => Voices::Ordering,
            Some(Section::NextSteps | Section::InProgress | Section::Decisions) => Voices::Talking,
            _ => Voices::Any,
        }
    }

    /// The same where somebody is named: what is put on the user is not what a tool gave.
    pub(super) fn or_of(self, named: Option<Role>) -> Self {
        let is_put_on = matches!(named, Some(Role::User | Role::System | Role::Developer));
        if self == Voices::Any && is_put_on { Voices::Talking } else { self }
    }

    /// Whether these are words of one of them.
    fn have(self, part: &Part<'_>) -> bool {
        match part.role {
            Role::Tool => self == Voices::Any,
            Role::Assistant => self != Voices::Ordering,
            _ => true,
        }
    }

    // How much of a sentence one of them has to say where somebody else says all of it. Who decides and plans puts in his own
    // words what he has read; what was ordered was ordered in the words of who ordered it.
    fn least(self) -> f32 {
        if self == Voices::Ordering { SAID } else { REPHRASED }
    }
}

/// Whether only those say a sentence who have no say where it stands.
pub(super) fn is_overheard(
    (text, phrase): (&str, &Phrase<'_>),
    voices: Voices,
    parts: &[Part<'_>],
    search: &mut Search<'_>,
) -> bool {
    let words = phrase.units.iter().filter(|unit| !unit.negates).count();
    // A word by itself is anybody's.
    if voices == Voices::Any || words < 2 {
        return false;
    }
    let everything = 0..parts.len() as u32;
    let theirs = |number: u32| parts.get(number as usize).is_some_and(|part| voices.have(part));
    let others = search.best(phrase, &everything, &|number| !theirs(number)).coverage;
    if others < REPHRASED {
        return false;
    }
    let said = search.best(phrase, &everything, &theirs).coverage;
    let is_others = match words < FEWEST {
        true => said < SAID && others >= SAID,
        false => said < voices.least() && others >= SAID || said < HINTED,
    };
    // Two words stand together by chance; and what is cut short may be read otherwise.
    let stands = |is_theirs: bool| {
        let words = text.trim_end_matches(|end: char| !end.is_alphanumeric()).to_lowercase();
        let mut parts = parts.iter().filter(|part| voices.have(part) == is_theirs);
        parts.any(|part| part.text.to_lowercase().contains(&words))
    };
    is_others && (words >= FEWEST || stands(false)) && !stands(true)
}
