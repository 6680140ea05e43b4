//! Strategies that summarise: the library decides what the model is to see, and the file is made to show it.

use std::ops::Range;

use epitome::llm::summary::ModelSummarizer;
use epitome_core::compact::{
    self, Compacted, Piece, Placement, Planned, Request, Segment, Stakes, SystemPlace, View, view,
};
use epitome_core::digest::Digest;
use epitome_core::loss::{self, Loss};
use epitome_core::settings::Settings as Values;
use epitome_core::{Block, Entry, Message, Role, Tokens};
use epitome_wire::files::{Damage, FileError, Format, ReadOptions, Transcript, read_all};
use epitome_wire::{Body, Dialect, Layout, append_system, decode_message};

use super::job::Job;
use super::report::Report;
use super::show::{Shown, as_it_was, block};
use super::sides::Side;
use crate::args::{CacheAge, Compact, Messages, Show};
use crate::input;
use crate::session::Session;
use crate::writers::Desk;

/// What is wanted of a compaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The session, smaller.
    Session,
    /// A part of it for a person to read.
    Shown(Show),
    /// Only what would be done.
    Plan,
}

/// What one compaction is for.
pub(super) struct Aim<'a> {
    /// What the conversation may take.
    pub(super) budget: Option<Tokens>,
    pub(super) wanted: Wanted,
    /// Where a model is asked for summaries, if one is.
    pub(super) desk: Option<Desk<'a>>,
}

/// The text that is wanted of the session, its main thread compacted.
pub(super) fn compact(job: &Job<'_>, aim: &Aim<'_>, report: &mut Report) -> Result<String, FileError> {
    let Aim { budget, wanted, desk } = *aim;
    let Job { session, arguments, .. } = *job;
    let transcript = &session.transcript;
    let Some(main) = session.main() else { return Ok(transcript.text.clone()) };
    let (path, messages, numbers) = (session.path(main), session.messages(main), transcript.path(main));
    let mut values = job.settings.values.clone();
    values.compact.strategy = job.strategy;
    settle(&mut values, transcript);
    // A file that was compacted before holds its summary as a message.
    let previous = compact::in_force(&path, &messages, &values);
    let request = Request {
        budget,
        pins: &job.pins,
        seals: &arguments.seal,
        instructions: arguments.instructions.as_deref(),
        previous: previous.as_ref(),
        stakes: stakes(session, arguments, &path, desk),
        ..request(session, &values)
    };
    let count = |text: &str| session.counter().text(text);
    if wanted == Wanted::Plan && arguments.expand.is_empty() {
        let mut digest = Digest::new(&path, &messages, &count).masking(values.compact.mask_secrets);
        let preview = compact::dry_run(&path, &messages, &request, &mut digest, &count);
        let parts = preview.plan.iter().flat_map(|plan| &plan.parts);
        let sides = Side::all(&preview.report.segments, &messages, parts.map(settled));
        report.decided(preview.report, sides);
        return Ok(transcript.text.clone());
    }
    let mut writer = desk.map(|desk| desk.writer());
    let model = writer.as_mut().map(|writer| Model { summarizer: &mut writer.summarizer, originals: &[] });
    let mut compacted = summarised(&path, &messages, &request, &count, model);
    report.written(&writer.map(|writer| writer.heard()).unwrap_or_default());
    let hidden = compacted.compaction.as_ref().or(previous.as_ref()).filter(|_| !arguments.expand.is_empty());
    if let Some(hidden) = hidden {
        let ranges = ranges(&arguments.expand);
        compacted = compact::expand(&path, &messages, &request, hidden, &ranges, &count);
    } else if !arguments.expand.is_empty() {
        report.note("nothing is compacted that could be shown again".to_owned());
    }
    let current = compacted.compaction.as_ref().or(previous.as_ref());
    let segments = current.into_iter().flat_map(|compaction| &compaction.segments);
    let sides = Side::all(&compacted.report.segments, &messages, segments.map(Some));
    report.decided(compacted.report, sides);
    let view = match &compacted.compaction {
        Some(compaction) => view(compaction, &path, &messages, place(transcript.dialect)),
        None => as_it_was(messages.len()),
    };
    let loss = compacted.compaction.as_ref().map_or_else(Loss::default, |compaction| {
        loss::of(compaction, &view, &path, &messages, &operator(transcript))
    });
    let text = match wanted {
        Wanted::Shown(what) => {
            Ok(Shown { compaction: current, view: &view, messages: &messages, loss: &loss }.text(what))
        }
        Wanted::Session if compacted.compaction.is_some() => match is_body(transcript) {
            true => in_body(transcript, &view),
            false => in_file(transcript, &numbers, &view, &messages),
        },
        Wanted::Session | Wanted::Plan => Ok(transcript.text.clone()),
    };
    report.lost(loss);
    text
}

