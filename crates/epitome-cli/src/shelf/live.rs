//! Sessions at work: the engine on a ledger, and what its commands print alike.

use std::io::Write;

use epitome::{Engine, Outcome};
use epitome_core::Tokens;
use epitome_core::compact::{Decision, StrategyName};
use epitome_core::models::Warning;
use epitome_core::summaries::Writers;
use epitome_ledger::model::Session;
use epitome_wire::Dialect;
use epitome_wire::files::Notation;

use super::{Shelf, pick, place};
use crate::args::Which;
use crate::fail::{failure, misuse};
use crate::print::{FAINT, WARN, paint, say};
use crate::settings::Settings;
use crate::writers::{self, Account};

/// A session and the engine it is held with.
pub(super) struct Live {
    pub(super) recorded: Session,
    pub(super) session: epitome::Session,
    pub(super) engine: Engine,
    /// How it speaks.
    pub(super) dialect: Dialect,
}

/// Who writes the summaries of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Summaries {
    /// Whoever the settings name.
    AsSet,
    /// Nobody needs a model, so that none has to be within reach.
    Offline,
}

impl Live {
    /// Finds the session that is meant, and how it speaks.
    pub(super) fn open(
        which: &Which,
        shelf: &Shelf,
        settings: &Settings,
        summaries: Summaries,
    ) -> anyhow::Result<Self> {
        let mut settings = settings.clone();
        if summaries == Summaries::Offline {
            settings.values.summary.summarizer = Writers::default();
        }
        let recorded = pick::session(shelf, &which.session)?;
        let first = match recorded.head {
            Some(head) => shelf.wait(shelf.ledger.messages(shelf.tenant, head, 0..1))?,
            None => Vec::new(),
        };
        let notation = first.first().and_then(|message| Notation::from_number(message.notation.0));
        let model = match &which.model {
            Some(model) => model.clone(),
            None => answered(&recorded, shelf, &settings)?.unwrap_or_default(),
        };
        let dialect = notation.map_or(Dialect::Anthropic, Notation::dialect);
        let engine = Engine::builder()
            .ledger(shelf.ledger.clone())
            .tenant(shelf.tenant)
            .agent(recorded.agent.as_str())
            .dialect(dialect)
            .configured(settings)
            .model(model);
        let engine = shelf.live(engine.build())?;
        let session = shelf.live(engine.resume(recorded.id))?;
        Ok(Self { recorded, session, engine, dialect })
    }
}

/// So many of the last turns are looked at to find out which model answers.
const LAST: u64 = 64;

// The last model of those that are known, as tools write made-up names where they answer themselves; else the last one.
fn answered(recorded: &Session, shelf: &Shelf, settings: &Settings) -> anyhow::Result<Option<String>> {
    let Some(head) = recorded.head else { return Ok(None) };
    let last = recorded.turns.saturating_sub(LAST)..recorded.turns;
    let turns = shelf.wait(shelf.ledger.turns(shelf.tenant, head, last))?.into_iter().rev();
    let mut models: Vec<String> =
        turns.filter_map(|turn| turn.reply.and_then(|reply| reply.model).or(turn.model)).collect();
    let is_known =
        |model: &String| !matches!(settings.models.get(model).warning, Some(Warning::Unknown { .. }));
    let at = models.iter().position(is_known).unwrap_or(0);
    Ok((at < models.len()).then(|| models.swap_remove(at)))
}

impl Shelf {
    /// Waits for work of the engine.
    pub(super) fn live<T>(&self, work: impl Future<Output = epitome::Result<T>>) -> anyhow::Result<T> {
        self.runtime.block_on(work).map_err(|error| match error {
            epitome::Error::Ledger(error) => place::refused(&error, &self.name),
            epitome::Error::NotThere { count, .. } => {
                let last = count.saturating_sub(1);
                misuse(error, format!("they are numbered 0 to {last}; epitome history SESSION prints them"))
            }
            epitome::Error::Scribe(error) => writers::refused(error),
            epitome::Error::NothingToSeal => misuse(error, "something must be said first"),
            // What it is about stands in its words already.
            error => failure(error, ""),
        })
    }
}

/// An amount of the user's in our tokens: it is meant in those of the model that was asked for, if one was that is known.
pub(super) fn in_our_tokens(amount: Tokens, model: Option<&str>, settings: &Settings) -> Tokens {
    let found = model.map(|model| settings.models.get(model));
    match found.filter(|found| !matches!(found.warning, Some(Warning::Unknown { .. }))) {
        Some(found) => Tokens((amount.0 as f64 / found.model.start.ratio) as u64),
        None => amount,
    }
}

/// Fails where a budget that was asked for is missed; strategies that only report it do not promise to meet one.
pub(super) fn check_budget(session: &str, asked: Tokens, outcome: &Outcome) -> anyhow::Result<()> {
    let report = &outcome.report;
    let only_reports = [StrategyName::None.as_str(), StrategyName::Prune.as_str()].contains(&report.strategy);
    let short = report.shortfall.max(report.tokens_after - asked);
    if short == Tokens::ZERO || only_reports {
        return Ok(());
    }
    let what = format!("{session} exceeds its budget by {} tokens", grouped(short));
    Err(failure(what, "raise it, or unpin messages; epitome pin lists them"))
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
    let spent = serde_json::to_value(outcome)?["spent"].take();
    Account::of(&outcome.summaries)
        .costing(&spent)
        .lines()
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))?;
    if let Some(saves) = outcome.saves {
        let money = saves.money.map(|money| format!(", {money}")).unwrap_or_default();
        writeln!(out, "  saves {} tokens of the model with each call{money}", grouped(saves.tokens))?;
    }
    for note in outcome.vetoes.iter().chain(&outcome.notes).chain(&report.notes) {
        match note.strip_prefix("undoes ") {
            Some("everything") => say(paint(FAINT, "as it was before any compaction")),
            Some(turn) => say(paint(FAINT, format_args!("as it was before the compaction {turn}"))),
            None => say(format_args!("{} {note}", paint(WARN, "note:"))),
        }
    }
    Ok(())
}

fn grouped(tokens: Tokens) -> String {
    crate::print::grouped(tokens.0)
}
