//! A conversation read once: its tokens, the agent's items, the user's constraints. Every question is asked of this.

use std::ops::Range;

use super::constraints::constraints;
use super::items::items;
use super::lexer::{Token, lex, lines};
use super::texts::{Voice, texts};
use crate::message::{Message, Role};

/// A conversation made ready for questions.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What the operator says before everything else, which no compaction takes away.
    pub(super) system: Vec<Passage>,
    /// The passages of each message behind it.
    pub(super) messages: Vec<Vec<Passage>>,
    /// How many messages of the operator open the conversation.
    pub(super) leading: usize,
}

/// One text of a message.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) voice: Voice,
    pub(super) tokens: Vec<Token>,
    /// The agent's items, as ranges of tokens.
    pub(super) items: Vec<Range<usize>>,
    /// The user's constraints.
    pub(super) constraints: Vec<String>,
}

impl Reading {
    /// Reads a conversation; `system` is a system prompt that stands outside the messages.
    pub fn of(system: Option<&Message>, messages: &[Message]) -> Self {
        let of_operator = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
        let leading = messages.iter().take_while(of_operator).count();
        let mut line = 0;
        let mut read = |message: &Message| -> Vec<Passage> {
            texts(message).into_iter().map(|(voice, text)| Passage::of(voice, &text, &mut line)).collect()
        };
        let system = system.into_iter().chain(messages.iter().take(leading)).flat_map(&mut read).collect();
        let messages = messages.iter().skip(leading).map(read).collect();
        Self { system, messages, leading }
    }

    /// The passages before a cut and those of each message behind it.
    pub(super) fn parted(&self, cut: usize) -> (&[Vec<Passage>], &[Vec<Passage>]) {
        self.messages.split_at(cut.saturating_sub(self.leading).min(self.messages.len()))
    }
}

impl Passage {
    fn of(voice: Voice, text: &str, line: &mut usize) -> Self {
        let tokens = lex(text, *line);
        *line += lines(text);
        let items = match voice {
            Voice::Agent | Voice::Call => items(text).into_iter().map(|item| within(&tokens, item)).collect(),
            _ => Vec::new(),
        };
        let constraints = if voice == Voice::User { constraints(text) } else { Vec::new() };
        Self { voice, tokens, items, constraints }
    }

    /// Whether it tells the agent something.
    pub(super) fn is_supplied(&self) -> bool {
        matches!(self.voice, Voice::User | Voice::Other)
    }
}

fn within(tokens: &[Token], bytes: Range<usize>) -> Range<usize> {
    let place = |byte: usize| tokens.partition_point(|token| token.start < byte);
    place(bytes.start)..place(bytes.end)
}
