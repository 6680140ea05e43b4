//! `epitome watch`: a line for each turn as it is recorded.

use std::io::Write;
use std::time::Duration;

use epitome_core::Tokens;
use epitome_ledger::model::{Turn, TurnKind};
use serde_json::json;

use super::Shelf;
use super::live::{Live, Summaries};
use super::show::is_undo;
use crate::args::WatchSession;
use crate::print::{FAINT, GOOD, WARN, count, grouped, moment, paint};
use crate::settings::Settings;

/// How often the ledger is asked for more.
const LOOK: Duration = Duration::from_millis(500);

/// Runs the command.
pub(super) fn run(arguments: &WatchSession, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings, Summaries::Offline)?;
    let asked = arguments.which.model.as_deref().map(|model| settings.models.get(model).model.window);
    let mut next = live.recorded.turns.saturating_sub(arguments.last);
    let mut left = arguments.turns.unwrap_or(u64::MAX);
    // A turn is shown once its reply is there, or the next turn is.
    while left > 0 {
        let session = shelf.live(live.session.info())?;
        let turns = match session.head {
            Some(head) if next < session.turns => {
                shelf.wait(shelf.ledger.turns(shelf.tenant, head, next..session.turns))?
            }
            _ => Vec::new(),
        };
        for turn in turns {
            let waits =
                turn.kind == TurnKind::Call && turn.reply.is_none() && turn.number + 1 == session.turns;
            if left == 0 || waits {
                break;
            }
            print(shelf, &turn, asked.or(session.token_limit), arguments.which.json)?;
            next = turn.number + 1;
            left -= 1;
        }
        if left > 0 {
            shelf.live(async {
                tokio::time::sleep(LOOK).await;
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn print(shelf: &Shelf, turn: &Turn, limit: Option<Tokens>, json: bool) -> anyhow::Result<()> {
    let compaction = match turn.kind {
        TurnKind::Compaction => Some(shelf.wait(shelf.ledger.compaction(shelf.tenant, turn.id))?.1),
        TurnKind::Call => None,
    };
    let usage = turn.reply.as_ref().and_then(|reply| reply.usage);
    let sent = usage.map(|usage| usage.total_input()).or(turn.estimated);
    let mut out = anstream::stdout().lock();
    if json {
        let told = json!({
            "turn": turn.number,
            "id": turn.id.to_string(),
            "kind": if compaction.is_some() { "compaction" } else { "call" },
            "messages": [turn.first, turn.end],
            "model": turn.model,
            "tokens_sent": sent,
            "window": limit,
            "tokens_out": usage.map(|usage| usage.output),
            "tokens_before": compaction.as_ref().map(|record| record.tokens_before),
            "tokens_after": compaction.as_ref().map(|record| record.tokens_after),
            "trigger": compaction.as_ref().map(|record| record.trigger.as_str()),
        });
        writeln!(out, "{told}")?;
        out.flush()?;
        return Ok(());
    }
    let place = format!("{:>5}  {}", turn.number, moment(turn.time));
    match compaction {
        Some(record) => {
            let what = match is_undo(&record) {
                true => "undone".to_owned(),
                false => format!("compacted ({}, {})", record.strategy, record.trigger),
            };
            let told = format!(
                "{what}: {} → {} tokens",
                grouped(record.tokens_before.0),
                grouped(record.tokens_after.0)
            );
            writeln!(out, "{}  {}", paint(FAINT, place), paint(GOOD, told))?;
        }
        None => {
            let reply = match &turn.reply {
                Some(reply) if reply.tool_calls > 0 => {
                    format!("calls {}", count(reply.tool_calls, "tool"))
                }
                Some(_) => "answers".to_owned(),
                None => paint(WARN, "no answer").to_string(),
            };
            writeln!(out, "{}  {}, {reply}", paint(FAINT, place), size(turn, sent, limit))?;
        }
    }
    out.flush()?;
    Ok(())
}

// How much was sent, where anybody said so; what was imported may only tell how many messages.
fn size(turn: &Turn, sent: Option<Tokens>, limit: Option<Tokens>) -> String {
    let Some(sent) = sent else {
        return count(turn.end - turn.first, "message");
    };
    let full = limit.filter(|limit| limit.0 > 0).map(|limit| sent.0 * 100 / limit.0);
    let full = full.map(|percent| format!(" ({percent} % of the window)")).unwrap_or_default();
    format!("{} tokens in{full}", grouped(sent.0))
}
