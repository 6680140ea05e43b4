//! `epitome import`: sessions of other tools become sessions of the ledger.

mod batch;
mod label;
mod paths;
mod record;
mod steps;
mod threads;

use std::path::Path;
use std::time::{Duration, SystemTime};

use epitome_core::compact::Compaction;
use epitome_ledger::Access;
use epitome_wire::files::{ReadOptions, Summaries};
use serde::Serialize;

use self::batch::Batch;
use self::paths::{Material, Reading};
use self::record::{Outcome, Recorded};
use super::Shelf;
use crate::args::Import;
use crate::fail::failure;
use crate::input::{self, Item, is_stdin};
use crate::print::{WARN, bytes, count, grouped, paint, say};
use crate::progress::Progress;
use crate::settings::Settings;

/// A file that was changed so recently may still be written.
const QUIET: Duration = Duration::from_secs(15 * 60);

/// Whether a compaction was done by another tool, and so shows what that tool sent.
pub(super) fn is_imported(compaction: &Compaction) -> bool {
    compaction.wording.summary == steps::AS_IT_STANDS
}

/// What an import did.
#[derive(Default, Serialize)]
struct Summary {
    files: u64,
    /// Files that could not be read, whole or in part.
    failed: u64,
    /// Lines that could not be read and were passed over.
    damaged: u64,
    /// Sessions that were not there before, forks included.
    new: u64,
    /// Of these, those that share a beginning with another session.
    forked: u64,
    grown: u64,
    unchanged: u64,
    /// Messages that were recorded.
    messages: u64,
    /// Their bytes.
    message_bytes: u64,
    compactions: u64,
    /// Messages at the ends of files that were left for the next import.
    left: u64,
    /// Bytes of text that were read.
    bytes: u64,
    /// Bytes that the ledger has taken since, indexes included.
    stored: u64,
    /// Bytes that the whole ledger takes.
    ledger: u64,
}

/// Runs the command.
pub(super) fn run(arguments: &Import, settings: &Settings) -> anyhow::Result<()> {
    let (sources, refused) = input::readable(&arguments.input)?;
    for error in &refused {
        say(format_args!("{} {error:#}", paint(WARN, "skipped:")));
    }
    let shelf = Shelf::open(&arguments.database, Access::ReadWrite)?;
    let before = shelf.wait(shelf.ledger.stored_bytes())?;
    let counter = settings.models.get("").model.counter();
    let work = |path: &Path, transcript, _: &Progress| {
        let growing = !arguments.whole && is_growing(path);
        let reading = Reading { agent: arguments.agent.as_deref(), growing };
        Ok(Material::of(path, transcript, reading, &counter))
    };
    let (mut summary, mut batch) =
        (Summary { failed: refused.len() as u64, ..Summary::default() }, Batch::default());
    let options = ReadOptions { summaries: Summaries::Apart, ..input::options(&arguments.input) };
    let outcome = input::each_shown(&options, &sources, work, |path, item, progress| {
        match item {
            Item::Session(material) => {
                for line in &material.damage {
                    let told = format!("{} {}: {line}", paint(WARN, "damaged:"), path.display());
                    progress.suspended(|| say(told));
                }
                summary.damaged += material.damage.len() as u64;
                summary.bytes += material.bytes;
                summary.left += material.left;
                if batch.push(material) {
                    summary.add(batch.record(&shelf)?);
                }
            }
            Item::Done => summary.files += 1,
            Item::Failed => summary.failed += 1,
        }
        Ok(())
    });
    // A file that is alone and cannot be read: the error says all there is to say.
    if outcome.is_err() && (summary.files, summary.failed, summary.bytes) == (0, refused.len() as u64, 0) {
        shelf.close();
        return outcome;
    }
    summary.add(batch.record(&shelf)?);
    if summary.messages > 0 {
        shelf.wait(shelf.ledger.pack())?;
    }
    summary.ledger = shelf.wait(shelf.ledger.stored_bytes())?;
    summary.stored = summary.ledger.saturating_sub(before);
    summary.print(arguments, &shelf)?;
    shelf.close();
    outcome?;
    match refused.len() {
        0 => Ok(()),
        count => Err(failure(
            format!("{count} of what was named could not be looked at"),
            "the reasons stand above; the rest was imported",
        )),
    }
}

// What is compressed is complete, and nothing is appended to what comes through a pipe.
fn is_growing(path: &Path) -> bool {
    let changed = || std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let is_complete = is_stdin(path) || path.extension().is_some_and(|ending| ending == "gz");
    !is_complete
        && changed()
            .is_some_and(|changed| SystemTime::now().duration_since(changed).unwrap_or_default() < QUIET)
}

impl Summary {
    fn add(&mut self, recorded: Vec<Recorded>) {
        for recorded in recorded {
            self.messages += recorded.messages;
            self.message_bytes += recorded.bytes;
            self.compactions += recorded.compactions;
            match recorded.outcome {
                Outcome::New => self.new += 1,
                Outcome::Forked => (self.new, self.forked) = (self.new + 1, self.forked + 1),
                Outcome::Grown => self.grown += 1,
                Outcome::Unchanged => self.unchanged += 1,
            }
        }
    }

    fn print(&self, arguments: &Import, shelf: &Shelf) -> anyhow::Result<()> {
        if arguments.json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let forked = match self.forked {
            0 => String::new(),
            forked => format!(" ({} forked)", grouped(forked)),
        };
        say(format_args!(
            "sessions: {} new{forked}, {} grown, {} unchanged; files: {} read, {} failed",
            grouped(self.new),
            grouped(self.grown),
            grouped(self.unchanged),
            grouped(self.files),
            grouped(self.failed),
        ));
        say(format_args!(
            "recorded: {} ({}) and {}; read: {}",
            count(self.messages, "message"),
            bytes(self.message_bytes),
            count(self.compactions, "compaction"),
            bytes(self.bytes),
        ));
        if self.left > 0 {
            say(format_args!(
                "left for the next import: {} that may not be whole yet; --whole records them now",
                count(self.left, "message"),
            ));
        }
        say(format_args!(
            "ledger: {}, {} more than before, in {}",
            bytes(self.ledger),
            bytes(self.stored),
            shelf.name
        ));
        Ok(())
    }
}
