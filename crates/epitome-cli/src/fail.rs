//! How the command fails: what happened, then a hint what to do, and an exit code.

use std::fmt::Display;
use std::process::ExitCode;

use crate::print::{BAD, FAINT, paint, say};

/// An error with a hint for the person at the terminal.
#[derive(Debug)]
pub(crate) struct Hinted {
    /// What happened.
    pub(crate) what: String,
    /// What to do.
    pub(crate) hint: String,
    /// Whether the command line itself was wrong.
    pub(crate) usage: bool,
}

impl Display for Hinted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.what)
    }
}

impl std::error::Error for Hinted {}

/// A failure of the work.
pub(crate) fn failure(what: impl Display, hint: impl Display) -> anyhow::Error {
    Hinted { what: what.to_string(), hint: hint.to_string(), usage: false }.into()
}

/// A misuse of the command line.
pub(crate) fn misuse(what: impl Display, hint: impl Display) -> anyhow::Error {
    Hinted { what: what.to_string(), hint: hint.to_string(), usage: true }.into()
}

/// Prints an error as this command prints errors.
pub(crate) fn print(error: &anyhow::Error) {
    say(format_args!("{} {error:#}", paint(BAD, "error:")));
    if let Some(Hinted { hint, .. }) = error.downcast_ref()
        && !hint.is_empty()
    {
        say(format_args!("{} {hint}", paint(FAINT, "hint:")));
    }
}

/// The exit code for an error: 2 for bad usage, 1 for everything else.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Hinted>() {
        Some(hinted) if hinted.usage => ExitCode::from(2),
        _ => ExitCode::from(1),
    }
}
