//! `epitome events`: what happened on channels outside.

use std::io::{Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use epitome_core::{ContentHash, Time};
use epitome_ledger::Paging;
use epitome_ledger::model::{Event, EventFilter, EventReceipt, NewEvent, Novelty, Versions};
use serde_json::json;

use super::Shelf;
use super::more::say_more;
use super::sessions::paging;
use crate::args::{AppendEvent, ListEvents};
use crate::fail::misuse;
use crate::print::{FAINT, HEADING, moment, paint, say};

/// Records an event.
pub(super) fn append(arguments: &AppendEvent, shelf: &Shelf) -> anyhow::Result<()> {
    let payload = match arguments.payload.as_deref() {
        Some(payload) if payload != "-" => payload.as_bytes().to_vec(),
        _ => {
            let mut payload = Vec::new();
            std::io::stdin().lock().read_to_end(&mut payload)?;
            payload
        }
    };
    for (what, is_empty) in
        [("platform", arguments.platform.trim().is_empty()), ("payload", payload.is_empty())]
    {
        if is_empty {
            return Err(misuse(
                format!("the {what} is empty"),
                "an event says where something happened, and what",
            ));
        }
    }
    let made = || ContentHash::of(&payload).to_string();
    let event = NewEvent {
        platform: arguments.platform.clone(),
        channel: arguments.channel.clone(),
        external: arguments.id.clone().unwrap_or_else(made),
        time: arguments.time.unwrap_or_else(now),
        turns: Vec::new(),
        payload,
    };
    if arguments.dry_run {
        return rehearse(&event, arguments.json, shelf);
    }
    let EventReceipt { number, version, novelty } =
        shelf.wait(shelf.ledger.append_event(shelf.tenant, event))?;
    let (word, told) = match novelty {
        Novelty::New => ("new", format!("event {number} is new")),
        Novelty::Changed => {
            ("changed", format!("event {number} is version {version} of what was told before; both are kept"))
        }
        Novelty::Known => ("known", format!("event {number} was known")),
    };
    if arguments.json {
        println!("{}", json!({"event": number, "version": version, "novelty": word}));
    } else {
        println!("{number}");
        say(told);
    }
    Ok(())
}

// Tells what the event would be, by what is recorded under its id.
fn rehearse(event: &NewEvent, json: bool, shelf: &Shelf) -> anyhow::Result<()> {
    let filter = EventFilter {
        platform: Some(event.platform.clone()),
        channel: Some(event.channel.clone()),
        external: Some(event.external.clone()),
        versions: Versions::All,
    };
    let mut known = shelf.wait(shelf.ledger.events(shelf.tenant, filter, Paging::first(VERSIONS)))?.items;
    known.sort_by_key(|known| std::cmp::Reverse(known.version));
    let newest = known.first().map_or(0, |newest| newest.version);
    // An older version that comes again with its own time was only delivered late.
    let is_same = |known: &&Event| {
        known.payload == event.payload && (known.version == newest || known.time == event.time)
    };
    let same = known.iter().find(is_same);
    let (word, version) = match same {
        Some(same) => ("known", same.version),
        None if newest == 0 => ("new", 1),
        None => ("changed", newest + 1),
    };
    if json {
        let number = same.map(|same| same.number);
        println!("{}", json!({"event": number, "version": version, "novelty": word}));
    } else {
        println!("it would be {word}, as version {version}");
    }
    say("nothing was changed (--dry-run)");
    Ok(())
}

/// So many versions of an event are looked at.
const VERSIONS: usize = 1000;

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Lists events.
pub(super) fn list(arguments: &ListEvents, shelf: &Shelf) -> anyhow::Result<()> {
    let filter = EventFilter {
        platform: arguments.platform.clone(),
        channel: arguments.channel.clone(),
        external: arguments.id.clone(),
        versions: if arguments.all_versions { Versions::All } else { Versions::Newest },
    };
    let page = shelf.wait(shelf.ledger.events(shelf.tenant, filter, paging(&arguments.paged)))?;
    let mut out = anstream::stdout().lock();
    for event in &page.items {
        match arguments.json {
            true => {
                serde_json::to_writer(&mut out, &as_json(event))?;
                writeln!(out)?;
            }
            false => {
                let place = format!("event {} {} {}", event.number, event.platform, event.channel);
                let place = paint(HEADING, place.trim_end());
                writeln!(out, "{place}  {}", paint(FAINT, moment(event.time)))?;
                writeln!(
                    out,
                    "  {}\n",
                    String::from_utf8_lossy(&event.payload).trim_end().replace('\n', "\n  ")
                )?;
            }
        }
    }
    if page.items.is_empty() {
        say("no event is recorded that fits");
    }
    if let Some(next) = page.next {
        say_more(next);
    }
    Ok(())
}

fn as_json(event: &Event) -> serde_json::Value {
    json!({
        "event": event.number,
        "platform": event.platform,
        "channel": event.channel,
        "id": event.external,
        "version": event.version,
        "time": event.time,
        "turns": event.turns,
        "payload": String::from_utf8_lossy(&event.payload),
    })
}
