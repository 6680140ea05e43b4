//! `epitome purge`: the one way in which something leaves the ledger. It asks first.

use std::io::{IsTerminal, Write};

use epitome_core::Time;
use epitome_ledger::Paging;
use epitome_ledger::model::{EventFilter, Purge, Session, SessionId, TenantId, Tombstone, Warrant};
use serde_json::json;

use super::{Shelf, pick, sessions};
use crate::args::PurgeSessions;
use crate::fail::{failure, misuse};
use crate::print::{FAINT, bytes, count, moment, paint, say};

/// So many sessions or events are looked at in one go.
const PAGE: usize = 1000;

/// Runs the command.
pub(super) fn run(arguments: &PurgeSessions, shelf: &Shelf) -> anyhow::Result<()> {
    let what = &arguments.what;
    let (purge, told) = match (&what.session, what.older_than) {
        (Some(named), _) => {
            let session = pick::session(shelf, named)?;
            let label = session.label.map(|label| format!(" ({label})")).unwrap_or_default();
            let told = format!("session {}{label}, {}", session.id, count(session.messages, "message"));
            (Purge::Session(session.id), told)
        }
        (None, Some(time)) => {
            let told = format!("{} from before {}", Doomed::of(shelf, Some(time))?, moment(time));
            (Purge::OlderThan(time), told)
        }
        (None, None) => (Purge::Tenant, format!("everything: {}", Doomed::of(shelf, None)?)),
    };
    let told = format!("{told}, of {}", owner(shelf.tenant));
    if arguments.dry_run {
        say(format_args!("would purge {told}, from {}", shelf.name));
        return Ok(());
    }
    if !arguments.yes {
        confirm(&told, &shelf.name)?;
    }
    let actor = std::env::var("USER").or_else(|_| std::env::var("USERNAME")).unwrap_or_default();
    let warrant = Warrant { actor, reason: arguments.reason.clone() };
    let gone = shelf.wait(shelf.ledger.purge(shelf.tenant, purge, warrant))?;
    match arguments.json {
        true => println!("{}", as_json(&gone)),
        false => say(format_args!(
            "purged: {}, {} of bodies that nobody else has",
            amount(&gone),
            bytes(gone.bytes)
        )),
    }
    Ok(())
}

fn owner(tenant: TenantId) -> String {
    if tenant == TenantId::LOCAL { "the local tenant".to_owned() } else { format!("tenant {tenant}") }
}

fn amount(gone: &Tombstone) -> String {
    let (sessions, messages) = (count(gone.sessions, "session"), count(gone.messages, "message"));
    format!("{sessions}, {messages}, {}", count(gone.events, "event"))
}

/// What a purge would take.
#[derive(Default)]
struct Doomed {
    sessions: u64,
    messages: u64,
    events: u64,
}

impl std::fmt::Display for Doomed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sessions, messages) = (count(self.sessions, "session"), count(self.messages, "message"));
        write!(out, "{sessions} with {messages}, and {}", count(self.events, "event"))
    }
}

impl Doomed {
    fn of(shelf: &Shelf, before: Option<Time>) -> anyhow::Result<Self> {
        let mut doomed = Self::default();
        for session in sessions::all(shelf)? {
            if before.map_or(Ok(true), |time| anyhow::Ok(last_said(shelf, &session)? < time))? {
                doomed.sessions += 1;
                doomed.messages += session.messages - session.origin.map_or(0, |origin| origin.messages);
            }
        }
        let mut paging = Some(Paging::first(PAGE));
        while let Some(page) = paging.take() {
            let found = shelf.wait(shelf.ledger.events(shelf.tenant, EventFilter::default(), page))?;
            let old = found.items.iter().filter(|event| before.is_none_or(|time| event.time < time));
            doomed.events += old.count() as u64;
            paging = found.next.map(|next| Paging::after(next, PAGE));
        }
        Ok(doomed)
    }
}

// What was imported is as old as it says.
fn last_said(shelf: &Shelf, session: &Session) -> anyhow::Result<Time> {
    let Some(head) = session.head else { return Ok(session.updated) };
    let turn = shelf.wait(shelf.ledger.turn(shelf.tenant, head))?;
    let own = (turn.session == session.id).then(|| turn.reply.map_or(turn.time, |reply| reply.time));
    Ok(own.unwrap_or(session.updated))
}

/// Lists what was purged, the latest last.
pub(super) fn list(shelf: &Shelf, json: bool) -> anyhow::Result<()> {
    let gone = shelf.wait(shelf.ledger.tombstones(shelf.tenant))?;
    let mut out = anstream::stdout().lock();
    for tombstone in &gone {
        match json {
            true => writeln!(out, "{}", as_json(tombstone))?,
            false => writeln!(out, "{}", line(tombstone))?,
        }
    }
    if gone.is_empty() {
        say("nothing was purged");
    }
    Ok(())
}

fn line(gone: &Tombstone) -> String {
    let what = match gone.scope.as_str() {
        "session" => format!("session {}", gone.subject),
        "older-than" => {
            let time = gone.subject.parse().map(|time| moment(Time(time)));
            format!("what was older than {}", time.unwrap_or_default())
        }
        _ => "everything".to_owned(),
    };
    let by =
        if gone.warrant.actor.is_empty() { String::new() } else { format!(" by {}", gone.warrant.actor) };
    let faint = paint(FAINT, format_args!("{}{by}", amount(gone)));
    format!("{}  {what}{}  {faint}", moment(gone.time), reason(gone))
}

fn reason(gone: &Tombstone) -> String {
    if gone.warrant.reason.is_empty() { String::new() } else { format!(" ({})", gone.warrant.reason) }
}

/// What is to be said of a session that is no longer there.
pub(super) fn epitaph(shelf: &Shelf, session: SessionId) -> anyhow::Result<String> {
    let gone = shelf.wait(shelf.ledger.tombstones(shelf.tenant))?;
    let own = gone.iter().rev().find(|gone| gone.scope == "session" && gone.subject == session.to_string());
    let told = own.map(|gone| format!("purged {}{}", moment(gone.time), reason(gone)));
    Ok(told.unwrap_or_else(|| "purged".to_owned()))
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
