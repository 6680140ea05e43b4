//! `epitome export`: a session as a file again, in its own format or in another dialect.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context;
use epitome_core::{BlockKind, Message};
use epitome_ledger::model::{Session, StoredMessage};
use epitome_wire::convert::{Conversation, convert};
use epitome_wire::files::{self, Damage, Format, Notation, ReadOptions, Summaries};
use epitome_wire::{Dialect, encode_message};
use serde_json::value::RawValue;

use super::recall::decoded;
use super::{Shelf, pick};
use crate::args::Export;
use crate::fail::{failure, misuse};
use crate::input::is_stdin;
use crate::print::{WARN, paint, plural, say};

/// Formats that can be written from any session.
const WRITTEN: [Format; 6] = [
    Format::Anthropic,
    Format::Chat,
    Format::Responses,
    Format::Messages,
    Format::MessagesJsonl,
    Format::Conversations,
];

/// Runs the command.
pub(super) fn run(arguments: &Export, shelf: &Shelf) -> anyhow::Result<()> {
    let session = pick::session(shelf, &arguments.session)?;
    let messages = read(shelf, &session)?;
    let own = Own::of(&messages);
    let text = match (own, arguments.format) {
        (None, None) if messages.is_empty() => String::new(),
        (Some(own), None) => own.text,
        (Some(own), Some(format)) if own.format == format => own.text,
        (own, format) => written(own, &messages, format.unwrap_or(Format::MessagesJsonl))?,
    };
    match arguments.output.as_deref().filter(|path| !is_stdin(path)) {
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
        Some(path) => replace(path, &text).with_context(|| format!("cannot write {}", path.display()))?,
    }
    Ok(())
}

fn read(shelf: &Shelf, session: &Session) -> anyhow::Result<Vec<StoredMessage>> {
    let Some(head) = session.head else { return Ok(Vec::new()) };
    shelf.wait(shelf.ledger.messages(shelf.tenant, head, 0..session.messages))
}

