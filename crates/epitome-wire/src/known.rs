//! A body whose messages are known: what a decision asks for is looked up, not read or counted again.

use std::sync::Arc;

use epitome_core::prune::{Count, Mark, Size, Sizes, Subject};
use epitome_core::{Entry, Time, Tokens};

use crate::body::Body;
use crate::error::WireError;
use crate::sketch::{Print, Sketch, Sketches};

/// A body and the sketches of its messages.
#[derive(Debug)]
pub struct Known<'k, 'a> {
    body: &'k Body<'a>,
    sketches: &'k Sketches,
    messages: Vec<Arc<Sketch>>,
}

impl<'k, 'a> Known<'k, 'a> {
    /// Looks a body's messages up; those that are new are read and counted.
    pub fn of(body: &'k Body<'a>, sketches: &'k Sketches) -> Result<Self, WireError> {
        Ok(Self { body, sketches, messages: sketches.of(body)? })
    }

    /// The body's messages as decisions see them, written at these times; a missing one is not known.
    pub fn path(&self, times: &[Option<Time>]) -> Vec<Entry> {
        let entry = |(index, sketch): (usize, &Arc<Sketch>)| Entry {
            outline: Arc::clone(&sketch.outline),
            time: times.get(index).copied().flatten(),
        };
        self.messages.iter().enumerate().map(entry).collect()
    }

    /// The sketches of the messages, in order.
    pub(crate) fn messages(&self) -> &[Arc<Sketch>] {
        &self.messages
    }

    /// The text that a block becomes under a mark; `None` where it has none that could be changed.
    pub(crate) fn marked(&self, subject: &Subject<'_>, mark: Mark) -> Option<String> {
        self.print(subject, mark, |print| print.text.clone())
    }

    fn print<T>(&self, subject: &Subject<'_>, mark: Mark, read: impl Fn(&Print) -> T) -> Option<T> {
        let sketch = self.messages.get(subject.message)?;
        sketch.print(self.body.message(subject.message), subject, mark, self.sketches.counter(), read)
    }
}

impl Count for Known<'_, '_> {
    fn text(&self, text: &str) -> Tokens {
        self.sketches.text(text)
    }

    fn known(&self, subject: &Subject<'_>, mark: Mark) -> Option<Size> {
        self.print(subject, mark, |print| print.size)
    }
}

impl Sizes for &Known<'_, '_> {
    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size {
        self.known(subject, mark).unwrap_or(subject.size())
    }
}
