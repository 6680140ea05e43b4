//! `epitome instruct`: what every summary of a session is to mind.

use std::io::Write;

use serde_json::json;

use super::Shelf;
use super::live::{Live, Summaries};
use crate::args::InstructSession;
use crate::fail::misuse;
use crate::print::{WARN, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(arguments: &InstructSession, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings, Summaries::Offline)?;
    let said = arguments.text.as_deref().map(str::trim);
    if said == Some("") {
        return Err(misuse("there is nothing to mind in an empty text", "--clear takes back what was said"));
    }
    let changes = said.is_some() || arguments.clear;
    if changes && !arguments.dry_run {
        shelf.live(live.session.instruct(said))?;
    }
    let in_force = match changes {
        true => said.map(str::to_owned),
        false => shelf.live(live.session.instructions())?,
    };
    print(in_force.as_deref(), arguments.which.json)?;
    if said.is_some() && settings.values.summary.summarizer.is_offline() {
        say(format_args!(
            "{} code picks the summaries, and minds nothing of it; --summarizer and the setting of that name choose a model",
            paint(WARN, "note:"),
        ));
    }
    if changes && arguments.dry_run {
        say("nothing was changed (--dry-run)");
    }
    Ok(())
}

fn print(in_force: Option<&str>, json: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match in_force {
        _ if json => writeln!(out, "{}", json!({"instructions": in_force}))?,
        Some(text) => writeln!(out, "{text}")?,
        None => say("its summaries are to mind nothing but the conversation"),
    }
    Ok(())
}
