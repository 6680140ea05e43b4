//! `epitome search`: what was said, found by words, phrases, identifiers and paths.

use std::collections::HashMap;
use std::io::Write;

use epitome_ledger::model::{self, Found, Hit, Order, Scope, Session, SessionId, Snippet};
use serde_json::{Value, json};

use super::more::say_more;
use super::sessions::{self, paging};
use super::{Shelf, pick};
use crate::args::Search;
use crate::fail::misuse;
use crate::print::{FAINT, GOOD, HEADING, moment, paint, say};

/// Runs the command.
pub(super) fn run(arguments: &Search, shelf: &Shelf) -> anyhow::Result<()> {
    let scope = match (&arguments.session, &arguments.agent) {
        (Some(named), _) => Scope::Session(pick::session(shelf, named)?.id),
        (None, Some(agent)) => Scope::Agent(agent.clone()),
        (None, None) => Scope::Tenant,
    };
    if arguments.paged.after.is_some() && !arguments.newest {
        let hint = "--limit shows more of the best; --newest goes through all, page by page";
        return Err(misuse("the best come in one page; --after is for --newest", hint));
    }
    let order = if arguments.newest { Order::Newest } else { Order::Best };
    let search = model::Search { query: arguments.words.join(" "), scope, order };
    let mut page = shelf.wait(shelf.ledger.search(shelf.tenant, search, paging(&arguments.paged)))?;
    name_living(shelf, &mut page.items)?;
    let mut out = anstream::stdout().lock();
    for hit in &page.items {
        if arguments.json {
            serde_json::to_writer(&mut out, &as_json(hit))?;
            writeln!(out)?;
        } else {
            writeln!(out, "{}  {}", place(hit), paint(FAINT, moment(hit.time)))?;
            writeln!(out, "  {}\n", highlighted(&hit.snippet))?;
        }
    }
    if page.items.is_empty() {
        say("nothing was found; fewer words, or a prefix such as compac*, find more");
    }
    match page.next {
        Some(next) if arguments.newest => say_more(next),
        None if arguments.newest => {}
        _ if page.items.len() >= usize::from(arguments.paged.limit) => {
            say(paint(FAINT, "more: a higher --limit, or --newest for all of them"));
        }
        _ => {}
    }
    Ok(())
}

// What a purged session left to its forks is found in the one that stands on it.
fn name_living(shelf: &Shelf, hits: &mut [Hit]) -> anyhow::Result<()> {
    let mut gone: HashMap<SessionId, bool> = HashMap::new();
    let mut forks: Option<Vec<Session>> = None;
    for hit in hits {
        let Found::Message { session, ordinal, .. } = &mut hit.found else { continue };
        let is_gone = match gone.get(session) {
            Some(is_gone) => *is_gone,
            None => shelf.wait(shelf.ledger.session(shelf.tenant, *session)).is_err(),
        };
        gone.insert(*session, is_gone);
        if is_gone {
            let forks = match &mut forks {
                Some(forks) => forks,
                none => none.insert(sessions::all(shelf)?),
            };
            let stands = |fork: &&Session| {
                fork.origin.is_some_and(|origin| origin.session == *session && origin.messages > *ordinal)
            };
            *session = forks.iter().find(stands).map_or(*session, |fork| fork.id);
        }
    }
    Ok(())
}

fn place(hit: &Hit) -> String {
    match &hit.found {
        Found::Message { session, ordinal, role, .. } => {
            format!("{} message {ordinal} {role}", paint(HEADING, pick::short(*session)))
        }
        Found::Summary { session, .. } => format!("{} summary", paint(HEADING, pick::short(*session))),
        Found::Finding { kind, state, session, ordinal, .. } => {
            format!("{} message {ordinal} {kind}, {state}", paint(HEADING, pick::short(*session)))
        }
        Found::Event { number, platform, channel } => {
            format!("{} {platform} {channel}", paint(HEADING, format_args!("event {number}")))
        }
        _ => String::new(),
    }
}

fn highlighted(snippet: &Snippet) -> String {
    let mut shown = String::with_capacity(snippet.text.len() + 32);
    let mut at = 0;
    for place in &snippet.highlights {
        shown.push_str(snippet.text.get(at..place.start).unwrap_or_default());
        shown.push_str(&paint(GOOD.bold(), snippet.text.get(place.clone()).unwrap_or_default()));
        at = at.max(place.end);
    }
    shown + snippet.text.get(at..).unwrap_or_default()
}

fn as_json(hit: &Hit) -> Value {
    let mut found = match &hit.found {
        Found::Message { session, turn, ordinal, role } => {
            json!({"kind": "message", "session": session, "turn": turn, "message": ordinal, "role": role})
        }
        Found::Summary { session, turn } => json!({"kind": "summary", "session": session, "turn": turn}),
        Found::Finding { id, kind, state, session, turn, ordinal } => {
            json!({"kind": kind, "finding": id, "state": state.as_str(), "session": session, "turn": turn, "message": ordinal})
        }
        Found::Event { number, platform, channel } => {
            json!({"kind": "event", "event": number, "platform": platform, "channel": channel})
        }
        _ => json!({}),
    };
    found["time"] = json!(hit.time);
    found["score"] = json!(hit.score);
    found["snippet"] = json!(hit.snippet.text);
    let highlights = hit.snippet.highlights.iter().map(|place| [place.start, place.end]);
    found["highlights"] = json!(highlights.collect::<Vec<_>>());
    found
}
