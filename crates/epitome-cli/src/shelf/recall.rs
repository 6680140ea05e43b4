//! `epitome recall`: the text that a marker stands for.

use std::io::Write;

use epitome_core::prune::text_of;
use epitome_core::{Block, Message, RecallId};
use epitome_wire::files::{Notation, message_of};
use serde_json::json;

use super::{Shelf, pick};
use crate::args::Recall;
use crate::fail::{failure, misuse};
use crate::print::{FAINT, paint, say};

/// Runs the command.
pub(super) fn run(arguments: &Recall, shelf: &Shelf) -> anyhow::Result<()> {
    let id = named(&arguments.id)?;
    let found = shelf.wait(shelf.ledger.recall(shelf.tenant, id))?;
    let recalled = found.ok_or_else(|| {
        let hint = "markers end in \"recall\" and this id; import the session that was compacted first";
        failure(format!("nothing is recorded under {id}"), hint)
    })?;
    let message = decoded(recalled.message.notation.0, &recalled.message.body);
    let text = message.and_then(|message| text_in(&message, id)).ok_or_else(|| {
        let hint = "epitome doctor says what is wrong with the ledger";
        failure(format!("the message under {id} does not hold its text"), hint)
    })?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let told = json!({
            "id": id.to_string(),
            "session": recalled.session,
            "message": recalled.message.ordinal,
            "role": recalled.message.role,
            "text": text,
        });
        serde_json::to_writer(&mut out, &told)?;
        writeln!(out)?;
        return Ok(());
    }
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if crate::print::is_terminal() {
        let place =
            format!("message {} of session {}", recalled.message.ordinal, pick::short(recalled.session));
        say(paint(FAINT, format_args!("\n{place}")));
    }
    Ok(())
}

// An id as people paste it: with the word before it, in quotes or brackets, in upper case.
fn named(words: &[String]) -> anyhow::Result<RecallId> {
    let text = words.join(" ");
    let mut found =
        text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let id = found.next_back().and_then(|word| word.to_lowercase().parse().ok());
    id.ok_or_else(|| {
        misuse(
            format!("not a recall id: {text:?}"),
            "an id has twelve digits, 0 to 9 and a to f, as the marker shows it",
        )
    })
}

/// The message that a body holds, where its notation is known.
pub(super) fn decoded(notation: u8, body: &[u8]) -> Option<Message> {
    let notation = Notation::from_number(notation).unwrap_or(Notation::Chat);
    message_of(notation, std::str::from_utf8(body).ok()?).ok()
}

fn text_in(message: &Message, id: RecallId) -> Option<String> {
    let text = |block: &Block| match block {
        Block::ServerToolResult(result) => Some(result.joined_text()),
        block => text_of(block).map(|text| text.into_owned()),
    };
    let texts: Vec<String> = message.blocks.iter().filter_map(text).collect();
    // A result that its file writes as a message of several texts was recorded as one.
    let joined = || Some(texts.join("\n")).filter(|text| RecallId::of(text) == id);
    texts.iter().find(|text| RecallId::of(text) == id).cloned().or_else(joined)
}
