//! The checkpoint itself and its sections.

use serde::Serialize;

use super::entry::{Decision, Item, OtherSection, Request};
use super::excerpt::{Excerpt, Name};

/// The state of a piece of work: what an agent must know to go on where older messages are no longer shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// What the user wants to achieve.
    pub goal: Option<Item>,
    /// Requirements, preferences and technical constraints.
    pub constraints: Vec<Item>,
    /// What is completed, oldest first.
    pub done: Vec<Item>,
    /// What is being worked on.
    pub in_progress: Vec<Item>,
    /// What was decided, and why, oldest first.
    pub decisions: Vec<Decision>,
    /// Tone, preferences as to behaviour, open questions of the user.
    pub dynamics: Vec<Item>,
    /// What comes next, in order.
    pub next_steps: Vec<Item>,
    /// Paths, errors, names: what is needed to continue.
    pub context: Vec<Item>,
    /// Lines of messages as they stood there, oldest first.
    pub excerpts: Vec<Excerpt>,
    /// Names of things that were spoken of, oldest first.
    pub names: Vec<Name>,
    /// The files that were touched.
    pub files: Files,
    /// What was tried and did not work.
    pub failed: Vec<Item>,
    /// Sections that this format does not know.
    pub other: Vec<OtherSection>,
    /// What the user asked for last.
    pub request: Option<Request>,
}

/// The files that were touched, by what was done to them last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Files {
    /// New files.
    pub created: Vec<Item>,
    /// Changed files.
    pub modified: Vec<Item>,
    /// Removed files.
    pub deleted: Vec<Item>,
    /// Files that were only read.
    pub read: Vec<Item>,
}

/// The sections of a checkpoint, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Section {
    Goal,
    Constraints,
    Done,
    InProgress,
    Decisions,
    Dynamics,
    NextSteps,
    Context,
    Excerpts,
    Names,
    Created,
    Modified,
    Deleted,
    Read,
    Failed,
    Other,
    Request,
}

impl Section {
    /// The heading under which it is written; that of [`Section::Other`] is its own.
    pub fn heading(self) -> &'static str {
        match self {
            Section::Goal => "## Goal",
            Section::Constraints => "## Constraints & Preferences",
            Section::Done => "### Done",
            Section::InProgress => "### In Progress",
            Section::Decisions => "## Key Decisions",
            Section::Dynamics => "## Conversation Dynamics",
            Section::NextSteps => "## Next Steps",
            Section::Context => "## Critical Context",
            Section::Excerpts => "### Excerpts",
            Section::Names => "### Names",
            Section::Created => "### Created",
            Section::Modified => "### Modified",
            Section::Deleted => "### Deleted",
            Section::Read => "### Read",
            Section::Failed => "## Failed Attempts",
            Section::Other => "##",
            Section::Request => "## Latest User Request",
        }
    }

    /// The heading above those of several sections that belong together.
    pub(super) fn group(self) -> Option<&'static str> {
        match self {
            Section::Done | Section::InProgress => Some("## Progress"),
            Section::Excerpts | Section::Names => Some(Section::Context.heading()),
            Section::Created | Section::Modified | Section::Deleted | Section::Read => Some("## Files"),
            _ => None,
        }
    }
}

/// The sections that are plain lists of items.
pub(super) const LISTS: [Section; 11] = [
    Section::Constraints,
    Section::Done,
    Section::InProgress,
    Section::Dynamics,
    Section::NextSteps,
    Section::Context,
    Section::Created,
    Section::Modified,
    Section::Deleted,
    Section::Read,
    Section::Failed,
];

impl Checkpoint {
    /// Whether it says nothing at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The items of a section that is a plain list; empty for the others.
    pub fn items(&self, section: Section) -> &[Item] {
        match section {
            Section::Constraints => &self.constraints,
            Section::Done => &self.done,
            Section::InProgress => &self.in_progress,
            Section::Dynamics => &self.dynamics,
            Section::NextSteps => &self.next_steps,
            Section::Context => &self.context,
            Section::Created => &self.files.created,
            Section::Modified => &self.files.modified,
            Section::Deleted => &self.files.deleted,
            Section::Read => &self.files.read,
            Section::Failed => &self.failed,
            Section::Goal | Section::Decisions | Section::Other | Section::Request => &[],
            Section::Excerpts | Section::Names => &[],
        }
    }

    /// The same, to be changed; `None` for sections that are no plain list.
    pub fn items_mut(&mut self, section: Section) -> Option<&mut Vec<Item>> {
        Some(match section {
            Section::Constraints => &mut self.constraints,
            Section::Done => &mut self.done,
            Section::InProgress => &mut self.in_progress,
            Section::Dynamics => &mut self.dynamics,
            Section::NextSteps => &mut self.next_steps,
            Section::Context => &mut self.context,
            Section::Created => &mut self.files.created,
            Section::Modified => &mut self.files.modified,
            Section::Deleted => &mut self.files.deleted,
            Section::Read => &mut self.files.read,
            Section::Failed => &mut self.failed,
            Section::Goal | Section::Decisions | Section::Other | Section::Request => return None,
            Section::Excerpts | Section::Names => return None,
        })
    }
}
