//! What a comparison came to.

use std::ops::Range;

use serde::Serialize;

use crate::checkpoint::Section;
use crate::hash::RecallId;
use crate::items;
use crate::message::Role;

/// What can be kept or lost, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum What {
    Constraint,
    Decision,
    Error,
    Path,
    Url,
    Email,
    Id,
    Identifier,
    Date,
    Version,
    Number,
    /// A sentence that neither orders nor decides; only found among inventions.
    Sentence,
}

impl What {
    /// Those that are counted, the most important first.
    pub const ALL: [What; 11] = [
        What::Constraint,
        What::Decision,
        What::Error,
        What::Path,
        What::Url,
        What::Email,
        What::Id,
        What::Identifier,
        What::Date,
        What::Version,
        What::Number,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            What::Constraint => "constraint",
            What::Decision => "decision",
            What::Error => "error",
            What::Path => "path",
            What::Url => "url",
            What::Email => "email",
            What::Id => "id",
            What::Identifier => "identifier",
            What::Date => "date",
            What::Version => "version",
            What::Number => "number",
            What::Sentence => "sentence",
        }
    }
}

impl From<items::Kind> for What {
    fn from(kind: items::Kind) -> Self {
        match kind {
            items::Kind::Path => What::Path,
            items::Kind::Url => What::Url,
            items::Kind::Email => What::Email,
            items::Kind::Identifier => What::Identifier,
            items::Kind::Id => What::Id,
            items::Kind::Number => What::Number,
            items::Kind::Date => What::Date,
            items::Kind::Version => What::Version,
            items::Kind::Error => What::Error,
        }
    }
}

/// What became of something that is no longer shown where it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It stands elsewhere in the view, letter by letter.
    Kept,
    /// It does in another form: a path by its end, a number without its commas, an order in other words.
    Reworded,
    /// It does not, but the view names the message or the text it can be recalled from.
    Recoverable,
    /// Nothing in the view leads to it; only a search of the history would.
    Missing,
}

/// How many of a kind met which fate. The four add up to the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Of what.
    pub what: What,
    /// How many there are, each counted once.
    pub total: usize,
    /// How many are kept letter by letter.
    pub kept: usize,
    /// How many are kept in another form.
    pub reworded: usize,
    /// How many can be recalled.
    pub recoverable: usize,
    /// How many are missing.
    pub missing: usize,
}

impl Tally {
    pub(super) fn of(what: What) -> Self {
        Self { what, total: 0, kept: 0, reworded: 0, recoverable: 0, missing: 0 }
    }

    pub(super) fn count(&mut self, fate: Fate) {
        self.total += 1;
        match fate {
            Fate::Kept => self.kept += 1,
            Fate::Reworded => self.reworded += 1,
            Fate::Recoverable => self.recoverable += 1,
            Fate::Missing => self.missing += 1,
        }
    }
}

/// Something that is not in the view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lost {
    /// What it is.
    pub what: What,
    /// Its text.
    pub text: String,
    /// The message it stands in, or the first of them.
    pub message: usize,
    /// Whose words these are.
    pub role: Role,
    /// How often it stands in what is no longer shown.
    pub uses: usize,
    /// What the view says it can be recalled by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<Recall>,
}

/// What a view names to recall something by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recall {
    /// The number of a message.
    Message(usize),
    /// The recall id in a marker.
    #[serde(serialize_with = "as_text")]
    Text(RecallId),
}

fn as_text<S: serde::Serializer>(id: &RecallId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

/// Something that a summary says and its source does not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Invented {
    /// What it is.
    pub what: What,
    /// The item, or the whole sentence where that is what nobody said.
    pub text: String,
    /// The sentence it stands in.
    pub claim: String,
    /// Whom the summary says to have it from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claimed>,
    /// What is wrong with it.
    pub fault: Fault,
    /// The section it stands in, where that is one of a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Section>,
    /// The summary it stands in, where there are several.
    pub summary: usize,
    /// The line it stands in, by its place in that summary.
    pub line: Range<usize>,
}

/// Whom a summary says to have something from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Claimed {
    /// Who.
    pub role: Role,
    /// In which message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<usize>,
}

/// What is wrong with something that a summary says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// It is nowhere in the source.
    Unknown,
    /// It is somewhere in the source, but not where this is said: another number, another path, a "not" too many.
    Changed,
    /// Nobody said anything like it.
    Unsupported,
    /// Somebody else said it, or it stands in another message.
    Misattributed,
}

/// What a compaction kept, what it lost, and what its summaries made up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// What became of what is no longer shown where it stood, by kind, the most important first.
    pub tallies: Vec<Tally>,
    /// What is missing, the most important first; no more than [`Loss::LONGEST_LIST`] of them.
    pub missing: Vec<Lost>,
    /// What can only be recalled, the most important first; no more than [`Loss::LONGEST_LIST`] of them.
    pub recoverable: Vec<Lost>,
    /// What summaries say and the source does not.
    pub invented: Vec<Invented>,
    /// How many sentences and lines of the summaries were checked.
    pub claims: usize,
}

impl Loss {
    /// How long a list of losses becomes; the tallies count all.
    pub const LONGEST_LIST: usize = 40;

    /// How many met a fate, of all kinds together.
    pub fn count(&self, fate: Fate) -> usize {
        let of = |tally: &Tally| match fate {
            Fate::Kept => tally.kept,
            Fate::Reworded => tally.reworded,
            Fate::Recoverable => tally.recoverable,
            Fate::Missing => tally.missing,
        };
        self.tallies.iter().map(of).sum()
    }

    /// The tally of one kind, if there was anything of it.
    pub fn of(&self, what: What) -> Option<&Tally> {
        self.tallies.iter().find(|tally| tally.what == what)
    }
}