// A file is there whole or not at all.
fn replace(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(std::path::Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A session in the one format that all its messages came in.
struct Own {
    format: Format,
    text: String,
}

impl Own {
    fn of(messages: &[StoredMessage]) -> Option<Self> {
        let notation = Notation::from_number(messages.first()?.notation.0)?;
        if messages.iter().any(|message| message.notation.0 != notation.number()) {
            return None;
        }
        let bodies = messages.iter().map(|message| std::str::from_utf8(&message.body));
        let bodies = bodies.collect::<Result<Vec<_>, _>>().ok()?;
        let format = files::frame_format(&bodies);
        Some(Self { format: format.unwrap_or(notation.format()), text: files::restore(notation, &bodies) })
    }

    // Read as a whole, because some formats say in one message what another means.
    fn conversation(&self, count: usize) -> Option<Read> {
        let options = ReadOptions {
            format: Some(self.format),
            damage: Damage::KeepGoing,
            summaries: Summaries::Apart,
            ..ReadOptions::default()
        };
        let transcript = files::read_all(self.text.as_bytes(), options).ok()?.into_iter().next()?;
        let path = transcript.threads.first().map(|main| transcript.path(main)).unwrap_or_default();
        if path.len() != count {
            return None;
        }
        let messages = path.iter().filter_map(|at| transcript.messages.get(*at).cloned()).collect();
        let conversation = Conversation { system: transcript.system.clone(), messages };
        Some(Read { conversation, dialect: transcript.dialect, model: transcript.model.clone() })
    }
}

/// A session as a conversation.
struct Read {
    conversation: Conversation,
    dialect: Dialect,
    /// The model that its file names.
    model: Option<String>,
}

impl Read {
    fn model(&self) -> Option<&str> {
        let replied =
            || self.conversation.messages.iter().rev().find_map(|message| message.meta.model.as_deref());
        self.model.as_deref().or_else(replied)
    }
}

fn written(own: Option<Own>, messages: &[StoredMessage], format: Format) -> anyhow::Result<String> {
    if !WRITTEN.contains(&format) {
        let came = own.map_or("of several formats".to_owned(), |own| format!("in the format {}", own.format));
        let names = WRITTEN.map(Format::name).join(", ");
        return Err(misuse(
            format!("this session came {came} and cannot be written as {format}"),
            format!("leave --format away, or choose one of {names}"),
        ));
    }
    let read = match own.and_then(|own| own.conversation(messages.len())) {
        Some(read) => read,
        None => one_by_one(messages)?,
    };
    let (conversation, from) = (&read.conversation, read.dialect);
    let to = match format {
        Format::Anthropic => Dialect::Anthropic,
        Format::Chat => Dialect::Chat,
        Format::Responses => Dialect::Responses,
        _ => from,
    };
    let converted = convert(conversation, spoken(from, to, conversation), to);
    let mut losses: BTreeMap<String, usize> = BTreeMap::new();
    for loss in &converted.losses {
        *losses.entry(loss.what.to_string()).or_default() += 1;
    }
    for (what, times) in losses {
        let times = plural(times, "time");
        say(format_args!("{} {what} ({times})", paint(WARN, "not in this dialect:")));
    }
    body(&converted.conversation, read.model(), to, format)
}

// pi groups its messages like Chat Completions, but has reasoning among them, which that cannot express.
fn spoken(from: Dialect, to: Dialect, conversation: &Conversation) -> Dialect {
    let mut blocks = conversation.messages.iter().flat_map(|message| &message.blocks);
    let reasons =
        blocks.any(|block| matches!(block.kind(), BlockKind::Thinking | BlockKind::RedactedThinking));
    if from == Dialect::Chat && to == Dialect::Chat && reasons { Dialect::Anthropic } else { from }
}

// Messages that came in several notations: each by itself, in the dialect of the first.
fn one_by_one(messages: &[StoredMessage]) -> anyhow::Result<Read> {
    let dialect_of = |message: &StoredMessage| {
        Notation::from_number(message.notation.0).map_or(Dialect::Chat, Notation::dialect)
    };
    let target = messages.first().map_or(Dialect::Chat, dialect_of);
    let mut all: Vec<Message> = Vec::with_capacity(messages.len());
    for stored in messages {
        let message = decoded(stored.notation.0, &stored.body).ok_or_else(|| {
            let what = format!("message {} is in no notation that is known here", stored.ordinal);
            failure(what, "a later version of epitome may have recorded it")
        })?;
        let alone = Conversation { system: None, messages: vec![message] };
        let from = spoken(dialect_of(stored), target, &alone);
        all.extend(convert(&alone, from, target).conversation.messages);
    }
    let conversation = Conversation { system: None, messages: all };
    Ok(Read { conversation, dialect: target, model: None })
}

fn body(
    conversation: &Conversation,
    model: Option<&str>,
    dialect: Dialect,
    format: Format,
) -> anyhow::Result<String> {
    let mut messages = Vec::new();
    for message in &conversation.messages {
        messages.extend(encode_message(dialect, message)?);
    }
    if format == Format::MessagesJsonl {
        return Ok(messages.iter().flat_map(|message| [message.as_str(), "\n"]).collect());
    }
    let list = format!("[{}]", messages.join(","));
    if format == Format::Messages {
        return Ok(list + "\n");
    }
    let (system_key, list_key) = match dialect {
        Dialect::Responses => ("instructions", "input"),
        _ => ("system", "messages"),
    };
    let system = match &conversation.system {
        Some(system) => format!("\"{system_key}\":{},", content(system)?),
        None => String::new(),
    };
    let model = match model {
        Some(model) => format!("\"model\":{},", serde_json::to_string(model)?),
        None => String::new(),
    };
    Ok(format!("{{{model}{system}\"{list_key}\":{list}}}\n"))
}

// A system prompt is written like the content of a message; Responses takes plain text only.
fn content(system: &Message) -> anyhow::Result<String> {
    #[derive(serde::Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let written = encode_message(Dialect::Anthropic, system)?.concat();
    Ok(serde_json::from_str::<Content<'_>>(&written)?.content.get().to_owned())
}
