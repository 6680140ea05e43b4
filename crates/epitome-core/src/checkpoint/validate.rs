//! The sanity check of spec 008.1 v4 on a summary that a model wrote.

use thiserror::Error;

use crate::units::Chars;

/// The fewest characters of a summary that is accepted.
pub const SHORTEST: Chars = Chars(200);
/// The most characters of a summary that nobody is warned about.
pub const LONGEST: Chars = Chars(8000);
/// The headings of which two must be there.
pub const EXPECTED: [&str; 3] = ["## Goal", "## Progress", "## Critical Context"];

/// A summary that is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is too short to stand for a conversation.
    #[error("summary has {0} characters, expected at least {SHORTEST}")]
    TooShort(Chars),
    /// It does not have the format.
    #[error("summary has {found} of the sections Goal, Progress and Critical Context, expected at least 2")]
    MissingSections {
        /// How many of them it has.
        found: usize,
    },
}

/// A summary that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Nothing to be said.
    Fine,
    /// It is longer than it should be; better than losing context.
    TooLong(Chars),
}

/// Checks a summary: long enough, and in the format of a checkpoint.
pub fn validate(text: &str) -> Result<Validity, CheckpointError> {
    let length = Chars::of(text);
    if length < SHORTEST {
        return Err(CheckpointError::TooShort(length));
    }
    let found = EXPECTED.iter().filter(|heading| text.contains(*heading)).count();
    if found < 2 {
        return Err(CheckpointError::MissingSections { found });
    }
    Ok(if length > LONGEST { Validity::TooLong(length) } else { Validity::Fine })
}
