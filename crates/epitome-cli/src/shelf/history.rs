//! `epitome history`: what was said, or what the model saw of it.

use std::io::Write;
use std::sync::Arc;

use epitome_core::compact::{Compaction, Segment, SystemPlace, view};
use epitome_core::tokens::Counter;
use epitome_core::{Block, Entry, Message, Outline, Role};
use epitome_ledger::model::{RecordedView, Session, StoredMessage, Turn, TurnKind, Until};
use epitome_wire::Dialect;
use epitome_wire::files::{Notation, record_of};
use serde_json::json;

use super::import::is_imported;
use super::recall::decoded;
use super::{Shelf, pick};
use crate::args::{History, Messages};
use crate::fail::misuse;
use crate::print::{FAINT, HEADING, paint, say};
use crate::settings::Settings;

/// So many messages are read at once.
const PAGE: u64 = 512;

/// Runs the command.
pub(super) fn run(arguments: &History, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let session = pick::session(shelf, &arguments.session)?;
    let mut out = anstream::stdout().lock();
    let part = &arguments.part;
    if let Some(at) = part.view {
        let seen = match at {
            Some(number) => {
                let turn = pick::turn(shelf, &session, number)?;
                shelf.wait(shelf.ledger.view(shelf.tenant, turn.id, Until::Input))?
            }
            None => shelf.wait(shelf.ledger.current_view(shelf.tenant, session.id))?,
        };
        let counter = settings.models.get("").model.counter();
        return print_view(&mut out, &seen, &counter, arguments.json);
    }
    if let Some(Messages(wanted)) = &part.message {
        let (first, last) = (*wanted.start() as u64, *wanted.end() as u64);
        if first >= session.messages {
            let hint = match session.messages.checked_sub(1) {
                Some(last) => format!("they are numbered from 0 to {last}"),
                None => "it has none".to_owned(),
            };
            return Err(misuse(format!("the session has no message {first}"), hint));
        }
        let range = first..last.saturating_add(1).min(session.messages);
        return print_range(&mut out, shelf, &session, range, arguments.json);
    }
    let turns = match (part.turn, part.summarized) {
        (Some(number), _) => vec![pick::turn(shelf, &session, number)?],
        (None, Some(number)) => summarized(shelf, &session, number)?,
        (None, None) => return print_range(&mut out, shelf, &session, 0..session.messages, arguments.json),
    };
    for turn in &turns {
        print_range(&mut out, shelf, &session, turn.first..turn.end.min(session.messages), arguments.json)?;
    }
    if turns.iter().all(|turn| turn.first == turn.end) {
        say("there is no message in it");
    }
    Ok(())
}

fn summarized(shelf: &Shelf, session: &Session, number: u64) -> anyhow::Result<Vec<Turn>> {
    let turn = pick::turn(shelf, session, number)?;
    if turn.kind != TurnKind::Compaction {
        let hint = format!("epitome show {} shows where the compactions are", pick::short(session.id));
        return Err(misuse(format!("turn {number} is no compaction"), hint));
    }
    shelf.wait(shelf.ledger.summarized_turns(shelf.tenant, turn.id))
}

fn print_range(
    out: &mut impl Write,
    shelf: &Shelf,
    session: &Session,
    range: std::ops::Range<u64>,
    json: bool,
) -> anyhow::Result<()> {
    let Some(head) = session.head else { return Ok(()) };
    let mut start = range.start;
    while start < range.end {
        let end = (start + PAGE).min(range.end);
        for message in shelf.wait(shelf.ledger.messages(shelf.tenant, head, start..end))? {
            print_stored(out, &message, json)?;
        }
        start = end;
    }
    Ok(())
}

