//! What decisions are counted with: texts, and blocks under marks whose sizes may be known already.

use super::mark::{Mark, Size, Sizes, Subject};
use super::measure::MessageSizes;
use crate::message::Message;
use crate::units::Tokens;

/// Counts what a decision hangs on.
///
/// Any function that counts a text will do. One that serves many requests remembers what blocks come to under marks, so
/// that nothing is rendered only to be counted.
pub trait Count {
    /// The tokens of a text.
    fn text(&self, text: &str) -> Tokens;

    /// What a block comes to under a mark, where that is known. Messages are numbered in the whole path.
    fn known(&self, _subject: &Subject<'_>, _mark: Mark) -> Option<Size> {
        None
    }
}

impl<F: Fn(&str) -> Tokens> Count for F {
    fn text(&self, text: &str) -> Tokens {
        self(text)
    }
}

/// Sizes of blocks under marks: known, or measured on the messages of the whole path.
#[derive(Clone, Copy)]
pub(crate) struct PathSizes<'a> {
    messages: &'a [Message],
    count: &'a dyn Count,
    first: usize,
}

impl<'a> PathSizes<'a> {
    pub(crate) fn new(messages: &'a [Message], count: &'a dyn Count) -> Self {
        Self { messages, count, first: 0 }
    }

    /// The same for those who number messages from this one on.
    pub(crate) fn behind(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// The tokens of the block under `mark`.
    pub(crate) fn tokens(&self, subject: &Subject<'_>, mark: Mark) -> Tokens {
        if mark == Mark::Remove { Tokens::ZERO } else { self.size(subject, mark).tokens }
    }

    fn size(&self, subject: &Subject<'_>, mark: Mark) -> Size {
        let subject = Subject { message: self.first + subject.message, ..*subject };
        let measure =
            || MessageSizes::new(self.messages, |text: &str| self.count.text(text)).after(&subject, mark);
        self.count.known(&subject, mark).unwrap_or_else(measure)
    }
}

impl Sizes for PathSizes<'_> {
    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size {
        self.size(subject, mark)
    }
}
