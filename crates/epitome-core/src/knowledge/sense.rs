//! What a finding says, in the form in which two of them are compared.

use std::collections::BTreeSet;

use super::cues::Cue;
use super::finding::Kind;
use super::said::{Said, Voice};
use super::subject::stems;
use crate::items::Found;

/// A finding as it is compared.
pub(super) struct Sense {
    pub(super) kind: Kind,
    pub(super) subject: String,
    /// Its words without case, punctuation, politeness and words of change.
    pub(super) normal: String,
    /// The words of the subject, as they are compared.
    pub(super) about: BTreeSet<String>,
    /// What it says of it.
    pub(super) values: BTreeSet<String>,
    negated: bool,
    /// Whether it says that something changes.
    pub(super) changes: bool,
    /// What it says that it replaces.
    pub(super) replaces: BTreeSet<String>,
}

impl Sense {
    pub(super) fn of(kind: Kind, subject: &str, text: &str) -> Self {
        let said = Said::of(text);
        let about: BTreeSet<String> = subject.split(' ').map(str::to_owned).collect();
        let replaced =
            |at: usize| said.hits.iter().any(|hit| hit.cue == Cue::InsteadOf && hit.words.end <= at);
        let all = 0..said.words.len();
        let reason = said.hits.iter().filter(|hit| hit.cue == Cue::Reason).map(|hit| hit.words.start).min();
        let before = 0..reason.unwrap_or(all.end);
        let kept = before.clone().filter(|at| !replaced(*at)).map(|at| said.low(at));
        let words = stems(kept, Voice::User).into_iter().filter(|stem| !about.contains(stem));
        let items: BTreeSet<String> = said.items.iter().filter(|item| item.is_telling()).map(value).collect();
        // What is the case of something is its value, in whatever words it is put; other sentences are their words.
        let values = match kind {
            Kind::Fact if !items.is_empty() => items,
            _ => words.chain(items).collect(),
        };
        Self {
            kind,
            subject: subject.to_owned(),
            normal: normal(&said),
            values,
            negated: said.hits.iter().filter(|hit| hit.cue == Cue::Negation).count() % 2 == 1,
            changes: said.has(Cue::Changed) || said.has(Cue::InsteadOf),
            replaces: stems(before.filter(|at| replaced(*at)).map(|at| said.low(at)), Voice::User),
            about,
        }
    }

    /// Whether it says the same as another one of the same subject.
    pub(super) fn says_as(&self, other: &Sense) -> bool {
        self.normal == other.normal
            || self.subject == other.subject && self.negated == other.negated && self.values == other.values
    }

    /// Whether it takes the place of another one, which is of another subject: because it says that something changes.
    pub(super) fn ousts(&self, other: &Sense) -> bool {
        if self.kind != other.kind || !self.changes {
            return false;
        }
        let shared = self.about.intersection(&other.about).count();
        let fewer = self.about.len().min(other.about.len());
        let named =
            self.replaces.iter().any(|word| other.values.contains(word) || other.about.contains(word));
        // Who says no more than what is replaced by what means it wherever it was used.
        shared * 2 > fewer || named && (shared > 0 || self.about.len() == 1)
    }
}

fn value(item: &Found<'_>) -> String {
    item.key().to_lowercase()
}

fn normal(said: &Said<'_>) -> String {
    const POLITE: [&str; 14] = [
        "please", "ok", "okay", "so", "also", "the", "a", "an", "bitte", "well", "and", "but", "s'il",
        "actually",
    ];
    let dropped = |at: usize| {
        let cue = |cue: Cue| matches!(cue, Cue::Memory);
        said.hits.iter().any(|hit| cue(hit.cue) && hit.words.contains(&at))
    };
    let mut normal = String::new();
    for (at, word) in said.words.iter().enumerate() {
        if POLITE.contains(&word.low.as_str()) || dropped(at) {
            continue;
        }
        for part in word.low.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()) {
            if !normal.is_empty() {
                normal.push(' ');
            }
            normal.push_str(part);
        }
    }
    normal
}
