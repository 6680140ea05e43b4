//! `epitome context`: what would be sent of a session now.

use std::io::Write;

use epitome::{Context, What};
use epitome_core::Tokens;
use epitome_core::compact::Decision;
use epitome_wire::Dialect;
use serde_json::json;

use super::Shelf;
use super::history::print_blocks;
use super::live::{Live, Summaries, check_budget, in_our_tokens, print_outcome};
use crate::args::ShowContext;
use crate::fail::failure;
use crate::print::{FAINT, HEADING, WARN, paint, say};
use crate::settings::Settings;

/// Runs the command.
pub(super) fn run(arguments: &ShowContext, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    // Nothing is compacted but to fit what was asked for.
    let compacts = arguments.max_tokens.is_some() && arguments.recall.is_none() && !arguments.dry_run;
    let summaries = if compacts { Summaries::AsSet } else { Summaries::Offline };
    let live = Live::open(&arguments.which, shelf, settings, summaries)?;
    let (model, json) = (arguments.which.model.as_deref(), arguments.which.json);
    let most = arguments.max_tokens.map(|most| in_our_tokens(most, model, settings));
    if let Some(words) = &arguments.recall {
        return recall(&live, words, most.unwrap_or(RECALLED), shelf, json);
    }
    if arguments.dry_run {
        return rehearse(&live, &arguments.which.session, most, shelf, json);
    }
    let context = shelf.live(async {
        match most {
            Some(most) => {
                let context = live.session.context_within(most).await;
                live.engine.settled().await;
                context
            }
            None => live.session.peek().await,
        }
    })?;
    print(&context, live.dialect, json)?;
    say(paint(FAINT, context.pressure));
    match most {
        Some(_) if context.shortfall > Tokens::ZERO => {
            let what = format!("it exceeds what it may have by {:#} tokens", context.shortfall);
            Err(failure(what, "raise --max-tokens, or unpin messages; epitome pin lists them"))
        }
        Some(_) => Ok(()),
        None => warn_if_due(&live, &arguments.which.session, shelf),
    }
}

// What is shown is not what is sent next where a compaction comes first.
fn warn_if_due(live: &Live, session: &str, shelf: &Shelf) -> anyhow::Result<()> {
    let due = shelf.live(live.session.context_dry_run(None))?;
    if let Some(outcome) = due.filter(|outcome| outcome.report.decision == Decision::Compacted) {
        say(format_args!(
            "{} before the next call this is compacted, to at most {:#} tokens: epitome context {session} --dry-run says how",
            paint(WARN, "note:"),
            outcome.report.tokens_after,
        ));
    }
    Ok(())
}

fn rehearse(
    live: &Live,
    session: &str,
    most: Option<Tokens>,
    shelf: &Shelf,
    json: bool,
) -> anyhow::Result<()> {
    match shelf.live(live.session.context_dry_run(most))? {
        Some(outcome) => {
            print_outcome(&outcome, json, true)?;
            most.map_or(Ok(()), |asked| check_budget(session, asked, &outcome))
        }
        None if json => Ok(writeln!(anstream::stdout().lock(), "null")?),
        None => {
            let context = shelf.live(live.session.peek())?;
            let told = format!("nothing is due: its {:#} tokens are sent as they are", context.tokens());
            Ok(writeln!(anstream::stdout().lock(), "{told}")?)
        }
    }
}

// As the session's dialect has it in a request.
fn print(context: &Context, dialect: Dialect, json: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        let system = match &context.system {
            Some(system) => format!("\"system\":{},", serde_json::to_string(system.as_ref())?),
            None => String::new(),
        };
        let name = if dialect == Dialect::Responses { "input" } else { "messages" };
        writeln!(out, "{{{system}\"{name}\":{}}}", context.to_json())?;
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
    Ok(())
}

/// How many tokens a recall block may have where nobody says.
const RECALLED: Tokens = Tokens(2_000);

fn recall(live: &Live, words: &str, most: Tokens, shelf: &Shelf, json: bool) -> anyhow::Result<()> {
    let recalled = shelf.live(live.session.recall_about(words, most))?;
    let mut out = anstream::stdout().lock();
    if json {
        for memory in recalled.memories() {
            let (what, id, state) = match memory.what {
                What::Finding { id, kind, state } => {
                    (kind.to_string(), Some(id.to_string()), Some(state.as_str()))
                }
                What::Message { role } => (role.to_string(), None, None),
                _ => continue,
            };
            let told = json!({
                "what": what,
                "id": id,
                "state": state,
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