fn print_stored(out: &mut impl Write, stored: &StoredMessage, json: bool) -> anyhow::Result<()> {
    if json {
        let told = json!({
            "message": stored.ordinal,
            "turn": stored.turn,
            "role": stored.role,
            "tokens": stored.tokens,
            "notation": Notation::from_number(stored.notation.0).map(|notation| notation.format().name()),
            "chain": stored.chain.to_string(),
            "body": String::from_utf8_lossy(&stored.body),
        });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    let place = format!("turn {} · message {} · {:#} tokens", stored.turn, stored.ordinal, stored.tokens);
    writeln!(out, "{} {}", paint(HEADING, stored.role), paint(FAINT, place))?;
    match decoded(stored.notation.0, &stored.body) {
        Some(message) => print_blocks(out, &message),
        None => Ok(writeln!(out, "{}\n", record_of(&String::from_utf8_lossy(&stored.body)))?),
    }
}

/// Prints the blocks of a message as a person reads them.
pub(super) fn print_blocks(out: &mut impl Write, message: &Message) -> anyhow::Result<()> {
    for block in &message.blocks {
        match block {
            Block::Text(text) => writeln!(out, "{}", text.text.trim_end())?,
            Block::Thinking(thinking) if thinking.text.is_empty() => {
                writeln!(out, "{}", paint(FAINT, "(thinking that is not shown)"))?;
            }
            Block::Thinking(thinking) => {
                writeln!(out, "{}", paint(FAINT, format_args!("(thinking) {}", thinking.text.trim_end())))?;
            }
            Block::ToolUse(call) | Block::ServerToolUse(call) => {
                writeln!(out, "{} {} {}", paint(FAINT, "→"), call.name, call.input)?;
            }
            Block::ToolResult(result) | Block::ServerToolResult(result) => {
                let failed = if result.is_error { " (failed)" } else { "" };
                writeln!(out, "{}{failed} {}", paint(FAINT, "←"), result.joined_text().trim_end())?;
            }
            other => writeln!(out, "{}", paint(FAINT, format_args!("({:?})", other.kind())))?,
        }
    }
    writeln!(out)?;
    Ok(())
}

// What the model sees: summaries in their place, pruned blocks pruned, what is hidden not there.
fn print_view(
    out: &mut impl Write,
    seen: &RecordedView,
    counter: &Counter,
    json: bool,
) -> anyhow::Result<()> {
    let Some(compaction) = &seen.compaction else {
        return seen.messages.iter().try_for_each(|message| print_stored(out, message, json));
    };
    let messages = match is_imported(compaction) {
        true => sent(seen, compaction),
        false => built(seen, compaction, counter)?,
    };
    for message in messages {
        match json {
            true => writeln!(out, "{}", as_json(&message)?)?,
            false => {
                writeln!(out, "{}", paint(HEADING, message.role))?;
                print_blocks(out, &message)?;
            }
        }
    }
    Ok(())
}

// What another tool sent: the summary as it wrote it and what it kept, with no word of ours between them.
fn sent(seen: &RecordedView, compaction: &Compaction) -> Vec<Message> {
    let within = |range: &std::ops::Range<usize>| {
        let range = range.start as u64..range.end as u64;
        seen.messages
            .iter()
            .filter(move |stored| range.contains(&stored.ordinal))
            .filter_map(decoded_as_recorded)
    };
    let mut sent = Vec::new();
    for segment in &compaction.segments {
        match segment {
            Segment::Verbatim { range } | Segment::Pruned { range, .. } => sent.extend(within(range)),
            Segment::Summary { text, .. } => sent.push(Message::text(Role::User, text)),
            Segment::Omitted { .. } => {}
        }
    }
    sent.extend(within(&(compaction.covered()..usize::MAX)));
    sent
}

fn decoded_as_recorded(stored: &StoredMessage) -> Option<Message> {
    let mut message = decoded(stored.notation.0, &stored.body)?;
    message.role = stored.role;
    Some(message)
}

fn built(seen: &RecordedView, compaction: &Compaction, counter: &Counter) -> anyhow::Result<Vec<Message>> {
    let hidden = Message::text(Role::User, "");
    let mut messages = vec![hidden; usize::try_from(seen.length)?];
    for stored in &seen.messages {
        let place = messages.get_mut(usize::try_from(stored.ordinal)?);
        if let (Some(place), Some(message)) = (place, decoded_as_recorded(stored)) {
            *place = message;
        }
    }
    let entry = |message: &Message| Entry { outline: Arc::new(Outline::of(message, counter, 0)), time: None };
    let path: Vec<Entry> = messages.iter().map(entry).collect();
    let notation = seen.messages.last().and_then(|last| Notation::from_number(last.notation.0));
    let place = match notation.map_or(Dialect::Chat, Notation::dialect) {
        Dialect::Anthropic => SystemPlace::Outside,
        Dialect::Responses => SystemPlace::Message(Role::Developer),
        _ => SystemPlace::Message(Role::System),
    };
    let view = view(compaction, &path, &messages, place);
    let system = view.system.as_ref().map(|text| Message::text(Role::System, text));
    Ok(system.into_iter().chain(view.messages(&messages)).collect())
}

fn as_json(message: &Message) -> anyhow::Result<String> {
    let written = epitome_wire::encode_message(Dialect::Chat, message)
        .or_else(|_| epitome_wire::encode_message(Dialect::Anthropic, message))?;
    Ok(written.join("\n"))
}
