//! `epitome fork`: a new session on a turn of another one.

use std::io::Write;

use epitome::{Beginning, Opening, Sight};
use serde_json::json;

use super::live::{Live, Summaries};
use super::{Shelf, pick};
use crate::args::ForkSession;
use crate::fail::failure;
use crate::print::{FAINT, WARN, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(arguments: &ForkSession, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let mut live = Live::open(&arguments.which, shelf, settings, Summaries::Offline)?;
    let Some(last) = live.recorded.turns.checked_sub(1) else {
        return Err(failure("nothing was said in this session yet", "fork one that has turns"));
    };
    let turn = shelf.live(live.session.turn(arguments.turn.unwrap_or(last)))?;
    let sight = match (arguments.as_seen, arguments.whole) {
        (true, _) => Sight::AsSeen,
        (_, true) => Sight::Whole,
        _ => Sight::Summary,
    };
    let mut out = anstream::stdout().lock();
    let Beginning { context, compacted_to } = shelf.live(live.session.fork_dry_run(turn.id, sight))?;
    if arguments.dry_run {
        let (shown, tokens) = (context.messages().len(), compacted_to.unwrap_or(context.tokens()));
        if arguments.which.json {
            let told = json!({
                "turn": turn.number,
                "messages": turn.end,
                "shown": shown,
                "tokens": tokens,
                "compacted": compacted_to.is_some(),
            });
            writeln!(out, "{told}")?;
        } else {
            let how = match compacted_to {
                Some(most) => format!("{shown} of them shown, compacted to fit {most:#} tokens"),
                None => format!("{shown} shown in its context, {tokens:#} tokens"),
            };
            writeln!(out, "would fork behind turn {}: {} messages, {how}", turn.number, turn.end)?;
        }
        say("nothing was changed (--dry-run)");
        return Ok(());
    }
    if compacted_to.is_some() {
        live = as_set(live, arguments, shelf, settings);
    }
    let label = arguments
        .label
        .clone()
        .or_else(|| live.recorded.label.as_ref().map(|label| format!("fork of {label}")));
    let opening = Opening {
        label,
        platform: live.recorded.platform.clone(),
        channel: live.recorded.channel.clone(),
        key: None,
    };
    let fork = shelf.live(live.session.fork(turn.id, sight, opening))?;
    let context = shelf.live(fork.peek())?;
    if arguments.which.json {
        let told = json!({
            "session": fork.id().to_string(),
            "parent": live.recorded.id.to_string(),
            "turn": turn.number,
            "messages": turn.end,
            "tokens": context.tokens(),
        });
        writeln!(out, "{told}")?;
    } else {
        writeln!(out, "{}", fork.id())?;
        let told = format!(
            "behind turn {} of {}: {} messages, {:#} tokens in its context",
            turn.number,
            pick::short(live.recorded.id),
            turn.end,
            context.tokens(),
        );
        say(paint(FAINT, told));
    }
    Ok(())
}

// Whoever the settings name summarises what lies before the fork; where that model is out of reach, code does.
fn as_set(live: Live, arguments: &ForkSession, shelf: &Shelf, settings: &Settings) -> Live {
    Live::open(&arguments.which, shelf, settings, Summaries::AsSet).unwrap_or_else(|error| {
        say(format_args!("{} its summary is picked by code: {error}", paint(WARN, "note:")));
        live
    })
}
