//! Messages kept one by one, and the file put together again.
//!
//! Each message is kept as its records were written, byte for byte. What else stands in a file rides along with the message
//! behind it: lines that are no messages before the message's own. What surrounds a list of messages is a *frame*, to be put before one
//! of them. So the messages of a thread are all that is needed to write the file of that thread again.
//!
//! Apart from them are lines behind the last message: they come with the next. Left out are blank lines, repetitions of whole lines, and Codex's notes
//! that messages were taken back.

use std::borrow::Cow;

use epitome_core::{ContentHash, Message, Role};
use serde::{Deserialize, Serialize};

use super::error::FileError;
use super::format::Format;
use super::log::Damage;
use super::notation::Notation;
use super::reader::ReadOptions;
use super::record::{Record, Target};
use super::transcript::Transcript;
use crate::canonical::{canonical_digest, digest_of_json};
use crate::dialect::Dialect;
use crate::json::{Cursor, Kind, Span, string};
use crate::message::decode_message;

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its records and what rides along, byte for byte.
    pub body: String,
    /// The hash of its canonical form. Equal bodies have equal hashes.
    pub digest: ContentHash,
}

/// The lines of a file, each with the message that it belongs to.
struct Lines {
    bodies: Vec<String>,
    /// The message that the last of them belongs to.
    last: Option<usize>,
    /// Lines behind it.
    trailing: Vec<Span>,
}

/// What surrounds the messages of a file that is a list of them.
#[derive(Serialize, Deserialize)]
struct Frame<'a> {
    epitome: Cow<'a, str>,
    format: Cow<'a, str>,
    before: Cow<'a, str>,
    between: Cow<'a, str>,
    after: Cow<'a, str>,
}

/// What every frame begins with.
const FRAME: &str = r#"{"epitome":"frame","#;

impl Transcript {
    /// The notation in which its messages are kept.
    pub fn notation(&self) -> Notation {
        Notation::of_file(self.format, self.dialect)
    }

    /// Its messages as they are kept, one for one with `messages`.
    pub fn kept(&self) -> Vec<Kept> {
        let bodies = if self.notation().is_lines() { self.lines().bodies } else { self.elements() };
        let kept = bodies.into_iter().zip(0..);
        kept.map(|(body, at)| Kept { digest: self.digest(at), body }).collect()
    }

    // Only what a line says by itself may count, so that equal bodies have equal digests.
    fn digest(&self, at: usize) -> ContentHash {
        if !self.notation().is_lines() {
            return digest_of_json(self.element(at).of(&self.text));
        }
        self.messages.get(at).map_or(ContentHash::of(&[]), canonical_digest)
    }

    /// The lines behind the last message, and the message that they stand behind.
    ///
    /// They are no part of it: when the file grows they ride along with the message that comes next.
    pub fn trailing(&self) -> Option<(usize, String)> {
        let lines = self.notation().is_lines().then(|| self.lines())?;
        let text: Vec<&str> = lines.trailing.iter().map(|line| line.of(&self.text)).collect();
        lines.last.filter(|_| !text.is_empty()).map(|last| (last, text.join("\n")))
    }

    fn lines(&self) -> Lines {
        let mut bodies = vec![String::new(); self.messages.len()];
        let mut waiting: Vec<Span> = Vec::new();
        let mut last = None;
        for record in self.records.iter().filter(|record| is_worth_keeping(record)) {
            waiting.push(record.span);
            let shown = record.message.filter(|at| !self.hidden.get(*at).copied().unwrap_or(false));
            let Some(body) = shown.and_then(|at| bodies.get_mut(at)) else { continue };
            last = shown;
            for line in waiting.drain(..) {
                if !body.is_empty() {
                    body.push('\n');
                }
                body.push_str(line.of(&self.text));
            }
        }
        Lines { bodies, last, trailing: waiting }
    }

    fn elements(&self) -> Vec<String> {
        (0..self.messages.len()).map(|at| self.element(at).of(&self.text).to_owned()).collect()
    }

