//! Who writes summaries: a trait, and the plain extract that serves where nothing better is at hand.

use std::ops::Range;

use thiserror::Error;

use super::segment::Level;
use crate::message::{Block, Message, Role};
use crate::prune::Marked;
use crate::units::{Chars, Tokens};

/// What a summary is to be of.
#[derive(Clone, Debug)]
pub struct SummaryRequest<'a> {
    /// What kind of summary.
    pub level: Level,
    /// The numbers of all the messages it is to stand for.
    pub range: Range<usize>,
    /// Those messages, without the ones that `previous` already stands for.
    pub messages: &'a [Message],
    /// The number of the first of them in the path.
    pub first: usize,
    /// The summaries that it replaces, oldest first, each to be merged into it.
    pub previous: &'a [String],
    /// What is cut short or cleared in the messages that stay beside it.
    pub marks: &'a [Marked],
    /// How many tokens it may have.
    pub max_tokens: Tokens,
    /// How many characters it may have.
    pub max_chars: Option<Chars>,
    /// What the user wants the summary to mind.
    pub instructions: Option<&'a str>,
}

/// A summary could not be written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no summary: {0}")]
pub struct SummaryError(pub String);

/// Writes summaries.
pub trait Summarizer {
    /// The summary that was asked for. One that is too long is shortened by the caller.
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError>;

    /// Whether code picks the words, so that a summary needs no check for what models get wrong.
    fn is_mechanical(&self) -> bool {
        false
    }

    /// How many of the last tokens are better left as they are than summarised, of a budget for both, where it can tell.
    /// `from` is the first message that a summary would stand for.
    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        let _ = (from, budget);
        None
    }
}

/// The first sentence of each message, oldest first, as many as fit: it needs no model and cannot fail.
///
/// Earlier summaries have at most half the room where there is something new to say; of a longer one the first line
/// and the last ones stay.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeadingSentences;

impl Summarizer for LeadingSentences {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let room = (request.max_tokens.0 as usize)
            .saturating_mul(CHARS_PER_TOKEN)
            .min(request.max_chars.map_or(usize::MAX, |most| most.0));
        let news: Vec<String> = request.messages.iter().filter_map(leading_line).collect();
        let earlier: Vec<&str> = request.previous.iter().flat_map(|text| text.lines()).collect();
        let mut summary = first_and_last(&earlier, if news.is_empty() { room } else { room / 2 });
        let mut used = summary.iter().map(|line| line.chars().count() + 1).sum();
        for line in &news {
            if fits(line, &mut used, room) {
                summary.push(line);
            }
        }
        Ok(summary.join("\n"))
    }
}

/// Characters that make a token in text of any kind; those who ask for the summary count exactly.
const CHARS_PER_TOKEN: usize = 3;

fn fits(line: &str, used: &mut usize, room: usize) -> bool {
    let after = *used + line.chars().count() + 1;
    let fits = after <= room;
    if fits {
        *used = after;
    }
    fits
}

// The first line, which says what it is all about, and as many of the last ones as fit.
fn first_and_last<'t>(lines: &[&'t str], room: usize) -> Vec<&'t str> {
    let Some((first, rest)) = lines.split_first() else { return Vec::new() };
    let mut used = 0;
    let mut kept: Vec<&str> = Vec::new();
    let opens = fits(first, &mut used, room);
    kept.extend(rest.iter().rev().take_while(|line| fits(line, &mut used, room)));
    kept.extend(opens.then_some(*first));
    kept.reverse();
    kept
}

fn leading_line(message: &Message) -> Option<String> {
    let speaker = if message.role == Role::User { "User" } else { "Assistant" };
    leading_sentence(message).map(|sentence| format!("- {speaker}: {sentence}"))
}

/// The first sentence of what a person or the model says.
pub(super) fn leading_sentence(message: &Message) -> Option<&str> {
    const LONGEST: usize = 200;
    if !matches!(message.role, Role::User | Role::Assistant) {
        return None;
    }
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text.text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    })?;
    let line = text.lines().next().unwrap_or_default();
    let sentence = line.find(". ").map_or(line, |at| &line[..=at]);
    let end = sentence.char_indices().nth(LONGEST).map_or(sentence.len(), |(at, _)| at);
    sentence.get(..end)
}
