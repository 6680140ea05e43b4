//! Whether a source says what a summary says it does.
//!
//! A claim is judged by the place in the source that says most of it. Where a message is named, that is the place; where
//! a speaker is, it must be his words. Items must stand in the source, and near the words they stand near in the summary.
//! A summary that quotes everywhere else is held to quoting; one that rephrases is allowed to.

use std::ops::Range;

use super::claims::{Claim, Form};
use super::parts::{Part, State};
use super::report::{Fault, What};
use super::support::{Phrase, Search, Support};
use super::trace::{FEWEST, Finding, Manner, Traced};
use super::voices::is_overheard;
use crate::checkpoint::{Section, Source};
use crate::digest::written;
use crate::items::{Found, Kind};
use crate::message::Role;

/// Of a sentence that somebody is to have said, this part must be found: in a summary that quotes, and in one that does not.
const QUOTED: f32 = 0.8;
const REPHRASED: f32 = 0.5;
/// The same where only its words hint at somebody's having said it.
const HINTED: f32 = 0.34;
/// In a summary that quotes, a sentence of which less is found is nobody's.
const OWN_WORDS: f32 = 0.4;
/// How often a whole source is searched for the very letters of an item.
const MOST_SEARCHES: usize = 64;

/// Judges claims against a source.
pub(super) struct Verifier<'a, 'h> {
    parts: &'a [Part<'a>],
    search: Search<'h>,
    /// The parts of each message, and the number of the first one.
    messages: Vec<Range<u32>>,
    first: usize,
    searches: usize,
}

