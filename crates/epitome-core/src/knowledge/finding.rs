//! What is found, and what is known of it later.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// What a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something that is the case and stays so: a name, an address, a version, where something lives, a cause.
    Fact,
    /// What was decided, with the reason where one was given.
    Decision,
    /// How the user wants things to be done, in general.
    Preference,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Fact, Kind::Decision, Kind::Preference];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Fact => "fact",
            Kind::Decision => "decision",
            Kind::Preference => "preference",
        }
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// A piece of knowledge, in the words in which it was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// What it is about: the words by which a later finding replaces it, in a fixed order.
    pub subject: String,
    /// What was said, secrets masked; a sentence that was wrapped has line breaks in it.
    pub text: String,
    /// The number of the message that says it.
    pub message: usize,
    /// The block of the message.
    pub block: usize,
    /// Its place in the text of that block.
    pub span: Range<usize>,
}

/// A finding of earlier, as far as it matters for what is found now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What it is.
    pub kind: Kind,
    /// What it is about.
    pub subject: String,
    /// What was said.
    pub text: String,
    /// Whether it counts.
    pub standing: Standing,
}

/// Whether a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It does.
    Current,
    /// Somebody said that it is none. It is known, so that it is not learnt again, and nothing takes its place.
    Rejected,
}
