//! Earlier versions of a checkpoint, and what was lost from one to the next.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::entry::{Decision, Item};
use super::model::{Checkpoint, LISTS, Section};
use super::similar::{Similar, key};

/// The last few checkpoints of a session as they were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    keep: usize,
    texts: VecDeque<String>,
}

impl Default for Versions {
    /// Two, as spec 008.1 v4 has it: enough to compare.
    fn default() -> Self {
        Self::new(2)
    }
}

impl Versions {
    /// Keeps the last `keep`, at least one.
    pub fn new(keep: usize) -> Self {
        Self { keep: keep.max(1), texts: VecDeque::new() }
    }

    /// Adds the newest and lets the oldest go.
    pub fn push(&mut self, rendered: String) {
        self.texts.push_back(rendered);
        while self.texts.len() > self.keep {
            self.texts.pop_front();
        }
    }

    /// The versions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// The newest.
    pub fn latest(&self) -> Option<&str> {
        self.texts.back().map(String::as_str)
    }

    /// What became of the version before the newest.
    pub fn drift(&self) -> Option<Drift> {
        let [.., old, new] = self.texts.iter().collect::<Vec<_>>()[..] else { return None };
        Some(drift(&Checkpoint::parse(old).checkpoint, &Checkpoint::parse(new).checkpoint))
    }
}

/// What became of the entries of a checkpoint in a later one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// By section, in the order of the format; only those in which either has entries.
    pub sections: Vec<SectionDrift>,
    /// How much of the old one is still there, from 0 to 1; what was changed counts half.
    pub score: f64,
}

/// What became of the entries of one section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SectionDrift {
    /// The section.
    pub section: Section,
    /// Entries that are still there; done work counts as kept work in progress.
    pub kept: usize,
    /// Entries that were not there before.
    pub added: usize,
    /// Entries that are nowhere any more.
    pub lost: usize,
    /// Entries that are still there in other words or in another section.
    pub changed: usize,
}

/// Compares two checkpoints entry by entry.
pub fn drift(old: &Checkpoint, new: &Checkpoint) -> Drift {
    let (before, after) = (entries(old), entries(new));
    let mut exact: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, entry) in after.iter().enumerate().rev() {
        exact.entry(entry.key.clone()).or_default().push(number);
    }
    let similar = Similar::to(after.iter().map(|entry| entry.text.as_str()));
    let subjects: HashMap<String, usize> = after
        .iter()
        .enumerate()
        .filter_map(|(number, entry)| Some((key(entry.subject.as_deref()?), number)))
        .collect();
    let mut matched = vec![false; after.len()];
    let mut sections: HashMap<Section, SectionDrift> = HashMap::new();
    for entry in &before {
        let same = exact.get_mut(&entry.key).and_then(|numbers| {
            let at_home =
                |number: &usize| after.get(*number).is_some_and(|later| stays(entry.section, later.section));
            let at = numbers.iter().rposition(at_home).or(numbers.len().checked_sub(1))?;
            Some(numbers.remove(at))
        });
        let subject = || subjects.get(&key(entry.subject.as_deref()?)).copied();
        let found = same.or_else(subject).or_else(|| similar.nearest(&entry.text));
        let counts = sections.entry(entry.section).or_insert_with(|| SectionDrift::none(entry.section));
        match found.and_then(|number| after.get(number)) {
            None => counts.lost += 1,
            Some(later) if same.is_some() && stays(entry.section, later.section) => counts.kept += 1,
            Some(_) => counts.changed += 1,
        }
        found.and_then(|number| matched.get_mut(number)).into_iter().for_each(|matched| *matched = true);
    }
    for (entry, _) in after.iter().zip(&matched).filter(|(_, matched)| !**matched) {
        sections.entry(entry.section).or_insert_with(|| SectionDrift::none(entry.section)).added += 1;
    }
    let mut sections: Vec<SectionDrift> = sections.into_values().collect();
    sections.sort_unstable_by_key(|drift| drift.section);
    let sum = |count: fn(&SectionDrift) -> usize| sections.iter().map(count).sum::<usize>() as f64;
    let there = sum(|drift| drift.kept) + sum(|drift| drift.changed) / 2.0;
    let score = if before.is_empty() { 1.0 } else { there / before.len() as f64 };
    Drift { sections, score }
}

impl SectionDrift {
    fn none(section: Section) -> Self {
        Self { section, kept: 0, added: 0, lost: 0, changed: 0 }
    }
}

fn stays(before: Section, after: Section) -> bool {
    let advanced = matches!(before, Section::InProgress | Section::NextSteps);
    before == after || advanced && matches!(after, Section::InProgress | Section::Done)
}

struct Entry {
    section: Section,
    /// What two spellings of it share; where letters count, its text.
    key: String,
    text: String,
    subject: Option<String>,
}

fn entries(checkpoint: &Checkpoint) -> Vec<Entry> {
    let entry = |section: Section, text: &str| Entry {
        section,
        key: key(text),
        text: text.to_owned(),
        subject: None,
    };
    let verbatim = |section: Section, text: &str| Entry { key: text.to_owned(), ..entry(section, text) };
    let decision = |decision: &Decision| Entry {
        subject: Some(decision.subject().to_owned()),
        ..entry(Section::Decisions, &format!("{} {}", decision.subject(), decision.rationale()))
    };
    let lists = LISTS
        .iter()
        .flat_map(|section| checkpoint.items(*section).iter().map(move |item| entry(*section, item.text())));
    let others = checkpoint.other.iter().flat_map(|section| &section.items);
    let goal = checkpoint.goal.iter().map(|item: &Item| entry(Section::Goal, item.text()));
    let request = checkpoint.request.iter().map(|request| entry(Section::Request, request.text()));
    let excerpts =
        checkpoint.excerpts.iter().map(|excerpt| verbatim(Section::Excerpts, &excerpt.pieces().join("\n")));
    let names = checkpoint.names.iter().map(|name| verbatim(Section::Names, name.as_str()));
    goal.chain(lists)
        .chain(excerpts)
        .chain(names)
        .chain(checkpoint.decisions.iter().map(decision))
        .chain(others.map(|item| entry(Section::Other, item.text())))
        .chain(request)
        .collect()
}
