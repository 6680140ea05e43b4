//! `epitome fork`: a new session on a turn of another one.

use std::io::Write;

use epitome::{Opening, Sight};
use serde_json::json;

use super::live::Live;
use super::{Shelf, pick};
use crate::args::ForkSession;
use crate::fail::failure;
use crate::print::{FAINT, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(arguments: &ForkSession, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings)?;
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
    if arguments.dry_run {
        let seen = shelf.live(live.session.view(turn.id))?;
        let told = json!({"turn": turn.number, "messages": turn.end, "tokens": seen.tokens()});
        match arguments.which.json {
            true => writeln!(out, "{told}")?,
            false => writeln!(
                out,
                "would fork behind turn {}: {} messages, {:#} tokens as the model saw them",
                turn.number,
                turn.end,
                seen.tokens()
            )?,
        }
        say("nothing was changed (--dry-run)");
        return Ok(());
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
