//! Strategies that summarise: the library decides what the model is to see, and the file is made to show it.

use epitome_core::compact::{
    self, Compacted, Compaction, Piece, Placement, PlainCheckpoint, Request, Segment, StrategyName,
    SystemPlace, View, view,
};
use epitome_core::settings::Settings as Values;
use epitome_core::{Block, BlockKind, Entry, Message, Role, Tokens};
use epitome_wire::files::{FileError, Format, Transcript};
use epitome_wire::{Body, Dialect, Layout, append_system, decode_message};

use super::report::Report;
use crate::args::{Compact, Show};
use crate::session::Session;
use crate::settings::Settings;

/// The text of the session with its main thread compacted.
pub(super) fn compact(
    session: &Session,
    arguments: &Compact,
    strategy: StrategyName,
    settings: &Settings,
    budget: Option<Tokens>,
    report: &mut Report,
) -> Result<String, FileError> {
    let transcript = &session.transcript;
    let Some(main) = session.main() else { return Ok(transcript.text.clone()) };
    let (path, messages, numbers) = (session.path(main), session.messages(main), transcript.path(main));
    let mut values = settings.values.clone();
    values.compact.strategy = strategy;
    let is_body = matches!(transcript.format, Format::Anthropic | Format::Chat | Format::Responses);
    // Files of sessions hold no system prompt that a summary could stand in.
    if values.compact.placement == Placement::System && !is_body {
        values.compact.placement = Placement::Pair;
    }
    let request = Request { budget, pins: &arguments.pin, ..request(session, &values) };
    let count = |text: &str| session.counter().text(text);
    if arguments.dry_run {
        report.decided(compact::dry_run(&path, &messages, &request, &count).report);
        return Ok(transcript.text.clone());
    }
    let compacted = offline(&path, &messages, &request, &count);
    report.decided(compacted.report);
    let Some(compaction) = compacted.compaction else { return Ok(transcript.text.clone()) };
    let view = view(&compaction, &path, &messages, place(transcript.dialect));
    match arguments.show {
        Some(Show::Checkpoint) => Ok(summaries(&compaction)),
        Some(Show::View) => Ok(readable(&view, &messages)),
        None if is_body => in_body(transcript, &view),
        None => transcript.show(&numbers, &view),
    }
}

/// What is asked of a session under these settings, before anything is said of budgets and pins.
pub(crate) fn request<'a>(session: &Session, values: &'a Values) -> Request<'a> {
    Request {
        window: session.names_model.then_some(session.model.window),
        outside: session.fixed.tokens,
        thinking: session.thinking_rule(),
        ..Request::new(values)
    }
}

/// Compacts a path without a model.
pub(crate) fn offline(
    path: &[Entry],
    messages: &[Message],
    request: &Request<'_>,
    count: &dyn Fn(&str) -> Tokens,
) -> Compacted {
    compact::compact(path, messages, request, &mut PlainCheckpoint::new(path, count), count)
}

/// Where summaries among the operator's instructions stand in a dialect.
pub(crate) fn place(dialect: Dialect) -> SystemPlace {
    match dialect {
        Dialect::Chat => SystemPlace::Message(Role::System),
        Dialect::Responses => SystemPlace::Message(Role::Developer),
        _ => SystemPlace::Outside,
    }
}

// A request body is written anew around its untouched messages.
fn in_body(transcript: &Transcript, view: &View) -> Result<String, FileError> {
    let wrong =
        |_| FileError::WrongFormat { format: transcript.format, reason: "its messages cannot be written" };
    let body = Body::scan(transcript.dialect, &transcript.text).map_err(wrong)?;
    let edited = |piece: &Piece| match piece {
        Piece::Edit(at, edits) => {
            let (_, layout) = decode_message(transcript.dialect, body.message(*at)).map_err(wrong)?;
            Ok((layout, edits.iter().cloned().map(epitome_wire::from_core).collect::<Vec<_>>()))
        }
        _ => Ok((Layout::default(), Vec::new())),
    };
    let edits = view.pieces.iter().map(edited).collect::<Result<Vec<_>, FileError>>()?;
    let pieces: Vec<epitome_wire::Piece<'_>> = view
        .pieces
        .iter()
        .zip(&edits)
        .map(|(piece, (layout, edits))| match piece {
            Piece::Keep(at) => epitome_wire::Piece::Keep(*at),
            Piece::Edit(at, _) => epitome_wire::Piece::Edit { message: *at, layout, edits },
            Piece::New(message) => epitome_wire::Piece::New(message),
        })
        .collect();
    let text = body.encode(&pieces).map_err(wrong)?;
    match &view.system {
        Some(words) => append_system(&text, words).map_err(wrong),
        None => Ok(text),
    }
}

fn summaries(compaction: &Compaction) -> String {
    let texts = compaction.segments.iter().filter_map(|segment| match segment {
        Segment::Summary { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n") + "\n"
}

// What the model sees, for a person: roles as headings, calls and results in words.
fn readable(view: &View, messages: &[Message]) -> String {
    let system = view.system.iter().map(|words| format!("── system\n{words}\n"));
    let shown = view.messages(messages);
    let texts = shown.iter().map(|message| {
        let blocks: Vec<String> = message.blocks.iter().map(block).collect();
        format!("── {}\n{}\n", message.role, blocks.join("\n"))
    });
    system.chain(texts).collect::<Vec<_>>().join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => text.text.clone(),
        Block::ToolUse(call) => format!("[calls {} {}]", call.name, call.input),
        Block::ToolResult(result) => format!("[result] {}", result.joined_text()),
        Block::Thinking(thinking) => format!("[thinks] {}", thinking.text),
        other => match other.kind() {
            BlockKind::Image => "[image]".to_owned(),
            BlockKind::Document => "[document]".to_owned(),
            _ => "[…]".to_owned(),
        },
    }
}
