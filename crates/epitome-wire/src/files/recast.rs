//! Recasting a record: where no message of the same role gives way, one record of any role is written anew.
//!
//! What the tool knows about the record (its place in the tree, its time) stays; only the message in it is another one.
//! Where several new messages have to stand there, the record is repeated, each copy continuing the one before.

use epitome_core::{ContentHash, Message};

use super::error::FileError;
use super::format::Format;
use super::record::{Cut, Record};
use super::transcript::Transcript;
use crate::dialect::Dialect;
use crate::encode_message;
use crate::json::{Span, Splice, quote};
use crate::node::Node;

/// Where the parts of a record stand that another message changes.
struct Home {
    /// The message itself.
    message: Span,
    /// Where it stands in another field than the one of messages: the name of that one.
    field: Option<&'static str>,
    /// The record's own word for what it holds.
    kind: Option<(Span, Kind)>,
    /// The record's id.
    id: Option<Span>,
    /// The id of the record that it continues.
    parent: Option<Span>,
}

/// What a record says that it holds.
#[derive(Clone, Copy)]
enum Kind {
    /// The role of who speaks.
    Role,
    /// The same word for any message.
    Word(&'static str),
}

/// Fields of a message that its tool wants to see in every message.
const KEPT: [&str; 3] = ["timestamp", "agent", "message_type"];

impl Transcript {
    /// The record into which other messages can move, if this message has one.
    pub(super) fn recastable(&self, message: usize) -> Option<usize> {
        let number = self.records.iter().position(|record| record.message == Some(message))?;
        let record = self.records.get(number)?;
        let is_repeated = self.records.iter().any(|other| other.twin_of == Some(number));
        let is_fixed = matches!(record.cut, Cut::Never);
        (!is_fixed && !is_repeated && self.home(record).is_some()).then_some(number)
    }

    /// The record with these messages in place of its own; `tied` gives references of the record that have changed.
    pub(super) fn recast(
        &self,
        record: &Record,
        messages: &[Message],
        tied: &[(Span, String)],
    ) -> Result<String, FileError> {
        let refused = || FileError::NotEditable { message: record.message.unwrap_or(0), block: 0 };
        let home = self.home(record).ok_or_else(refused)?;
        let mut copies = Vec::new();
        let mut before: Option<String> = None;
        for (number, message) in messages.iter().enumerate() {
            let mut splice = Splice::new();
            let written = self.written(message, home.message).ok_or_else(refused)?;
            let field = home.field.map(|name| quote(name) + ":").unwrap_or_default();
            splice.replace(home.message, field + &written);
            match home.kind {
                Some((span, Kind::Role)) => splice.replace(span, quote(&message.role.to_string())),
                Some((span, Kind::Word(word))) => splice.replace(span, quote(word)),
                None => {}
            }
            // The last copy is the record itself, so that what follows it still does.
            let is_last = number + 1 == messages.len();
            let id = record.id.as_deref().filter(|_| !is_last).map(|id| derived(id, number));
            if let (Some(span), Some(id)) = (home.id, &id) {
                splice.replace(span, quote(id));
            }
            if let (Some(span), Some(parent)) = (home.parent, &before) {
                splice.replace(span, quote(parent));
            }
            let own = |span: &Span| Some(*span) == home.parent && before.is_some();
            for (span, value) in tied.iter().filter(|(span, _)| !own(span)) {
                splice.replace(*span, value.clone());
            }
            before = id;
            let mut copy = String::new();
            splice.write(&self.text, record.span, &mut copy);
            copies.push(copy);
        }
        let between = if matches!(record.cut, Cut::Element) { "," } else { "\n" };
        Ok(copies.join(between))
    }

    fn home(&self, record: &Record) -> Option<Home> {
        let object = Node::new(&self.text, record.span).object().ok()??;
        let span = |key: &str| object.get(key).map(|node| node.span);
        let whole = Home { message: record.span, field: None, kind: None, id: None, parent: None };
        match self.format {
            Format::ClaudeCode => Some(Home {
                message: span("message")?,
                kind: Some((span("type")?, Kind::Role)),
                id: span("uuid"),
                parent: span("parentUuid"),
                ..whole
            }),
            Format::Pi => {
                let home = Home { id: span("id"), parent: span("parentId"), ..whole };
                Some(match span("message") {
                    Some(message) => Home { message, ..home },
                    // Entries of other kinds have their text where messages have theirs.
                    None => Home {
                        message: ["summary", "content"]
                            .iter()
                            .find_map(|name| self.member(name, span(name)?))?,
                        field: Some("message"),
                        kind: Some((span("type")?, Kind::Word("message"))),
                        ..home
                    },
                })
            }
            Format::Codex => Some(match span("payload") {
                Some(message) => {
                    Home { message, kind: Some((span("type")?, Kind::Word("response_item"))), ..whole }
                }
                None => whole,
            }),
            _ => Some(whole),
        }
    }

    // A field with its name.
    fn member(&self, name: &str, value: Span) -> Option<Span> {
        let before = self.text.get(..value.start)?;
        let start = before.trim_end().strip_suffix(':')?.trim_end().strip_suffix(&quote(name))?.len();
        Some(Span { start, end: value.end })
    }

    fn written(&self, message: &Message, old: Span) -> Option<String> {
        let dialect = match self.format {
            // pi's texts are written like Anthropic's.
            Format::Pi => Dialect::Anthropic,
            _ => self.dialect,
        };
        let mut json = encode_message(dialect, message).ok()?.into_iter().next()?;
        let tools_own = matches!(self.format, Format::Pi | Format::SweAgent);
        if let Some(old) = Node::new(&self.text, old).object().ok().flatten().filter(|_| tools_own) {
            for (key, value) in KEPT.iter().filter_map(|key| Some((key, old.get(key)?))) {
                json = format!("{},{}:{}}}", json.strip_suffix('}')?, quote(key), value.raw());
            }
        }
        Some(json)
    }
}

// An id of the same shape: its hexadecimal digits give way to those of a hash.
fn derived(id: &str, number: usize) -> String {
    let digits = ContentHash::of(format!("{id} {number}").as_bytes()).to_string();
    let mut digits = digits.chars().cycle();
    id.chars().map(|old| if old.is_ascii_hexdigit() { digits.next().unwrap_or(old) } else { old }).collect()
}
