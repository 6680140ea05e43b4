//! `epitome show`: a session drawn: where it comes from, its turns, its compactions, and what was forked from it.

use std::io::Write;

use epitome_core::Tokens;
use epitome_ledger::model::{CompactionRecord, Session, Turn, TurnId, TurnKind};
use serde_json::{Value, json};

use super::{Shelf, pick, purge, sessions};
use crate::args::ShowSession;
use crate::print::{FAINT, HEADING, WARN, count, grouped, moment, paint, plural, width};
use crate::writers::{Account, unused};

/// Columns in front of what is drawn.
const GUTTER: &str = "  ";

/// What is shown of a session.
struct Drawn {
    session: Session,
    /// The sessions that it stands on, the oldest first.
    ancestors: Vec<Session>,
    /// What is to be said of the oldest of them, where it was purged.
    gone: Option<String>,
    turns: Vec<Turn>,
    /// Its compactions, by number of their turn.
    compactions: Vec<(u64, CompactionRecord)>,
    /// What its summaries are to mind.
    instructions: Option<String>,
    /// What was forked from it, by number of the last turn that both have.
    forks: Vec<(u64, Session)>,
}

/// Runs the command.
pub(super) fn run(arguments: &ShowSession, shelf: &Shelf) -> anyhow::Result<()> {
    let drawn = Drawn::read(shelf, pick::session(shelf, &arguments.session)?)?;
    let mut out = anstream::stdout().lock();
    match arguments.json {
        true => writeln!(out, "{}", drawn.as_json())?,
        false => drawn.draw(&mut out)?,
    }
    Ok(())
}

impl Drawn {
    fn read(shelf: &Shelf, session: Session) -> anyhow::Result<Self> {
        let turns = pick::turns(shelf, &session)?;
        let mut compactions = Vec::new();
        for turn in turns.iter().filter(|turn| turn.kind == TurnKind::Compaction) {
            let (_, record) = shelf.wait(shelf.ledger.compaction(shelf.tenant, turn.id))?;
            compactions.push((turn.number, record));
        }
        let number = |fork: &Session| {
            let at = fork.origin?.turn;
            turns.iter().find(|turn| turn.id == at).map(|turn| turn.number)
        };
        let forks = shelf.wait(shelf.ledger.forks(shelf.tenant, session.id))?;
        let mut forks: Vec<(u64, Session)> = forks
            .into_iter()
            .map(|fork| Ok((number(&fork).unwrap_or(0), sessions::counted(shelf, fork)?)))
            .collect::<anyhow::Result<_>>()?;
        forks.sort_by_key(|(number, _)| *number);
        let (mut ancestors, mut gone): (Vec<Session>, _) = (Vec::new(), None);
        while let Some(origin) = ancestors.last().unwrap_or(&session).origin {
            // A purged ancestor is kept for its forks, but has nothing more to say.
            match shelf.wait(shelf.ledger.session(shelf.tenant, origin.session)) {
                Ok(parent) => ancestors.push(sessions::counted(shelf, parent)?),
                Err(_) => {
                    let told = purge::epitaph(shelf, origin.session)?;
                    gone = Some(format!("{} {told}", pick::short(origin.session)));
                    break;
                }
            }
        }
        ancestors.reverse();
        let instructions = shelf.live(epitome::instructions(&shelf.ledger, shelf.tenant, session.id))?;
        let session = sessions::counted(shelf, session)?;
        Ok(Self { session, ancestors, gone, turns, compactions, instructions, forks })
    }

    fn draw(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let session = &self.session;
        writeln!(out, "{} {}", paint(HEADING, session.id), pick::called(session))?;
        let place = session.channel.as_deref().map(|channel| format!(" · {channel}")).unwrap_or_default();
        writeln!(out, "{GUTTER}{} · {}{place}", session.agent, moment(session.created))?;
        writeln!(
            out,
            "{GUTTER}{} · {} · {} tokens in all, {} in the context{}",
            plural(self.turns.len(), "turn"),
            count(session.messages, "message"),
            grouped(session.tokens_total.0),
            grouped(session.tokens_used.0),
            session.token_limit.map(|limit| format!(" of {limit:#}")).unwrap_or_default(),
        )?;
        if let Some(text) = &self.instructions {
            writeln!(out, "{GUTTER}to be minded by its summaries: {}", first_line(text))?;
        }
        writeln!(out)?;
        let ancestors: Vec<String> =
            self.gone.iter().cloned().chain(self.ancestors.iter().map(named)).collect();
        for (depth, ancestor) in ancestors.iter().enumerate() {
            let indent = "   ".repeat(depth);
            writeln!(out, "{GUTTER}{indent}{ancestor}")?;
        }
        if let Some(origin) = session.origin {
            let shared = format!("forked behind message {}", origin.messages);
            writeln!(
                out,
                "{GUTTER}{}└─ {}",
                "   ".repeat(ancestors.len().saturating_sub(1)),
                paint(FAINT, shared)
            )?;
        }
        self.draw_turns(out)
    }

