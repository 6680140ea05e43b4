//! A request body: where its messages stand, and the same body with some of them changed.
//!
//! Scanning is one pass over the bytes and builds nothing but spans. Writing copies: what was not named
//! in an edit keeps its bytes, the fields around the messages included.

mod resume;

use std::borrow::Cow;

use epitome_core::{Message, Role};

use crate::anthropic;
use crate::dialect::Dialect;
use crate::draft::Draft;
use crate::edit::{Edit, splice_edits};
use crate::error::WireError;
use crate::json::{Cursor, Kind, Span, Splice, string};
use crate::layout::Layout;
use crate::message::encode_message;
use crate::node::Node;

pub use resume::{Scan, common_prefix};

/// A request body, scanned.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    dialect: Dialect,
    text: &'a str,
    fields: Vec<(Cow<'a, str>, Span)>,
    list: Option<Span>,
    messages: Vec<Span>,
}

/// A part of the message list that [`Body::encode`] writes.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// The message with this number, byte for byte.
    Keep(usize),
    /// The message with this number, with some of its blocks changed and all other bytes kept.
    ///
    /// It is dropped where the edits remove a block that is the whole message.
    Edit {
        /// Its number.
        message: usize,
        /// Where its blocks stand, counted from its start.
        layout: &'a Layout,
        /// What becomes of them.
        edits: &'a [(usize, Edit)],
    },
    /// A message that the body does not have yet.
    New(&'a Message),
}

impl<'a> Body<'a> {
    /// Finds where everything stands, in one pass. Values are not checked beyond their structure.
    pub fn scan(dialect: Dialect, text: &'a str) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(text);
        let mut body = Self { dialect, text, fields: Vec::new(), list: None, messages: Vec::new() };
        if cursor.peek()? != Kind::Object {
            return Err(body.shape("body is not an object", cursor.position()));
        }
        cursor.enter_object()?;
        body.scan_fields(&mut cursor)?;
        Ok(body)
    }

    fn shape(&self, what: &'static str, at: usize) -> WireError {
        WireError::Shape { dialect: self.dialect, what, at }
    }

    // From behind a field, or from the opening bracket, to the end.
    fn scan_fields(&mut self, cursor: &mut Cursor<'a>) -> Result<(), WireError> {
        while let Some(key) = cursor.next_member()? {
            let span = match (key == list_field(self.dialect), cursor.peek()?) {
                (true, Kind::Array) => {
                    let start = cursor.position();
                    cursor.enter_array()?;
                    self.messages.clear();
                    self.scan_list(start, cursor)?
                }
                (true, Kind::String) if self.dialect == Dialect::Responses => {
                    let span = cursor.skip()?;
                    self.messages = vec![span];
                    self.list = Some(span);
                    span
                }
                (true, _) => return Err(self.shape("messages are not an array", cursor.position())),
                (false, _) => cursor.skip()?,
            };
            self.fields.push((key, span));
        }
        cursor.finish()?;
        // A Responses body may leave all input to state that the provider holds.
        if self.list.is_none() && self.dialect != Dialect::Responses {
            return Err(self.shape("body has no messages", self.text.len()));
        }
        Ok(())
    }

    // From behind a message, or from the opening bracket at `start`, to the end of the list.
    fn scan_list(&mut self, start: usize, cursor: &mut Cursor<'a>) -> Result<Span, WireError> {
        while cursor.next_element()? {
            self.messages.push(cursor.skip()?);
        }
        let span = Span { start, end: cursor.position() };
        self.list = Some(span);
        Ok(span)
    }

    /// The dialect it was scanned as.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Where its messages stand.
    pub fn messages(&self) -> &[Span] {
        &self.messages
    }