    /// What surrounds its messages where they are a list, to be put before the body of one of them.
    ///
    /// ```
    /// use epitome_wire::files::{ReadOptions, read_all, record_of, restore};
    ///
    /// let file = r#"{"model":"m","messages":[{"role":"user","content":"What is new?"}]}"#;
    /// let transcript = &read_all(file.as_bytes(), ReadOptions::default())?[0];
    /// let body = transcript.frame().unwrap() + &transcript.kept()[0].body;
    /// assert_eq!(record_of(&body), r#"{"role":"user","content":"What is new?"}"#);
    /// assert_eq!(restore(transcript.notation(), &[&body]), file);
    /// # Ok::<(), epitome_wire::files::FileError>(())
    /// ```
    pub fn frame(&self) -> Option<String> {
        let count = self.messages.len();
        if self.notation().is_lines() || count == 0 {
            return None;
        }
        let (first, last) = (self.element(0), self.element(count - 1));
        let stretch = |start, end| Cow::Borrowed((Span { start, end }).of(&self.text));
        let frame = Frame {
            epitome: "frame".into(),
            format: self.format.name().into(),
            before: stretch(0, first.start),
            between: if count > 1 { stretch(first.end, self.element(1).start) } else { self.separator() },
            after: stretch(last.end, self.text.len()),
        };
        serde_json::to_string(&frame).ok().map(|frame| frame + "\n")
    }

    fn separator(&self) -> Cow<'static, str> {
        if self.format == Format::MessagesJsonl { "\n".into() } else { ",".into() }
    }

    // The one record of a message; an input that is a bare string has none.
    fn element(&self, at: usize) -> Span {
        let layout = self.layouts.get(at);
        let record = layout.and_then(|layout| layout.records.first().copied());
        record.or_else(|| Some(layout?.blocks.first()?.block)).unwrap_or_default()
    }
}

// A repetition says nothing new. That other messages were taken back is said by their not being there; said twice, it would
// take back what stands.
fn is_worth_keeping(record: &Record) -> bool {
    record.twin_of.is_none() && !record.links.iter().any(|link| matches!(link.to, Target::Count(_)))
}

// A body without its frame, and the frame.
fn split(body: &str) -> (Option<Frame<'_>>, &str) {
    if !body.starts_with(FRAME) {
        return (None, body);
    }
    let frame = Cursor::new(body).skip().ok();
    let read = frame.and_then(|span| serde_json::from_str(span.of(body)).ok().zip(body.get(span.end + 1..)));
    read.map_or((None, body), |(frame, rest)| (Some(frame), rest))
}

/// The message's own text: a body without the frame that may stand before it.
pub fn record_of(body: &str) -> &str {
    split(body).1
}

/// The format of the file that messages were kept of, where that was a list of them.
pub fn frame_format(bodies: &[&str]) -> Option<Format> {
    frame_of(bodies).and_then(|frame| frame.format.parse().ok())
}

// The last frame counts: where a conversation was forked, the file of the fork has one of its own.
fn frame_of<'a>(bodies: &[&'a str]) -> Option<Frame<'a>> {
    bodies.iter().rev().find_map(|body| split(body).0)
}

/// The message that was kept like this.
pub fn message_of(notation: Notation, body: &str) -> Result<Message, FileError> {
    let record = record_of(body);
    if notation.is_lines() {
        let options = ReadOptions {
            format: Some(notation.format()),
            damage: Damage::KeepGoing,
            ..ReadOptions::default()
        };
        let read = super::read_all(record.as_bytes(), options)?;
        let last = read.first().and_then(|transcript| transcript.main().last().map(|at| (transcript, *at)));
        let message = last.and_then(|(transcript, at)| transcript.messages.get(at).cloned());
        return message.ok_or(FileError::NoSuchMessage(0));
    }
    if Kind::of(record) == Some(Kind::String) {
        let whole = Span { start: 0, end: record.len() };
        let text = string(record, whole).map_err(|_| FileError::NoSuchMessage(0))?;
        return Ok(Message::text(Role::User, text));
    }
    let dialect = Dialect::of_message(record).unwrap_or(notation.dialect());
    let read = decode_message(dialect, record).map(|(message, _)| message);
    read.map_err(|_| FileError::UnknownFormat("not a message".to_owned()))
}

/// The file that holds the messages that were kept like this, in their order.
pub fn restore(notation: Notation, bodies: &[&str]) -> String {
    if notation.is_lines() {
        return bodies.iter().flat_map(|body| [*body, "\n"]).collect();
    }
    let frame = frame_of(bodies).unwrap_or_else(|| bare(notation));
    let mut text = frame.before.into_owned();
    for (place, body) in bodies.iter().enumerate() {
        if place > 0 {
            text.push_str(&frame.between);
        }
        text.push_str(record_of(body));
    }
    text + &frame.after
}

// Messages that were never in a file.
fn bare(notation: Notation) -> Frame<'static> {
    let (before, after) = match notation {
        Notation::Responses => (r#"{"input":["#, "]}\n"),
        Notation::SweAgent => (r#"{"trajectory":[],"history":["#, "]}\n"),
        _ => ("[", "]\n"),
    };
    Frame {
        epitome: "frame".into(),
        format: notation.format().name().into(),
        before: before.into(),
        between: ",".into(),
        after: after.into(),
    }
}
