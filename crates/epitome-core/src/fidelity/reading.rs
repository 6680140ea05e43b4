//! A conversation read once: its tokens, the agent's items, the user's constraints. Every question is asked of this.

use std::collections::HashSet;
use std::ops::Range;

use super::items::items;
use super::lexer::{Token, lex, lines};
use super::sentences::{constraints, sentences};
use super::texts::{Said, Voice, texts};
use crate::message::{Message, Role};

/// How many sentences of the first request make the goal.
const GOAL_SENTENCES: usize = 3;
/// How many words a sentence of the goal has at least: greetings and headings say nothing of it.
const GOAL_WORDS: usize = 4;

/// A conversation made ready for questions.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What the operator says before everything else, which no compaction takes away.
    pub(super) system: Vec<Passage>,
    /// The passages of each message behind it.
    pub(super) messages: Vec<Vec<Passage>>,
    /// How many messages of the operator open the conversation.
    leading: usize,
}

/// One text of a message.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) voice: Voice,
    text: Box<str>,
    pub(super) tokens: Vec<Token>,
    /// The agent's items, as ranges of tokens.
    pub(super) items: Vec<Range<usize>>,
}

impl Reading {
    /// Reads a conversation; `system` is a system prompt that stands outside the messages.
    pub fn of(system: Option<&Message>, messages: &[Message]) -> Self {
        let of_operator = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
        let leading = messages.iter().take_while(of_operator).count();
        let mut line = 0;
        let mut read = |message: &Message| -> Vec<Passage> {
            texts(message).iter().map(|said| Passage::of(said, &mut line)).collect()
        };
        let system = system.into_iter().chain(messages.iter().take(leading)).flat_map(&mut read).collect();
        let messages = messages.iter().skip(leading).map(read).collect();
        Self { system, messages, leading }
    }

    /// The passages before a cut and those of each message behind it.
    pub(super) fn parted(&self, cut: usize) -> (&[Vec<Passage>], &[Vec<Passage>]) {
        self.messages.split_at(cut.saturating_sub(self.leading).min(self.messages.len()))
    }

    /// The user's constraints before a cut, each once.
    pub(super) fn constraints(&self, cut: usize) -> Vec<String> {
        let mut seen = HashSet::new();
        let said = self.parted(cut).0.iter().flatten().filter(|passage| passage.voice == Voice::User);
        said.flat_map(|passage| constraints(&passage.text)).filter(|each| seen.insert(each.clone())).collect()
    }

    /// What the user wanted at first: the sentences that open the conversation.
    pub(super) fn goal(&self) -> Vec<String> {
        let opening = self.messages.iter().flatten().take_while(|passage| passage.voice == Voice::User);
        let sentences = opening.flat_map(|passage| sentences(&passage.text));
        let telling = sentences.filter(|sentence| sentence.split(' ').count() >= GOAL_WORDS);
        telling.take(GOAL_SENTENCES).collect()
    }
}

impl Passage {
    fn of(said: &Said<'_>, line: &mut usize) -> Self {
        let Said { voice, text, own } = said;
        let tokens = lex(text, *line);
        *line += lines(text);
        let items = match voice {
            Voice::Agent | Voice::Call => own.iter().flat_map(|own| items_in(text, own, &tokens)).collect(),
            _ => Vec::new(),
        };
        Self { voice: *voice, text: text.as_ref().into(), tokens, items }
    }

    /// All items of the text, whoever wrote it.
    pub(super) fn all_items(&self) -> impl Iterator<Item = &[Token]> {
        let found = match self.voice {
            Voice::Agent | Voice::Call => self.items.clone(),
            _ => items_in(&self.text, &(0..self.text.len()), &self.tokens),
        };
        found.into_iter().filter_map(|item| self.tokens.get(item))
    }

    /// The text of some of its tokens.
    pub(super) fn words(&self, tokens: Range<usize>) -> &str {
        let start = self.tokens.get(tokens.start).map_or(self.text.len(), |token| token.start);
        let end = self.tokens.get(tokens.end).map_or(self.text.len(), |token| token.start);
        self.text.get(start..end).unwrap_or_default().trim_end()
    }

    /// Whether it tells the agent something.
    pub(super) fn is_supplied(&self) -> bool {
        matches!(self.voice, Voice::User | Voice::Other)
    }
}

// The items of a part of a text, as ranges of the text's tokens.
fn items_in(text: &str, part: &Range<usize>, tokens: &[Token]) -> Vec<Range<usize>> {
    let place = |byte: usize| tokens.partition_point(|token| token.start < part.start + byte);
    let found = items(text.get(part.clone()).unwrap_or_default());
    found.into_iter().map(|item| place(item.start)..place(item.end)).collect()
}