    // Calls in a row are one line; compactions and forks stand where they happened.
    fn draw_turns(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let mut run: Vec<&Turn> = Vec::new();
        for turn in &self.turns {
            if turn.kind == TurnKind::Compaction {
                draw_calls(out, &run, self.session.head)?;
                run.clear();
                self.draw_compaction(out, turn)?;
            } else {
                run.push(turn);
            }
            let forks: Vec<&Session> = self
                .forks
                .iter()
                .filter(|(number, _)| *number == turn.number)
                .map(|(_, fork)| fork)
                .collect();
            let leaves = self.session.origin.is_some_and(|origin| origin.turn == turn.id);
            if !forks.is_empty() || leaves {
                draw_calls(out, &run, self.session.head)?;
                run.clear();
            }
            for fork in forks {
                writeln!(out, "{GUTTER}│  └─ {}", named(fork))?;
            }
            if leaves {
                writeln!(out, "{GUTTER}┊  {}", paint(FAINT, "shared up to here"))?;
            }
        }
        draw_calls(out, &run, self.session.head)
    }

    fn draw_compaction(&self, out: &mut impl Write, turn: &Turn) -> anyhow::Result<()> {
        let Some((_, record)) = self.compactions.iter().find(|(number, _)| *number == turn.number) else {
            return Ok(());
        };
        let what = match is_undo(record) {
            true => paint(WARN, "undo"),
            false => format!("{} by {} ({})", paint(WARN, "compaction"), record.strategy, record.trigger),
        };
        writeln!(
            out,
            "{GUTTER}◆ turn {} {what}, {} → {} tokens  {}",
            turn.number,
            grouped(record.tokens_before.0),
            grouped(record.tokens_after.0),
            paint(FAINT, moment(turn.time)),
        )?;
        if let Some(summary) = record.compaction.summary() {
            writeln!(out, "{GUTTER}│   {}", paint(FAINT, first_line(&summary)))?;
        }
        let summaries = Account::read(&account(record)["summaries"]);
        let unused = unused(&account(record)["unused"]);
        let lines = summaries.lines().into_iter().chain(unused);
        lines.into_iter().try_for_each(|line| writeln!(out, "{GUTTER}│ {line}"))?;
        Ok(())
    }

    fn as_json(&self) -> serde_json::Value {
        let mut told = sessions::as_json(&self.session);
        told["ancestors"] = self.ancestors.iter().map(sessions::as_json).collect();
        told["instructions"] = json!(self.instructions);
        told["purged_ancestor"] = json!(self.gone);
        let fork =
            |(number, fork): &(u64, Session)| json!({"turn": number, "session": sessions::as_json(fork)});
        told["forks"] = self.forks.iter().map(fork).collect();
        let compaction = |(number, record): &(u64, CompactionRecord)| {
            let mut told = json!({
                "turn": number, "strategy": record.strategy, "trigger": record.trigger,
                "tokens_before": record.tokens_before, "tokens_after": record.tokens_after,
                "summary": record.compaction.summary(), "segments": record.compaction.segments,
            });
            let recorded = account(record);
            for what in ["instructions", "summaries", "learnt", "unused", "saves"] {
                if let Some(known) = recorded.get(what) {
                    told[what] = known.clone();
                }
            }
            told
        };
        told["compactions_on_path"] = self.compactions.iter().map(compaction).collect();
        told
    }
}

// As much of the first line of a text as fits beside what stands before it.
fn first_line(text: &str) -> String {
    let most = width().saturating_sub(8).max(20);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(most).collect()
}

/// Whether this was recorded to show again what another one hid.
pub(super) fn is_undo(record: &CompactionRecord) -> bool {
    record.trigger == "undo"
}

// What was recorded of a compaction when it was done.
fn account(record: &CompactionRecord) -> Value {
    let recorded = record.report.as_deref().map(serde_json::from_str);
    recorded.and_then(Result::ok).unwrap_or_default()
}

fn draw_calls(out: &mut impl Write, run: &[&Turn], head: Option<TurnId>) -> anyhow::Result<()> {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
    let numbers = match first.number == last.number {
        true => format!("turn {}", first.number),
        false => format!("turns {}–{}", first.number, last.number),
    };
    let context = run.iter().rev().find_map(|turn| turn.reply.as_ref()?.usage);
    let context = context.map(|usage| usage.total_input()).filter(|tokens| *tokens > Tokens::ZERO);
    let context = context.map(|tokens| format!(", {tokens:#} tokens sent last")).unwrap_or_default();
    let open = if last.reply.is_none() && head == Some(last.id) { ", unanswered" } else { "" };
    let messages = count(last.end - first.first, "message");
    let time = paint(FAINT, moment(first.time));
    writeln!(out, "{GUTTER}● {numbers}: {messages}{context}{open}  {time}")?;
    Ok(())
}

fn named(session: &Session) -> String {
    let label = pick::called(session);
    let turns = paint(FAINT, format_args!("({})", count(session.turns, "turn")));
    format!("{} {label} {turns}", paint(HEADING, pick::short(session.id)))
}
