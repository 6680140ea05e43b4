//! `epitome undo`: what was compacted is shown again.

use epitome::{Run, Undo};

use super::Shelf;
use super::live::{Live, Summaries, print_outcome};
use crate::args::{Messages, UndoCompaction};
use crate::fail::failure;
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(arguments: &UndoCompaction, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings, Summaries::Offline)?;
    let what = match &arguments.messages {
        Some(Messages(range)) => Undo::Messages(*range.start() as u64..*range.end() as u64 + 1),
        None if arguments.all => Undo::All,
        None => Undo::Last,
    };
    let run = if arguments.dry_run { Run::Dry } else { Run::Real };
    let outcome = shelf.live(async {
        match live.session.undo(what, run).await {
            Err(epitome::Error::NothingToUndo) => Ok(None),
            outcome => outcome.map(Some),
        }
    })?;
    match outcome {
        Some(outcome) => print_outcome(&outcome, arguments.which.json, arguments.dry_run),
        None => Err(failure(
            epitome::Error::NothingToUndo,
            format!("epitome show {} draws its compactions", arguments.which.session),
        )),
    }
}
