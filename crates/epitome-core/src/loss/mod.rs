//! Verification: what a summary kept of its source, what it lost, and what it made up.
//!
//! Everything that is no longer shown where it stood has one of four fates ([`Fate`]), and everything that a summary
//! says is traced to the place it is from. [`check`] compares one summary with the messages it is of, [`of`] a whole
//! compaction with its path. Words are compared, not meanings: an order in quite other words counts as lost, and a lie
//! made of words that stand together anyway goes unseen.
//!
//! ```
//! use epitome_core::loss::{self, Fault, Sources, What};
//! use epitome_core::{Message, Role};
//!
//! let messages = [Message::text(Role::User, "Never touch src/gen.rs. The timeout should be 30 seconds.")];
//! let loss = loss::check("- User: The timeout should be 60 seconds", &Sources::new(&messages));
//! assert_eq!(loss.invented[0].what, What::Number);
//! assert_eq!(loss.invented[0].fault, Fault::Unknown);
//! assert_eq!(loss.missing[0].text, "Never touch src/gen.rs.");
//! ```

mod claims;
mod compare;
mod coverage;
mod mend;
mod overheard;
mod parts;
mod report;
mod sayings;
mod support;
mod text;
mod things;
mod trace;
mod verify;
mod vocabulary;
mod voices;
mod whole;
mod words;

use std::collections::HashMap;

use self::compare::{Sides, compare};
use self::parts::{Part, State, beside, parts};
use crate::message::Message;

pub use coverage::coverage;
pub use mend::{ADDED, Mended, OnInvention, mend};
pub use overheard::{Overheard, overheard};
pub use report::{Claimed, Fate, Fault, Invented, Loss, Lost, Recall, Tally, What};
pub use whole::of;

/// What a summary is of.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The messages that it stands for.
    pub messages: &'a [Message],
    /// The number of the first of them in the path.
    pub first: usize,
    /// What else its writer knew: a system prompt, earlier summaries.
    pub beside: &'a [&'a str],
    /// Messages that it does not stand for and that its writer saw.
    pub seen: &'a [&'a Message],
    /// What is shown beside the summary.
    pub shown: &'a [&'a str],
}

impl<'a> Sources<'a> {
    /// These messages, from the beginning of a path, and nothing else.
    pub fn new(messages: &'a [Message]) -> Self {
        Self { messages, first: 0, beside: &[], seen: &[], shown: &[] }
    }

    fn parts(&self) -> Vec<Part<'a>> {
        let mut all = Vec::new();
        for (number, message) in (self.first..).zip(self.messages) {
            parts(Some(number), message.role, &message.blocks, State::Hidden, &mut all);
        }
        for message in self.seen {
            parts(None, message.role, &message.blocks, State::Seen, &mut all);
        }
        self.beside.iter().for_each(|text| beside(text, &mut all));
        all
    }
}

/// Compares a summary with the messages that it stands for.
pub fn check(summary: &str, sources: &Sources<'_>) -> Loss {
    let mut shown = vec![summary];
    shown.extend(sources.shown);
    compare(&Sides { parts: sources.parts(), recall: HashMap::new(), shown, summaries: vec![summary] })
}
