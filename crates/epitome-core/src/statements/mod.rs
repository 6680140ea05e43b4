//! Statements: the sentences in which somebody says what must be done, what is preferred, decided or asked.
//!
//! Sentences are told apart in prose, outside of code, quotations and what programs put in, and judged by cues: words
//! that orders, wishes and decisions are made with, in English, German, French, Spanish, Chinese and Japanese. It reads
//! what is said and knows nothing of what is meant.
//!
//! ```
//! use epitome_core::statements::{self, Kind};
//!
//! let said = statements::read("The parser is slow. Never touch src/gen.rs! We'll use nom instead of regex. Okay?");
//! let kinds: Vec<_> = said.iter().map(|statement| statement.kind).collect();
//! assert_eq!(kinds, [Kind::Constraint, Kind::Decision, Kind::Question]);
//! assert_eq!(said[0].text, "Never touch src/gen.rs!");
//! ```

mod cues;
mod judge;
mod sentences;

use std::ops::Range;

use serde::Serialize;

use crate::message::{Block, Message, Role};

pub use sentences::{Sentence, Sentences, sentences};

/// What a sentence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It says what must or must not be done.
    Constraint,
    /// It says what was decided.
    Decision,
    /// It says what somebody would like.
    Preference,
    /// It asks.
    Question,
}

/// A sentence that does something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'t> {
    /// What it does.
    pub kind: Kind,
    /// The sentence; one that was wrapped has line breaks in it.
    pub text: &'t str,
    /// The block of the message that it stands in.
    pub block: usize,
    /// Its place in the text of that block.
    pub span: Range<usize>,
}

/// The statements of a text.
pub fn read(text: &str) -> Vec<Statement<'_>> {
    let mut buffer = String::new();
    let judged = sentences(text).filter_map(|sentence| {
        let kind = judge::kind(sentence.text, &mut buffer)?;
        Some(Statement { kind, text: sentence.text, block: 0, span: sentence.span })
    });
    judged.collect()
}

/// What one sentence does; `None` where it only tells.
pub fn kind_of(sentence: &str) -> Option<Kind> {
    judge::kind(sentence, &mut String::new())
}

/// The statements of a message: all of the user's, the assistant's decisions and questions, nobody else's.
///
/// Only what is said counts; calls of tools and their results are no statements.
pub fn of(message: &Message) -> Vec<Statement<'_>> {
    let counts = |kind: Kind| match message.role {
        Role::User => true,
        Role::Assistant => matches!(kind, Kind::Decision | Kind::Question),
        _ => false,
    };
    if !matches!(message.role, Role::User | Role::Assistant) {
        return Vec::new();
    }
    let texts = message.blocks.iter().enumerate().filter_map(|(number, block)| match block {
        Block::Text(text) => Some((number, text.text.as_str())),
        _ => None,
    });
    texts
        .flat_map(|(block, text)| read(text).into_iter().map(move |found| Statement { block, ..found }))
        .filter(|statement| counts(statement.kind))
        .collect()
}
