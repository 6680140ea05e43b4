//! Changes to a checkpoint: a model says what is new, code does it, and what it does not name stays letter by letter.

mod apply;
mod listing;
mod read;

use epitome_core::checkpoint::Section;
use thiserror::Error;

pub use listing::listing;

/// What has to change in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// The changes, in order.
    pub changes: Vec<Change>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new entry at the end of a section.
    Add {
        /// Where.
        section: Section,
        /// What it says.
        text: String,
    },
    /// An entry says something else now.
    Replace {
        /// Which.
        id: Id,
        /// What it says.
        text: String,
    },
    /// An entry belongs elsewhere, as it is.
    Move {
        /// Which.
        id: Id,
        /// Where to.
        section: Section,
    },
    /// An entry no longer holds.
    Remove {
        /// Which.
        id: Id,
    },
}

/// The place of an entry: its section and its number there, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    /// The section.
    pub section: Section,
    /// The number.
    pub number: usize,
}

/// Changes that cannot be made. None of them is made then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// It is no JSON, or not of the form that was asked for.
    #[error("the changes are not the JSON that was asked for: {0}")]
    Form(String),
    /// There is no such entry.
    #[error("there is no entry {0:?}")]
    UnknownId(String),
    /// There is no such section, or it cannot hold this.
    #[error("nothing can be put under {0:?}")]
    UnknownSection(String),
    /// Two changes are about the same entry.
    #[error("entry {0:?} is changed twice")]
    Twice(String),
    /// An entry would say nothing.
    #[error("an entry of {0:?} would say nothing")]
    Empty(&'static str),
    /// So many entries would go that this is no change but a loss.
    #[error("{gone} of {all} entries would go")]
    Sweeping {
        /// Entries that would go.
        gone: usize,
        /// Entries that there are.
        all: usize,
    },
}

/// The sections that a model may change, by the names it knows.
const NAMES: [(&str, Section); 13] = [
    ("goal", Section::Goal),
    ("constraints", Section::Constraints),
    ("done", Section::Done),
    ("in_progress", Section::InProgress),
    ("decisions", Section::Decisions),
    ("dynamics", Section::Dynamics),
    ("next_steps", Section::NextSteps),
    ("context", Section::Context),
    ("failed", Section::Failed),
    ("created", Section::Created),
    ("modified", Section::Modified),
    ("deleted", Section::Deleted),
    ("read", Section::Read),
];

fn name(section: Section) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == section).map_or("other", |(name, _)| name)
}

impl std::fmt::Display for Id {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", name(self.section), self.number)
    }
}