impl<'a, 'h> Verifier<'a, 'h> {
    pub(super) fn new(parts: &'a [Part<'a>], search: Search<'h>) -> Self {
        let first = parts.iter().find_map(|part| part.message).unwrap_or_default();
        let mut messages: Vec<Range<u32>> = Vec::new();
        for (at, part) in (0_u32..).zip(parts) {
            let Some(number) = part.message.and_then(|message| message.checked_sub(first)) else { continue };
            messages.resize(messages.len().max(number + 1), at..at);
            if let Some(range) = messages.get_mut(number) {
                *range = if range.start == range.end { at..at + 1 } else { range.start..at + 1 };
            }
        }
        Self { parts, search, messages, first, searches: 0 }
    }

    /// Finds the places of a claim.
    pub(super) fn trace<'s, 'c>(&mut self, claim: &'c Claim<'s>, phrase: &'c Phrase<'s>) -> Traced<'s, 'c> {
        let everything = 0..self.parts.len() as u32;
        let parts = self.parts;
        let named = claim.source.and_then(|source| Some((source.role, self.parts_of(source)?)));
        let named = named.map(|(role, range)| {
            // A message of the user's may hold what tools gave; to what the assistant did belongs what they answered.
            let his = |number: u32| {
                role == Role::Assistant || parts.get(number as usize).is_some_and(|part| is_by(part, role))
            };
            // A failure is told by the call and by its result.
            let support = match claim.section {
                Some(Section::Failed) => self.search.together(phrase, &range),
                _ => self.search.best(phrase, &range, &his),
            };
            (range, support)
        });
        let found = named.as_ref().is_some_and(|(_, support)| support.coverage >= QUOTED);
        let anywhere = if found || claim.form == Form::Names {
            Support::default()
        } else {
            self.search.best(phrase, &everything, &|_| true)
        };
        Traced { claim, phrase, named, anywhere }
    }

    // The parts of a message; of what the assistant did, also those in which tools answer.
    fn parts_of(&self, source: Source) -> Option<Range<u32>> {
        let number = source.message.checked_sub(self.first)?;
        let mut range = self.messages.get(number)?.clone();
        if source.role == Role::Assistant {
            let answers = |part: &&Part<'_>| part.role == Role::Tool;
            let after = self.parts.get(range.end as usize..).unwrap_or_default();
            range.end += after.iter().take_while(answers).count() as u32;
        }
        (range.start < range.end).then_some(range)
    }

    /// What is wrong with a claim.
    pub(super) fn judge(&mut self, traced: &Traced<'_, '_>, manner: Manner) -> Vec<Finding> {
        if traced.claim.form == Form::Excerpt && self.is_excerpt(traced) {
            return Vec::new();
        }
        let findings = self.findings(traced, manner);
        if !findings.is_empty() && self.is_called(traced) { Vec::new() } else { findings }
    }

    fn findings(&mut self, traced: &Traced<'_, '_>, manner: Manner) -> Vec<Finding> {
        let mut findings = self.unknown(traced);
        if traced.claim.form == Form::Names {
            return findings;
        }
        let statement = traced.statement();
        if let Some(fault) = self.unsaid(traced, manner, statement) {
            findings.push(Finding {
                what: statement.unwrap_or(traced.told()),
                text: traced.claim.text.to_owned(),
                fault,
            });
            return findings;
        }
        findings.extend(self.changed(traced, manner, statement));
        findings
    }

    // Whether it is a call of the assistant's, as it is written down.
    fn is_called(&self, traced: &Traced<'_, '_>) -> bool {
        let Claim { text, source, speaker: Some(Role::Assistant), .. } = traced.claim else { return false };
        let called = |pair: &[Part<'_>]| match pair {
            [tool, input] => text.starts_with(tool.text) && written(tool.text, input.text).contains(text),
            _ => false,
        };
        source.is_none() && self.parts.windows(2).any(called)
    }

    // Whether an excerpt stands just so in the message that it names.
    fn is_excerpt(&self, traced: &Traced<'_, '_>) -> bool {
        let range = traced.named.as_ref().map_or(0..0, |(range, _)| range.start as usize..range.end as usize);
        let parts = self.parts.get(range).unwrap_or_default();
        // A call is quoted as it is written down, and is two parts here: the tool's name and what it was called with.
        let called = |pair: &[Part<'_>]| match pair {
            [tool, input] => written(tool.text, input.text).contains(traced.claim.text),
            _ => false,
        };
        parts.iter().any(|part| part.text.contains(traced.claim.text)) || parts.windows(2).any(called)
    }

    // Items that stand nowhere.
    fn unknown(&mut self, traced: &Traced<'_, '_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for unit in &traced.phrase.units {
            let Some(item) = unit.item.as_ref().filter(|item| item.is_telling()) else { continue };
            if !self.search.has(unit) && !self.is_known(traced, item) && !self.is_touched(traced, item) {
                findings.push(Finding {
                    what: item.kind.into(),
                    text: item.text.to_owned(),
                    fault: Fault::Unknown,
                });
            }
        }
        findings
    }

    // Cut short, written otherwise, or put together from what stands there.
    fn is_known(&mut self, traced: &Traced<'_, '_>, item: &Found<'_>) -> bool {
        if self.searches >= MOST_SEARCHES {
            return false;
        }
        self.searches += 1;
        let has = |text: &str| self.parts.iter().any(|part| part.text.contains(text));
        let all = |mut names: std::str::Split<'_, char>| names.all(|name| name.len() < 3 || has(name));
        self.stands(traced, item)
            || match item.kind {
                Kind::Date => has(&item.key()),
                Kind::Identifier => item.text.contains('.') && all(item.text.split('.')),
                // The folder that somebody went to, and a path from there.
                Kind::Path => item.text.match_indices('/').skip(1).any(|(at, _)| {
                    let (folder, rest) = (&item.text[..at], &item.text[at + 1..]);
                    folder.starts_with('/') && has(rest) && has(&format!("cd {folder}"))
                }),
                _ => false,
            }
    }

    // Whether the letters of an item stand anywhere by themselves; one that ends a claim may have been cut short.
    fn stands(&self, traced: &Traced<'_, '_>, item: &Found<'_>) -> bool {
        // A number in a time of day is not that number.
        let sign = if item.kind == Kind::Number { ':' } else { '_' };
        let joins =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == sign);
        let last = item.span.end == traced.claim.text.len();
        self.parts.iter().any(|part| {
            part.text.match_indices(item.text).any(|(at, found)| {
                let (before, after) = (&part.text[..at], &part.text[at + found.len()..]);
                !joins(before.chars().next_back()) && (last || !joins(after.chars().next()))
            })
        })
    }

    // Whether a file is one that a call touched from the folder it went to: its name is there, its folders are known.
    fn is_touched(&self, traced: &Traced<'_, '_>, item: &Found<'_>) -> bool {
        let listed = matches!(
            traced.claim.section,
            Some(Section::Created | Section::Modified | Section::Deleted | Section::Read)
        );
        let Some(((range, _), (folder, name))) = traced.named.as_ref().zip(item.text.rsplit_once('/')) else {
            return false;
        };
        let called = self.parts.get(range.start as usize..range.end as usize).unwrap_or_default();
        let known = |folder: &str| self.parts.iter().any(|part| part.text.contains(folder));
        listed && called.iter().any(|part| part.text.contains(name)) && folder.split('/').all(known)
    }

    // Whether nobody said it, or somebody else did.
    fn unsaid(&mut self, traced: &Traced<'_, '_>, manner: Manner, statement: Option<What>) -> Option<Fault> {
        let Claim { text, voices, form, .. } = *traced.claim;
        if form == Form::Sentence && is_overheard((text, traced.phrase), voices, self.parts, &mut self.search)
        {
            return Some(Fault::Misattributed);
        }
        if traced.phrase.units.iter().filter(|unit| !unit.negates).count() < FEWEST {
            return None;
        }
        let enough = if manner == Manner::Quotes { QUOTED } else { REPHRASED };
        let claim = traced.claim;
        if let Some(source) = claim.source {
            return self.not_there(traced, source, enough);
        }
        let anywhere = traced.anywhere.coverage;
        let Some(speaker) = claim.speaker else {
            let enough = match (statement, manner) {
                (Some(_), Manner::Quotes) => enough,
                (Some(_), Manner::Rephrases) if traced.is_listed() => enough,
                // Who rephrases also says of his own work what it must be like; who quotes says nothing of his own.
                (Some(_), Manner::Rephrases) => HINTED,
                (None, Manner::Quotes) => OWN_WORDS,
                (None, Manner::Rephrases) => 0.0,
            };
            return (anywhere < enough).then_some(Fault::Unsupported);
        };
        let everything = 0..self.parts.len() as u32;
        let parts = self.parts;
        let his = |number: u32| parts.get(number as usize).is_some_and(|part| is_by(part, speaker));
        let said = self.search.best(traced.phrase, &everything, &his).coverage;
        match said >= enough {
            true => None,
            false if anywhere >= QUOTED => Some(Fault::Misattributed),
            false if anywhere >= enough && said >= HINTED => None,
            false if anywhere >= enough => Some(Fault::Misattributed),
            false => Some(Fault::Unsupported),
        }
    }

    fn not_there(&self, traced: &Traced<'_, '_>, source: Source, enough: f32) -> Option<Fault> {
        let Some((range, support)) = &traced.named else {
            // A message outside of what was compared cannot be looked at.
            let outside = source.message < self.first;
            return (!outside && traced.anywhere.coverage < enough).then_some(Fault::Unsupported);
        };
        let parts = self.parts.get(range.start as usize..range.end as usize).unwrap_or_default();
        let by = parts.iter().any(|part| is_by(part, source.role));
        if by && support.coverage >= enough {
            return None;
        }
        // An earlier summary that says the same says where it has it from.
        let reference = source.to_string();
        let repeated =
            self.parts.get(traced.anywhere.part as usize).is_some_and(|part| part.text.contains(&reference));
        let elsewhere = traced.anywhere.coverage.max(support.coverage);
        match elsewhere >= enough {
            true if repeated && traced.anywhere.coverage >= enough => None,
            true => Some(Fault::Misattributed),
            false => Some(Fault::Unsupported),
        }
    }

    // Items, and a "not", that stand elsewhere in the source but not at the place of the claim.
    fn changed(&mut self, traced: &Traced<'_, '_>, manner: Manner, statement: Option<What>) -> Vec<Finding> {
        let support = traced.support();
        let strict = manner == Manner::Quotes || traced.named.is_some();
        let statement = statement.or(Some(traced.told()).filter(|what| *what == What::Constraint));
        if !traced.is_from(support, if strict { FEWEST - 1 } else { FEWEST }) {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for (bit, unit) in traced.phrase.units.iter().enumerate() {
            let there = match unit.negates && traced.claim.section != Some(Section::Failed) {
                true => self.search.is_beside(traced.phrase, bit, &(support.part..support.part + 1)),
                false => support.nearby >> bit & 1 == 1,
            };
            if there || self.is_quoted(traced, &unit.span, support.part) {
                continue;
            }
            let fault = Fault::Changed;
            match (&unit.item, statement) {
                // Who rephrases may join what stands in several places, but not what was counted there.
                (Some(item), _) if !strict && item.kind != Kind::Number => {}
                // What stands nowhere was told already.
                (Some(item), _) if item.is_telling() && !self.search.has(unit) => {}
                (Some(item), _) => {
                    findings.push(Finding { what: item.kind.into(), text: item.text.to_owned(), fault });
                }
                // Of what was ordered and decided every word counts.
                (None, Some(what)) if self.counts(traced, bit, manner, strict) => {
                    findings.push(Finding { what, text: traced.claim.text.to_owned(), fault });
                }
                (None, _) => {}
            }
        }
        findings
    }

    // Whether a word that is missing makes another sentence of it.
    fn counts(&self, traced: &Traced<'_, '_>, bit: usize, manner: Manner, strict: bool) -> bool {
        let Some(unit) = traced.phrase.units.get(bit) else { return false };
        // The rest is said just so.
        let others = traced.support().nearby | 1 << bit;
        let only = others.count_ones() as usize == traced.phrase.units.len();
        match unit.negates {
            true => strict || only,
            // Of a call that failed only the beginning is told.
            false => {
                manner == Manner::Quotes && !unit.common && traced.claim.section != Some(Section::Failed)
            }
        }
    }

    // Whether the letters around a word stand in the source just so: what was cut short is read otherwise.
    fn is_quoted(&self, traced: &Traced<'_, '_>, span: &Range<usize>, part: u32) -> bool {
        const AROUND: usize = 12;
        const LEAST: usize = 4;
        let text = traced.claim.text;
        let mut before = span.start.saturating_sub(AROUND)..=span.start;
        let mut after = (span.end..=(span.end + AROUND).min(text.len())).rev();
        let start = before.find(|at| text.is_char_boundary(*at)).unwrap_or(span.start);
        let end = after.find(|at| text.is_char_boundary(*at)).unwrap_or(span.end);
        let around = text.get(start..end).unwrap_or_default();
        let parts = match &traced.named {
            Some((range, _)) => range.clone(),
            None => part..part + 1,
        };
        let parts = self.parts.get(parts.start as usize..parts.end as usize).unwrap_or_default();
        around.len() >= span.len() + LEAST && parts.iter().any(|part| part.text.contains(around))
    }
}

// Whether these are the words of somebody.
fn is_by(part: &Part<'_>, role: Role) -> bool {
    let operator = |role: Role| matches!(role, Role::System | Role::Developer);
    part.state == State::Beside || part.role == role || operator(part.role) && operator(role)
}
