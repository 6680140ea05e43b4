//! Notes: what was said about a stretch of a path. They are appended, never changed.

use std::ops::Range;

use epitome_core::Time;

/// What a note says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoteKind {
    /// These messages are to be shown whatever happens.
    Pin,
    /// These messages need not be shown any longer.
    Unpin,
    /// The topic of these messages is closed.
    Seal,
}

/// A note to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// What it says.
    pub kind: NoteKind,
    /// Of which messages of the path.
    pub messages: Range<u64>,
    /// Why, or whatever else belongs to it.
    pub content: Option<String>,
    /// When; the ledger's clock where it is not told.
    pub time: Option<Time>,
}

/// A note on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it says.
    pub kind: NoteKind,
    /// Of which messages of the path.
    pub messages: Range<u64>,
    /// Why, or whatever else belongs to it.
    pub content: Option<String>,
    /// The number of turns on the path when it was made.
    pub turns: u64,
    /// When it was made.
    pub time: Time,
}
