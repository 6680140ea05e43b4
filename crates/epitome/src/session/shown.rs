//! A message of the path as it is shown: what was recorded, read again where a decision needs its words.

use std::sync::Arc;

use epitome_core::compact::Piece;
use epitome_core::prune::{THINKING_REMOVED, edited};
use epitome_core::tokens::Counter;
use epitome_core::{BlockKind, BlockOutline, Message, Outline, Role, Time, Tokens};
use epitome_ledger::model::StoredMessage;
use epitome_wire::convert::{Conversation, convert};
use epitome_wire::files::{Notation, message_of, record_of};
use epitome_wire::json::{Span, Splice};
use epitome_wire::{
    Dialect, decode_message, encode_expressible, encode_message, from_core, splice_edits, strip_thinking,
};

use super::draft::Draft;
use crate::error::Result;

/// A message that is shown whole or pruned.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) ordinal: u64,
    pub(crate) outline: Arc<Outline>,
    pub(crate) time: Option<Time>,
    body: Arc<str>,
    notation: Notation,
}

impl Shown {
    /// A message that was just appended.
    pub(crate) fn appended(draft: &Draft, ordinal: u64, dialect: Dialect, time: Time) -> Self {
        let (body, outline) = (Arc::clone(&draft.json), Arc::clone(&draft.outline));
        Self { ordinal, outline, time: Some(time), body, notation: Notation::of_dialect(dialect) }
    }

    /// A message as it was recorded.
    pub(crate) fn recorded(stored: &StoredMessage, counter: &Counter) -> Result<Self> {
        let text = String::from_utf8_lossy(&stored.body);
        let body: Arc<str> = record_of(&text).into();
        let notation = Notation::from_number(stored.notation.0).unwrap_or(Notation::Chat);
        let message = read(notation, &body)?;
        let outline = match notation.is_plain().then(|| decode_message(notation.dialect(), &body)) {
            Some(Ok((message, layout))) => layout.outline(&message, counter),
            _ => Outline::of(&message, counter, body.len()),
        };
        let time = message.meta.time.or(Some(stored.time));
        Ok(Self { ordinal: stored.ordinal, outline: Arc::new(outline), time, body, notation })
    }

    /// The message itself.
    pub(crate) fn message(&self) -> Result<Message> {
        read(self.notation, &self.body)
    }

    /// The dialect that it was written in.
    pub(crate) fn dialect(&self) -> Dialect {
        self.notation.dialect()
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.body.len() + std::mem::size_of::<Self>() + self.outline.blocks.len() * 128
    }

    fn is_native(&self, dialect: Dialect) -> bool {
        self.notation == Notation::of_dialect(dialect)
    }
}

fn read(notation: Notation, body: &str) -> Result<Message> {
    Ok(notation.bare(message_of(notation, body)?))
}

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) json: Arc<str>,
    /// Of what is sent, which may be less than what was recorded.
    pub(crate) outline: Arc<Outline>,
    /// Its place on the path; none where it stands for others.
    pub(crate) ordinal: Option<u64>,
    /// Whether it is the message of this place as it was recorded.
    pub(crate) is_whole: bool,
}

impl Sent {
    pub(crate) fn role(&self) -> Role {
        self.outline.role
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.outline.tokens
    }
}

/// Whether there is thinking in it, readable or not.
pub(crate) fn thinks(outline: &Outline) -> bool {
    let is_thinking =
        |block: &BlockOutline| matches!(block.kind, BlockKind::Thinking | BlockKind::RedactedThinking);
    outline.blocks.iter().any(is_thinking)
}

/// Writes the messages of a view in a dialect.
pub(crate) struct Writer<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) counter: &'a Counter,
    /// The messages of the path that are shown, by their ordinals, ascending.
    pub(crate) shown: &'a [Shown],
}

