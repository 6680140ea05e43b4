//! Reads messages and quotes what is worth knowing later.

use std::ops::Range;

use super::cues::Cue;
use super::finding::{Finding, Kind};
use super::said::{Form, Said, Speech, Voice};
use super::{decision, fact, preference};
use crate::compact::is_summary;
use crate::message::{Block, Message, Role};
use crate::secrets;
use crate::statements::{Sentence, sentences};

/// A longer sentence is a list or was not written to be remembered.
const LONGEST: usize = 320;
/// A user who says more than this pastes most of it.
const TALK: usize = 2_000;
/// Of one message no more is taken: who says so much pastes.
const MOST: usize = 12;

/// The findings of these messages, in their order; `first` is the number of the first message.
pub fn extract(messages: &[Message], first: usize) -> Vec<Finding> {
    let mut found = Vec::new();
    for (number, message) in (first..).zip(messages) {
        let voice = match message.role {
            Role::User => Voice::User,
            Role::Assistant => Voice::Agent,
            _ => continue,
        };
        if is_summary(message) {
            continue;
        }
        let from = found.len();
        for (block, text) in texts(message) {
            let form = if text.len() > TALK { Form::Document } else { Form::Talk };
            read(text, Speech { voice, form }, &mut |kind, subject, span| {
                found.push(Finding { kind, subject, text: String::new(), message: number, block, span });
            });
            masked_findings(text, block, found.get_mut(from..).unwrap_or_default());
        }
        found.truncate(from + MOST);
    }
    found
}

pub(super) fn texts(message: &Message) -> impl Iterator<Item = (usize, &str)> {
    message.blocks.iter().enumerate().filter_map(|(number, block)| match block {
        Block::Text(text) => Some((number, text.text.as_str())),
        _ => None,
    })
}

fn read(text: &str, speech: Speech, found: &mut dyn FnMut(Kind, String, Range<usize>)) {
    let mut all = sentences(text).map(|sentence| (Said::of(sentence.text), sentence)).peekable();
    while let Some((said, sentence)) = all.next() {
        if !is_told(&sentence) {
            continue;
        }
        let next =
            all.peek().filter(|(_, next)| adjoins(text, &sentence.span, &next.span)).map(|(said, _)| said);
        let decided = || {
            let decision = decision::judge(&said, next, speech.voice)?;
            Some((Kind::Decision, decision.subject, decision.goes_on))
        };
        let preferred = || {
            let subject = preference::judge(&said, speech.form).filter(|_| speech.voice == Voice::User)?;
            Some((Kind::Preference, subject, false))
        };
        let told = || Some((Kind::Fact, fact::judge(&said, speech)?, false));
        let firmly = said.has(Cue::Decided);
        let judged = match firmly {
            true => decided().or_else(preferred).or_else(told),
            false => preferred().or_else(decided).or_else(told),
        };
        let Some((kind, subject, goes_on)) = judged else { continue };
        let reason = all.next_if(|_| goes_on).map_or(sentence.span.end, |(_, reason)| reason.span.end);
        found(kind, subject, sentence.span.start..reason);
    }
}

/// Whether a sentence tells something, and is short enough to be kept.
pub(super) fn is_told(sentence: &Sentence<'_>) -> bool {
    let text = sentence.text;
    let asks = text.ends_with(['?', '？']) || text.ends_with("吗。") || text.ends_with("か。");
    text.len() <= LONGEST && !asks && !text.ends_with([':', '：', '…']) && !text.ends_with("...")
}

fn adjoins(text: &str, before: &Range<usize>, after: &Range<usize>) -> bool {
    let between = text.get(before.end..after.start).unwrap_or("-");
    between.chars().all(char::is_whitespace) && between.matches('\n').count() < 2
}

/// Gives findings their text. What is secret shows by what stands around it, too: secrets are looked for in the whole text.
pub(super) fn masked_findings(text: &str, block: usize, found: &mut [Finding]) {
    if found.iter().all(|finding| finding.block != block) {
        return;
    }
    let hidden = secrets::find(text);
    for finding in found.iter_mut().filter(|finding| finding.block == block) {
        finding.text = secrets::masked_within(text, &hidden, finding.span.clone());
    }
}