// What is decided already of a part of a plan.
fn settled(part: &Planned) -> Option<&Segment> {
    match part {
        Planned::Segment(segment) => Some(segment),
        Planned::Summary(_) => None,
    }
}

// A session file keeps its other threads, unless what is left of them would pass for a part of this one.
fn in_file(
    transcript: &Transcript,
    numbers: &[usize],
    view: &View,
    messages: &[Message],
) -> Result<String, FileError> {
    let text = transcript.show(numbers, view)?;
    if transcript.threads.len() < 2 {
        return Ok(text);
    }
    let options =
        ReadOptions { format: Some(transcript.format), damage: Damage::KeepGoing, ..ReadOptions::default() };
    let back = read_all(text.as_bytes(), options)?;
    let texts = |messages: &[Message]| {
        let said = |message: &Message| message.blocks.iter().map(block).collect::<Vec<_>>();
        messages.iter().map(|message| (message.role, said(message))).collect::<Vec<_>>()
    };
    let shown =
        back.first().map(|back| back.main().iter().map(|at| back.messages[*at].clone()).collect::<Vec<_>>());
    match shown.is_some_and(|shown| texts(&shown) == texts(&view.messages(messages))) {
        true => Ok(text),
        false => transcript.show_alone(numbers, view),
    }
}

/// What the operator says outside of the messages, which summaries may repeat.
pub(super) fn operator(transcript: &Transcript) -> Vec<&str> {
    let blocks = transcript.system.iter().flat_map(|system| &system.blocks);
    let texts = blocks.filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Changes what a file of this kind cannot hold: files of sessions have no system prompt that a summary could stand in.
pub(crate) fn settle(values: &mut Values, transcript: &Transcript) {
    if values.compact.placement == Placement::System && !is_body(transcript) {
        values.compact.placement = Placement::Pair;
    }
}

fn is_body(transcript: &Transcript) -> bool {
    matches!(transcript.format, Format::Anthropic | Format::Chat | Format::Responses)
}

/// What is asked of a session under these settings, before anything is said of budgets and pins.
pub(crate) fn request<'a>(session: &Session, values: &'a Values) -> Request<'a> {
    Request {
        window: session.counted_window(),
        outside: session.fixed.tokens,
        thinking: session.thinking_rule(),
        ..Request::new(values)
    }
}

/// A model that is asked for summaries.
pub(crate) struct Model<'a> {
    pub(crate) summarizer: &'a mut ModelSummarizer,
    /// The messages that earlier summaries are of, where they are at hand.
    pub(crate) originals: &'a [Message],
}

/// Compacts a path, with a model or without.
pub(crate) fn summarised(
    path: &[Entry],
    messages: &[Message],
    request: &Request<'_>,
    count: &dyn Fn(&str) -> Tokens,
    model: Option<Model<'_>>,
) -> Compacted {
    let mut digest = Digest::new(path, messages, count).masking(request.settings.compact.mask_secrets);
    match model {
        None => compact::compact(path, messages, request, &mut digest, &count),
        Some(Model { summarizer, originals }) => {
            let mut beside = summarizer.beside_path(&mut digest, originals);
            compact::compact(path, messages, request, &mut beside, &count)
        }
    }
}

fn ranges(messages: &[Messages]) -> Vec<Range<usize>> {
    messages.iter().map(|Messages(range)| *range.start()..range.end() + 1).collect()
}

// What there is to win and to lose, where the model and so its prices are known.
fn stakes(session: &Session, arguments: &Compact, path: &[Entry], desk: Option<Desk<'_>>) -> Option<Stakes> {
    let tariff = session.tariff()?;
    // What is piped in is about to be sent; a file may have lain for days.
    let piped = arguments.input.files.iter().any(|file| input::is_stdin(file));
    let age = arguments.cache.unwrap_or(if piped { CacheAge::Warm } else { CacheAge::Cold });
    let cached = match age {
        CacheAge::Cold => Tokens::ZERO,
        // What was sent last is all that stands before the last reply.
        CacheAge::Warm => {
            let replied = path.iter().rposition(|entry| entry.outline.role == Role::Assistant);
            let sent = path.iter().take(replied.unwrap_or(0)).map(|entry| entry.outline.tokens).sum();
            if replied.is_some() { session.fixed.tokens + sent } else { Tokens::ZERO }
        }
    };
    let summary = desk.and_then(|desk| desk.writers().tariff());
    Some(Stakes { tariff, summary, cached, turns: arguments.turns })
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
