//! Sessions at work: the engine on a ledger, and what its commands print alike.

use std::io::Write;

use epitome::{Engine, Outcome};
use epitome_core::compact::Decision;
use epitome_ledger::model::Session;
use epitome_wire::Dialect;
use epitome_wire::files::Notation;

use super::{Shelf, pick, place};
use crate::args::Which;
use crate::fail::{failure, misuse};
use crate::print::{FAINT, WARN, paint, say};
use crate::settings::Settings;

/// A session and the engine it is held with.
pub(super) struct Live {
    pub(super) recorded: Session,
    pub(super) session: epitome::Session,
}

impl Live {
    /// Finds the session that is meant, and how it speaks.
    pub(super) fn open(which: &Which, shelf: &Shelf, settings: &Settings) -> anyhow::Result<Self> {
        let recorded = pick::session(shelf, &which.session)?;
        let first = match recorded.head {
            Some(head) => shelf.wait(shelf.ledger.messages(shelf.tenant, head, 0..1))?,
            None => Vec::new(),
        };
        let notation = first.first().and_then(|message| Notation::from_number(message.notation.0));
        let answered = match recorded.head {
            Some(head) if which.model.is_none() => {
                let last = recorded.turns.saturating_sub(8)..recorded.turns;
                let turns = shelf.wait(shelf.ledger.turns(shelf.tenant, head, last))?;
                turns
                    .into_iter()
                    .rev()
                    .find_map(|turn| turn.reply.and_then(|reply| reply.model).or(turn.model))
            }
            _ => None,
        };
        let engine = Engine::builder()
            .ledger(shelf.ledger.clone())
            .tenant(shelf.tenant)
            .agent(recorded.agent.as_str())
            .dialect(notation.map_or(Dialect::Anthropic, Notation::dialect))
            .configured(settings.clone())
            .model(which.model.clone().or(answered).unwrap_or_default());
        let session = shelf.live(async { engine.build().await?.resume(recorded.id).await })?;
        Ok(Self { recorded, session })
    }
}

impl Shelf {
    /// Waits for work of the engine.
    pub(super) fn live<T>(&self, work: impl Future<Output = epitome::Result<T>>) -> anyhow::Result<T> {
        self.runtime.block_on(work).map_err(|error| match error {
            epitome::Error::Ledger(error) => place::refused(&error, &self.name),
            error @ epitome::Error::NotThere { .. } => {
                misuse(error, "epitome show lists its turns and messages")
            }
            epitome::Error::NothingToSeal => misuse(error, "something must be said first"),
            // What it is about stands in its words already.
            error => failure(error, ""),
        })
    }
}

/// Tells what a compaction or an undo came to, or would come to.
pub(super) fn print_outcome(outcome: &Outcome, json: bool, dry: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(outcome)?)?;
        return Ok(());
    }
    let report = &outcome.report;
    match &outcome.turn {
        Some(turn) => writeln!(
            out,
            "{} → {} tokens  {}",
            grouped(report.tokens_before),
            grouped(report.tokens_after),
            paint(FAINT, turn)
        )?,
        None if dry && report.decision == Decision::Compacted => {
            writeln!(
                out,
                "{} → at most {} tokens",
                grouped(report.tokens_before),
                grouped(report.tokens_after)
            )?;
            say("nothing was changed (--dry-run)");
        }
        None => writeln!(out, "nothing was changed: {}", report.reason)?,
    }
    for stretch in &report.segments {
        let messages = match stretch.range.len() {
            1 => format!("message {}", stretch.range.start),
            _ => format!("messages {}–{}", stretch.range.start, stretch.range.end.saturating_sub(1)),
        };
        let sizes = format!("{} → {}", grouped(stretch.tokens_before), grouped(stretch.tokens_after));
        writeln!(out, "  {:<9} {messages:<22} {sizes}", stretch.kind)?;
    }
    for note in outcome.vetoes.iter().chain(&outcome.notes).chain(&report.notes) {
        match note.strip_prefix("undoes ") {
            Some(turn) => say(paint(FAINT, format_args!("as it was before the compaction {turn}"))),
            None => say(format_args!("{} {note}", paint(WARN, "note:"))),
        }
    }
    Ok(())
}

fn grouped(tokens: epitome_core::Tokens) -> String {
    crate::print::grouped(tokens.0)
}
