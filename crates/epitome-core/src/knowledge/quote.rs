//! Findings that somebody else points out: taken over where a message says them, in its words.

use std::ops::Range;

use super::cues::Cue;
use super::extract::{is_told, masked_findings, texts};
use super::finding::{Finding, Kind};
use super::said::{Form, Said, Speech, Voice};
use super::subject::subject;
use super::{decision, fact, preference};
use crate::compact::is_summary;
use crate::message::{Message, Role};
use crate::statements::{Sentence, sentences};

/// A quotation reaches over so many sentences at most.
const MOST: usize = 3;
/// Fewer letters could stand anywhere.
const SHORTEST: usize = 8;

/// The finding at this quotation of a message, whose number in the path is `number`; `None` where the message does not say it.
///
/// Blanks may differ. The whole sentences are taken, so that nothing is torn from a "not" before it; questions and guesses
/// are nothing to know, and only the user prefers something.
pub fn quoted(message: &Message, number: usize, kind: Kind, quotation: &str) -> Option<Finding> {
    let voice = match message.role {
        Role::User => Voice::User,
        Role::Assistant if kind != Kind::Preference => Voice::Agent,
        _ => return None,
    };
    if is_summary(message) {
        return None;
    }
    texts(message).find_map(|(block, text)| {
        let span = whole_sentences(text, &place(text, quotation)?)?;
        let subject = about(kind, text.get(span.clone())?, voice)?;
        let mut found = [Finding { kind, subject, text: String::new(), message: number, block, span }];
        masked_findings(text, block, &mut found);
        let [found] = found;
        Some(found)
    })
}

// Where words stand in a text, whatever blanks are between them.
fn place(text: &str, quotation: &str) -> Option<Range<usize>> {
    let quotation = quotation.trim();
    if quotation.chars().filter(|letter| letter.is_alphanumeric()).count() < SHORTEST {
        return None;
    }
    if let Some(start) = text.find(quotation) {
        return Some(start..start + quotation.len());
    }
    let words: Vec<&str> = quotation.split_whitespace().collect();
    let first = *words.first()?;
    text.match_indices(first).find_map(|(start, _)| {
        let mut end = start;
        for word in &words {
            let rest = text.get(end..)?;
            let blank = rest.len() - rest.trim_start().len();
            end += blank + word.len();
            rest.trim_start().starts_with(word).then_some(())?;
        }
        Some(start..end)
    })
}

fn whole_sentences(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let meets = |sentence: &Sentence<'_>| sentence.span.start < place.end && place.start < sentence.span.end;
    let met: Vec<Sentence<'_>> = sentences(text).filter(meets).collect();
    let (first, last) = (met.first()?, met.last()?);
    let is_fit = met.len() <= MOST && met.iter().all(is_told);
    is_fit.then_some(first.span.start..last.span.end)
}

// What the sentence would be about if it were found by its words; else all that it names.
fn about(kind: Kind, text: &str, voice: Voice) -> Option<String> {
    let said = Said::of(text);
    if said.has(Cue::Unsure) {
        return None;
    }
    let judged = match kind {
        Kind::Fact => fact::judge(&said, Speech { voice, form: Form::Talk }),
        Kind::Decision => decision::judge(&said, None, voice).map(|decision| decision.subject),
        Kind::Preference => preference::judge(&said, Form::Talk),
    };
    let whole = || subject(said.lows(0..said.words.len()), None, voice);
    Some(judged.unwrap_or_else(whole)).filter(|subject| !subject.is_empty())
}