impl Writer<'_> {
    /// The messages of a view. Those that nobody changed are sent as they were recorded, where the dialect is the same.
    pub(crate) fn write(&self, pieces: &[Piece]) -> Result<Vec<Sent>> {
        let mut sent = Vec::with_capacity(pieces.len());
        let mut foreign: Vec<(Dialect, Option<u64>, Message)> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Keep(at) => {
                    let Some(shown) = self.at(*at) else { continue };
                    if shown.is_native(self.dialect) {
                        self.settle(&mut foreign, &mut sent)?;
                        sent.push(self.kept(shown));
                    } else {
                        foreign.push((shown.notation.dialect(), Some(shown.ordinal), shown.message()?));
                    }
                }
                Piece::Edit(at, edits) => {
                    let Some(shown) = self.at(*at) else { continue };
                    if shown.is_native(self.dialect) {
                        self.settle(&mut foreign, &mut sent)?;
                        let edits: Vec<_> = edits.iter().cloned().map(from_core).collect();
                        let (_, layout) = decode_message(self.dialect, &shown.body)?;
                        let mut splice = Splice::new();
                        splice_edits(&shown.body, &layout, 0, &edits, &mut splice);
                        let mut json = String::with_capacity(shown.body.len());
                        splice.write(&shown.body, Span { start: 0, end: shown.body.len() }, &mut json);
                        sent.push(self.counted(json, Some(shown.ordinal))?);
                    } else {
                        let message = edited(&shown.message()?, edits.clone());
                        foreign.push((shown.notation.dialect(), Some(shown.ordinal), message));
                    }
                }
                Piece::New(message) => {
                    self.settle(&mut foreign, &mut sent)?;
                    for json in encode_message(self.dialect, message)? {
                        sent.push(self.counted(json, None)?);
                    }
                }
            }
        }
        self.settle(&mut foreign, &mut sent)?;
        Ok(sent)
    }

    /// A message as it was appended.
    pub(crate) fn kept(&self, shown: &Shown) -> Sent {
        let (json, outline) = (Arc::clone(&shown.body), Arc::clone(&shown.outline));
        Sent { json, outline, ordinal: Some(shown.ordinal), is_whole: true }
    }

    /// A message without its thinking; where there is nothing else in it, it says so.
    pub(crate) fn bare(&self, sent: Sent) -> Result<Sent> {
        if !thinks(&sent.outline) {
            return Ok(sent);
        }
        let json = match strip_thinking(self.dialect, &sent.json) {
            Some(json) => json,
            None => encode_message(self.dialect, &Message::text(sent.role(), THINKING_REMOVED))?.concat(),
        };
        self.counted(json, sent.ordinal)
    }

    fn at(&self, ordinal: usize) -> Option<&Shown> {
        let at = self.shown.partition_point(|shown| shown.ordinal < ordinal as u64);
        self.shown.get(at).filter(|shown| shown.ordinal == ordinal as u64)
    }

    // Messages of other dialects are regrouped together, as far as they are of one dialect.
    fn settle(&self, foreign: &mut Vec<(Dialect, Option<u64>, Message)>, sent: &mut Vec<Sent>) -> Result<()> {
        let taken = std::mem::take(foreign);
        for run in taken.chunk_by(|left, right| left.0 == right.0) {
            let Some((from, ordinal, _)) = run.first() else { continue };
            if *from == self.dialect {
                for (_, ordinal, message) in run {
                    for json in encode_expressible(self.dialect, message)? {
                        sent.push(self.counted(json, *ordinal)?);
                    }
                }
                continue;
            }
            let messages = run.iter().map(|(_, _, message)| message.clone()).collect();
            let converted = convert(&Conversation { system: None, messages }, *from, self.dialect);
            let conversation = converted.conversation;
            for message in conversation.system.iter().chain(&conversation.messages) {
                for json in encode_expressible(self.dialect, message)? {
                    sent.push(self.counted(json, *ordinal)?);
                }
            }
        }
        Ok(())
    }

    /// A message as it is written here, counted.
    pub(crate) fn counted(&self, json: String, ordinal: Option<u64>) -> Result<Sent> {
        let (message, layout) = decode_message(self.dialect, &json)?;
        let outline = Arc::new(layout.outline(&message, self.counter));
        Ok(Sent { json: json.into(), outline, ordinal, is_whole: false })
    }
}
