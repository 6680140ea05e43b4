//! `epitome pin` and `epitome seal`: notes on the messages of a session.

use std::collections::BTreeMap;
use std::io::Write;

use epitome_core::Time;
use epitome_ledger::model::{Note, NoteKind};
use serde_json::json;

use super::Shelf;
use super::live::{Live, Summaries};
use crate::args::{Messages, PinMessages, SealTopic};
use crate::fail::misuse;
use crate::print::{FAINT, paint, say};
use crate::settings::Settings;

/// Runs `pin`.
pub(super) fn run(arguments: &PinMessages, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings, Summaries::Offline)?;
    let json = arguments.which.json;
    let Some(Messages(range)) = &arguments.messages else {
        let notes = shelf.live(live.session.notes())?;
        let pins = in_force(&notes);
        if pins.is_empty() {
            say("nothing is pinned in this session");
        }
        return pins.iter().try_for_each(|note| print(note, json));
    };
    let messages = *range.start() as u64..*range.end() as u64 + 1;
    if messages.end > live.recorded.messages {
        let count = live.recorded.messages;
        return Err(misuse(
            format!("the session has no message {}", messages.end - 1),
            format!("it has {count}, numbered from 0; epitome history shows them"),
        ));
    }
    let kind = if arguments.remove { NoteKind::Unpin } else { NoteKind::Pin };
    if arguments.dry_run {
        let note = Note {
            kind,
            messages,
            content: arguments.why.clone(),
            turns: live.recorded.turns,
            time: Time(0),
        };
        print(&note, json)?;
        say("nothing was changed (--dry-run)");
        return Ok(());
    }
    let note = shelf.live(async {
        match kind {
            NoteKind::Unpin => live.session.unpin(messages).await,
            _ => live.session.pin(messages, arguments.why.clone()).await,
        }
    })?;
    print(&note, json)
}

// What is pinned after all that was said about it, by the messages.
fn in_force(notes: &[Note]) -> Vec<Note> {
    let mut pinned: BTreeMap<u64, &Note> = BTreeMap::new();
    for note in notes {
        for message in note.messages.clone() {
            match note.kind {
                NoteKind::Pin => drop(pinned.insert(message, note)),
                NoteKind::Unpin => drop(pinned.remove(&message)),
                _ => {}
            }
        }
    }
    let mut pins: Vec<Note> = Vec::new();
    for (message, note) in pinned {
        match pins.last_mut() {
            Some(last) if last.messages.end == message && last.content == note.content => {
                last.messages.end += 1;
            }
            _ => pins.push(Note { messages: message..message + 1, ..note.clone() }),
        }
    }
    pins
}

/// Runs `seal`.
pub(super) fn seal(arguments: &SealTopic, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(&arguments.which, shelf, settings, Summaries::Offline)?;
    if arguments.dry_run {
        let notes = shelf.live(live.session.notes())?;
        let sealed =
            notes.iter().filter(|note| note.kind == NoteKind::Seal).map(|note| note.messages.end).max();
        let messages = sealed.unwrap_or(0)..live.recorded.messages;
        if messages.is_empty() {
            return shelf.live(async { Err(epitome::Error::NothingToSeal) });
        }
        let note = Note {
            kind: NoteKind::Seal,
            messages,
            content: arguments.title.clone(),
            turns: live.recorded.turns,
            time: Time(0),
        };
        print(&note, arguments.which.json)?;
        say("nothing was changed (--dry-run)");
        return Ok(());
    }
    let note = shelf.live(live.session.seal(arguments.title.clone()))?;
    print(&note, arguments.which.json)
}

fn print(note: &Note, json: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let what = match note.kind {
        NoteKind::Pin => "pinned",
        NoteKind::Unpin => "released",
        _ => "sealed",
    };
    if json {
        let told = json!({
            "kind": what,
            "first": note.messages.start,
            "last": note.messages.end.saturating_sub(1),
            "content": note.content,
            "turns": note.turns,
        });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    let messages = match note.messages.end - note.messages.start {
        1 => format!("message {}", note.messages.start),
        _ => format!("messages {}–{}", note.messages.start, note.messages.end.saturating_sub(1)),
    };
    match &note.content {
        Some(content) => writeln!(out, "{what} {messages} {}", paint(FAINT, content))?,
        None => writeln!(out, "{what} {messages}")?,
    }
    Ok(())
}
