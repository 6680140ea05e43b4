//! `epitome events`: what happened on channels outside.

use std::io::{Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use epitome_core::{ContentHash, Time};
use epitome_ledger::model::{Event, EventFilter, EventReceipt, NewEvent, Novelty, Versions};
use serde_json::json;

use super::Shelf;
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
        say(paint(FAINT, format_args!("more: --after {next}")));
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
