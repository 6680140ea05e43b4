//! `epitome context`: what would be sent of a session now.

use std::io::Write;

use epitome::{Compact, What};
use epitome_core::Tokens;
use serde_json::json;

use super::Shelf;
use super::history::print_blocks;
use super::live::{Live, print_outcome};
use crate::args::ShowContext;
use crate::print::{FAINT, HEADING, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(arguments: &ShowContext, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings)?;
    if let Some(words) = &arguments.recall {
        return recall(&live, words, shelf, arguments.which.json);
    }
    if let (Some(most), true) = (arguments.max_tokens, arguments.dry_run) {
        let outcome = shelf.live(live.session.compact_dry_run(Compact::now().within(most)))?;
        return print_outcome(&outcome, arguments.which.json, true);
    }
    let context = shelf.live(async {
        match arguments.max_tokens {
            Some(most) => live.session.context_within(most).await,
            None => live.session.peek().await,
        }
    })?;
    let mut out = anstream::stdout().lock();
    if arguments.which.json {
        writeln!(out, "{}", context.to_json())?;
    } else {
        if let Some(system) = &context.system {
            writeln!(out, "{}\n{system}\n", paint(HEADING, "system"))?;
        }
        for (message, read) in context.messages().zip(context.decoded()?) {
            let place =
                message.ordinal.map_or("in place of others".to_owned(), |number| format!("message {number}"));
            let place = format!("{place} · {:#} tokens", message.tokens);
            writeln!(out, "{} {}", paint(HEADING, message.role), paint(FAINT, place))?;
            print_blocks(&mut out, &read)?;
        }
    }
    say(paint(FAINT, context.pressure));
    Ok(())
}

/// How many tokens a recall block may have.
const RECALLED: Tokens = Tokens(2_000);

fn recall(live: &Live, words: &str, shelf: &Shelf, json: bool) -> anyhow::Result<()> {
    let recalled = shelf.live(live.session.recall_about(words, RECALLED))?;
    let mut out = anstream::stdout().lock();
    if json {
        for memory in recalled.memories() {
            let what = match memory.what {
                What::Finding { kind, .. } => kind.to_string(),
                What::Message { role } => role.to_string(),
                _ => continue,
            };
            let told = json!({
                "what": what,
                "session": memory.session.to_string(),
                "message": memory.message,
                "text": memory.text,
                "score": memory.score,
            });
            writeln!(out, "{told}")?;
        }
    } else if recalled.memories().is_empty() {
        say("nothing to recall: the context holds what was said of it, or nothing was");
    } else {
        writeln!(out, "{}", recalled.block())?;
    }
    Ok(())
}
