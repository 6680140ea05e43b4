//! Claims and the places they are from.

use std::ops::Range;

use super::claims::{Claim, Form};
use super::parts::Part;
use super::report::{Claimed, Fault, Invented, What};
use super::support::{Phrase, Support};
use crate::checkpoint::{Section, Source};
use crate::message::Role;
use crate::statements;

/// A place that says so much of a claim is where it is from; what differs there was changed.
const SAME: f32 = 0.7;
/// Fewer words than these can be said by anybody.
pub(super) const FEWEST: usize = 3;

/// A claim and the places that say most of it.
pub(super) struct Traced<'s, 'c> {
    pub(super) claim: &'c Claim<'s>,
    pub(super) phrase: &'c Phrase<'s>,
    /// The parts of the message it names, and what they say of it.
    pub(super) named: Option<(Range<u32>, Support)>,
    /// What the whole source says of it, or the speaker's part of it.
    pub(super) anywhere: Support,
}

/// What is wrong with a claim.
pub(super) struct Finding {
    pub(super) what: What,
    pub(super) text: String,
    pub(super) fault: Fault,
}

/// How a summary speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It repeats what was said.
    Quotes,
    /// It says it in its own words.
    Rephrases,
}

/// Whose words a part of a summary is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    /// Those of whoever wrote the summary.
    Free,
    /// Those of a message that is named, or that code added.
    Traceable,
}

impl Manner {
    /// The manner of a summary: it quotes where most of its sentences stand in the source letter by letter.
    ///
    /// What code added to a model's words, or says where it has it from, tells nothing of how the rest speaks.
    pub(super) fn of(traced: &[Traced<'_, '_>], parts: &[Part<'_>], voice: Voice) -> Self {
        const NEARLY: f32 = 0.9;
        let is_sentence = |traced: &&Traced<'_, '_>| {
            traced.phrase.units.len() >= FEWEST && traced.claim.form == Form::Sentence
        };
        let (mut quotes, mut all) = (0, 0);
        for traced in traced.iter().filter(is_sentence).filter(|traced| traced.voice() == voice) {
            let Support { coverage, part, .. } = *traced.support();
            let part = parts.get(part as usize).filter(|_| coverage >= NEARLY);
            all += 1;
            quotes += usize::from(part.is_some_and(|part| part.text.contains(traced.claim.text)));
        }
        if all > 0 && quotes * 2 >= all { Manner::Quotes } else { Manner::Rephrases }
    }
}

impl Traced<'_, '_> {
    /// Whose it is.
    pub(super) fn voice(&self) -> Voice {
        match self.claim.added || self.claim.source.is_some() {
            true => Voice::Traceable,
            false => Voice::Free,
        }
    }

    /// The place that says most of it.
    pub(super) fn support(&self) -> &Support {
        match &self.named {
            Some((_, support)) if support.coverage >= self.anywhere.coverage => support,
            _ => &self.anywhere,
        }
    }

    // Whether the claim is from this place: all but its items, and a "not", are there, and these are more than a few words.
    pub(super) fn is_from(&self, support: &Support, fewest: usize) -> bool {
        let units = self.phrase.units.iter().enumerate();
        let words = units.filter(|(_, unit)| unit.item.is_none() && !unit.negates);
        let missing = words.fold(0, |mask, (bit, _)| mask | 1 << bit) & !support.nearby;
        let (there, missing) = (self.phrase.weight(support.nearby), self.phrase.weight(missing));
        support.nearby.count_ones() as usize >= fewest && there >= SAME * (there + missing)
    }

    // What the claim is, where it is something that somebody must have said.
    pub(super) fn statement(&self) -> Option<What> {
        let decided = self.claim.section == Some(Section::Decisions);
        let ordered = self.claim.section == Some(Section::Constraints);
        match statements::kind_of(self.claim.text) {
            _ if self.claim.form != Form::Sentence => None,
            _ if decided => Some(What::Decision),
            Some(statements::Kind::Decision) => Some(What::Decision),
            Some(statements::Kind::Constraint) => Some(What::Constraint),
            _ => ordered.then_some(What::Constraint),
        }
    }

    /// Whether it stands under a heading for what was ordered or decided.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self.claim.section, Some(Section::Constraints | Section::Decisions))
    }

    /// What a claim is that is no statement: what the user is to have said is an order.
    pub(super) fn told(&self) -> What {
        let speaker = self.claim.source.map(|source| source.role).or(self.claim.speaker);
        if speaker == Some(Role::User) { What::Constraint } else { What::Sentence }
    }

    /// The finding as it is reported.
    pub(super) fn invented(&self, finding: Finding, summary: usize) -> Invented {
        let Finding { what, text, fault } = finding;
        let named =
            self.claim.source.map(|Source { message, role }| Claimed { role, message: Some(message) });
        let spoken = self.claim.speaker.map(|role| Claimed { role, message: None });
        Invented {
            what,
            text,
            claim: self.claim.text.to_owned(),
            claimed: named.or(spoken),
            fault,
            section: self.claim.section,
            summary,
            line: self.claim.line.clone(),
        }
    }
}
