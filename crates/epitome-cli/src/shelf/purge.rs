//! `epitome purge`: the one way in which something leaves the ledger. It asks first.

use std::io::{IsTerminal, Write};

use epitome_ledger::model::{Purge, Tombstone, Warrant};
use serde_json::json;

use super::{Shelf, pick};
use crate::args::PurgeSessions;
use crate::fail::{failure, misuse};
use crate::print::{bytes, grouped, moment, say};

/// Runs the command.
pub(super) fn run(arguments: &PurgeSessions, shelf: &Shelf) -> anyhow::Result<()> {
    let what = &arguments.what;
    let (purge, told) = match (&what.session, what.older_than) {
        (Some(named), _) => {
            let session = pick::session(shelf, named)?;
            let label = session.label.map(|label| format!(" ({label})")).unwrap_or_default();
            let told = format!("session {}{label}, {} messages", session.id, grouped(session.messages));
            (Purge::Session(session.id), told)
        }
        (None, Some(time)) => {
            (Purge::OlderThan(time), format!("all sessions and events from before {}", moment(time)))
        }
        (None, None) => (Purge::Tenant, "all sessions and events of this tenant".to_owned()),
    };
    if !arguments.yes {
        confirm(&told, &shelf.name)?;
    }
    let actor = std::env::var("USER").or_else(|_| std::env::var("USERNAME")).unwrap_or_default();
    let warrant = Warrant { actor, reason: arguments.reason.clone() };
    let gone = shelf.wait(shelf.ledger.purge(shelf.tenant, purge, warrant))?;
    match arguments.json {
        true => println!("{}", as_json(&gone)),
        false => say(format_args!(
            "purged: {} sessions, {} messages, {} events, {} of bodies that nobody else has",
            grouped(gone.sessions),
            grouped(gone.messages),
            grouped(gone.events),
            bytes(gone.bytes),
        )),
    }
    Ok(())
}

fn confirm(what: &str, name: &str) -> anyhow::Result<()> {
    if !std::io::stdin().is_terminal() {
        return Err(misuse("a purge must be confirmed", "--yes confirms it where nobody can be asked"));
    }
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "Purge {what} from {name}? This cannot be undone. [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(failure("nothing was purged", "")),
    }
}

fn as_json(gone: &Tombstone) -> serde_json::Value {
    json!({
        "scope": gone.scope, "subject": gone.subject, "actor": gone.warrant.actor, "reason": gone.warrant.reason,
        "sessions": gone.sessions, "turns": gone.turns, "messages": gone.messages, "events": gone.events,
        "bodies": gone.bodies, "bytes": gone.bytes, "time": gone.time,
    })
}