    /// The JSON of a message; empty if there is none of this number.
    pub fn message(&self, index: usize) -> &'a str {
        self.messages.get(index).map(|span| span.of(self.text)).unwrap_or_default()
    }

    /// The JSON of a top-level field. Of duplicates the last counts.
    pub fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().rev().find(|(key, _)| key == name).map(|(_, span)| span.of(self.text))
    }

    /// The operator's instructions that stand outside the messages: `system` or `instructions`.
    ///
    /// Chat Completions has none: there they are the leading messages.
    pub fn system(&self) -> Result<Option<Message>, WireError> {
        let Some(json) = self.system_text() else { return Ok(None) };
        let node = Node::new(json, Span { start: 0, end: json.len() });
        let content = anthropic::content(node)?;
        Ok(content
            .map(|content| Message::new(Role::System, content.blocks))
            .filter(|system| !system.blocks.is_empty()))
    }

    /// The JSON of these instructions.
    pub fn system_text(&self) -> Option<&'a str> {
        match self.dialect {
            Dialect::Anthropic => self.field("system"),
            Dialect::Responses => self.field("instructions"),
            Dialect::Chat => None,
        }
    }

    /// The JSON of other fields that the provider's cache depends on, by their names: whoever changes one of them has what was
    /// cached of the messages read anew, or is sent where it is not.
    pub fn cache_fields(&self) -> impl Iterator<Item = (&'static str, &'a str)> + '_ {
        let names: &[&'static str] = match self.dialect {
            Dialect::Anthropic => &["thinking", "tool_choice"],
            Dialect::Chat => &["tool_choice", "parallel_tool_calls", "reasoning_effort", "prompt_cache_key"],
            Dialect::Responses => &["tool_choice", "parallel_tool_calls", "reasoning", "prompt_cache_key"],
        };
        names.iter().filter_map(|name| Some((*name, self.field(name)?)))
    }

    /// The JSON of the tools that the model may call.
    pub fn tools_text(&self) -> Option<&'a str> {
        self.field("tools")
    }

    /// The model.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        let json = self.field("model")?;
        string(json, Span { start: 0, end: json.len() }).ok()
    }

    /// The most tokens that the reply may have.
    pub fn max_tokens(&self) -> Option<u64> {
        let names: &[&str] = match self.dialect {
            Dialect::Anthropic => &["max_tokens"],
            Dialect::Chat => &["max_completion_tokens", "max_tokens"],
            Dialect::Responses => &["max_output_tokens"],
        };
        names.iter().find_map(|name| self.field(name)?.parse().ok())
    }

    /// Whether the reply is to be streamed.
    pub fn stream(&self) -> bool {
        self.field("stream") == Some("true")
    }

    /// The body with these messages. All of them kept, in order, gives the same bytes again.
    pub fn encode(&self, pieces: &[Piece<'_>]) -> Result<String, WireError> {
        let Some(list) = self.list else {
            return match pieces {
                [] => Ok(self.text.to_owned()),
                _ => Err(WireError::NoMessages { field: list_field(self.dialect) }),
            };
        };
        let mut out = String::with_capacity(self.text.len() + 256);
        if Kind::of(list.of(self.text)) == Some(Kind::String) {
            self.write_bare(list, pieces, &mut out)?;
            return Ok(out);
        }
        let inner = Span { start: list.start + 1, end: list.end - 1 };
        let head = self.messages.first().map_or(inner.end, |first| first.start);
        let tail = self.messages.last().map_or(inner.end, |last| last.end);
        out.push_str(Span { start: 0, end: head }.of(self.text));
        self.write_pieces(pieces, &mut out)?;
        out.push_str(Span { start: tail, end: self.text.len() }.of(self.text));
        Ok(out)
    }

    fn write_pieces(&self, pieces: &[Piece<'_>], out: &mut String) -> Result<(), WireError> {
        let mut first = true;
        let mut pieces = pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            match *piece {
                Piece::Keep(index) => {
                    // A run of kept messages is one stretch of the text.
                    let mut last = index;
                    while let Some(Piece::Keep(next)) = pieces.peek()
                        && next.checked_sub(1) == Some(last)
                    {
                        last = *next;
                        pieces.next();
                    }
                    let (start, end) = (self.span(index)?.start, self.span(last)?.end);
                    out.push_str(self.separator(index, first));
                    out.push_str(Span { start, end }.of(self.text));
                    first = false;
                }
                Piece::Edit { message, layout, edits } => {
                    let span = self.span(message)?;
                    if drops_message(layout, edits) {
                        continue;
                    }
                    out.push_str(self.separator(message, first));
                    write_edited(span.of(self.text), layout, edits, out);
                    first = false;
                }
                Piece::New(message) => {
                    for json in encode_message(self.dialect, message)? {
                        if !std::mem::take(&mut first) {
                            out.push(',');
                        }
                        out.push_str(&json);
                    }
                }
            }
        }
        Ok(())
    }

    // What stands before a message in the list: nothing at its start, else what stood there before.
    fn separator(&self, index: usize, first: bool) -> &'a str {
        let before = index.checked_sub(1).and_then(|before| self.messages.get(before));
        match (first, before, self.messages.get(index)) {
            (true, ..) => "",
            (false, Some(before), Some(span)) => Span { start: before.end, end: span.start }.of(self.text),
            (false, ..) => ",",
        }
    }

    fn span(&self, index: usize) -> Result<Span, WireError> {
        let count = self.messages.len();
        self.messages.get(index).copied().ok_or(WireError::NoSuchMessage { index, count })
    }

    // An `input` that is a bare string stays one as long as it is the only message.
    fn write_bare(&self, input: Span, pieces: &[Piece<'_>], out: &mut String) -> Result<(), WireError> {
        out.push_str(Span { start: 0, end: input.start }.of(self.text));
        let mut messages = Vec::new();
        for piece in pieces {
            match *piece {
                Piece::Keep(index) => messages.push(self.span(index)?.of(self.text).to_owned()),
                Piece::Edit { message, layout, edits } => {
                    let json = self.span(message)?.of(self.text);
                    if drops_message(layout, edits) {
                        continue;
                    }
                    let mut edited = String::new();
                    write_edited(json, layout, edits, &mut edited);
                    messages.push(edited);
                }
                Piece::New(message) => messages.extend(encode_message(self.dialect, message)?),
            }
        }
        match messages.as_slice() {
            [only] if Kind::of(only) == Some(Kind::String) => out.push_str(only),
            _ => out.push_str(&crate::draft::array(
                &messages.iter().map(|json| as_item(json)).collect::<Vec<_>>(),
            )),
        }
        out.push_str(Span { start: input.end, end: self.text.len() }.of(self.text));
        Ok(())
    }
}

fn as_item(json: &str) -> String {
    match Kind::of(json) {
        Some(Kind::String) => {
            Draft::new().string("type", "message").string("role", "user").raw("content", json).end()
        }
        _ => json.to_owned(),
    }
}

fn write_edited(json: &str, layout: &Layout, edits: &[(usize, Edit)], out: &mut String) {
    let mut splice = Splice::new();
    splice_edits(json, layout, 0, edits, &mut splice);
    splice.write(json, Span { start: 0, end: json.len() }, out);
}

fn drops_message(layout: &Layout, edits: &[(usize, Edit)]) -> bool {
    edits.iter().any(|(block, edit)| {
        let whole =
            layout.blocks.get(*block).is_some_and(|place| layout.records.first() == Some(&place.block));
        whole && *edit == Edit::Remove
    })
}

fn list_field(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Responses => "input",
        _ => "messages",
    }
}
