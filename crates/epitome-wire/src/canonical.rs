//! The canonical form of a message: what is the same message must have the same form, however it was written.
//!
//! Clients repeat a conversation with every request, and not always in the same bytes. The form holds the role and all content; it
//! does not hold what says nothing about the message: the order of keys, white space and escapes, fields that are null,
//! `cache_control`, and whether a lone text stands in a block or as a bare string. Meta data (ids of records, times, usage) are no
//! part of a message and so no part of the form.
//!
//! What tools are called with is content to the last null: there only key order, white space and escapes do not count.

use std::collections::BTreeMap;

use epitome_core::{Block, ContentHash, Fields, Media, MediaSource, Message, Opaque};

use crate::dialect::Dialect;
use crate::json::{Kind, Span, elements, members, quote, string};
use crate::message::decode_message;

/// Values nested deeper than this are taken as they are written.
const DEEPEST: usize = 64;

/// Fields of the protocol that say nothing about the content.
const IGNORED: &str = "cache_control";

/// The hash of the message's canonical form.
///
/// ```
/// use epitome_wire::{Dialect, canonical_digest, decode_message};
///
/// let digest = |json| decode_message(Dialect::Anthropic, json).map(|(message, _)| canonical_digest(&message));
/// let bare = digest(r#"{"role":"user","content":"hello"}"#)?;
/// let block = digest(r#"{"content":[{"text":"hello","type":"text","cache_control":{"type":"ephemeral"}}],"role":"user"}"#)?;
/// assert_eq!(bare, block);
/// assert_ne!(bare, digest(r#"{"role":"assistant","content":"hello"}"#)?);
/// # Ok::<(), epitome_wire::WireError>(())
/// ```
pub fn canonical_digest(message: &Message) -> ContentHash {
    let mut form = Form::default();
    form.list(|form| {
        form.text(&message.role.to_string());
        form.list(|form| message.blocks.iter().for_each(|block| form.block(block)));
        form.fields(&message.extra);
    });
    ContentHash::of(form.0.as_bytes())
}

/// The hash of the canonical form of a message as a provider's dialect writes it.
///
/// The dialect is told by the message itself, so that the same bytes have the same digest wherever they are found. What is no
/// message of any dialect is its own canonical form.
pub fn digest_of_json(json: &str) -> ContentHash {
    digest_in(Dialect::of_message(json).unwrap_or(Dialect::Chat), json)
}

/// The same of a message that was read already, which is read again only where it tells another dialect than it was read in.
pub fn digest_of_decoded(json: &str, dialect: Dialect, message: &Message) -> ContentHash {
    match Dialect::of_message(json) {
        Some(told) if told == dialect => canonical_digest(message),
        None if is_plain(message) => canonical_digest(message),
        told => digest_in(told.unwrap_or(Dialect::Chat), json),
    }
}

// A role and a text are the same in every dialect.
fn is_plain(message: &Message) -> bool {
    let is_text = matches!(&*message.blocks, [Block::Text(text)] if text.extra.is_empty());
    is_text && message.extra.is_empty()
}

fn digest_in(dialect: Dialect, json: &str) -> ContentHash {
    match decode_message(dialect, json) {
        Ok((message, _)) => canonical_digest(&message),
        Err(_) => ContentHash::of(json.as_bytes()),
    }
}

/// Which members of objects count.
#[derive(Clone, Copy, PartialEq)]
enum Members {
    All,
    /// Those of the protocol that are neither null nor [`IGNORED`].
    Telling,
}

/// A canonical form as it grows: JSON without white space, every element followed by a comma.
#[derive(Default)]
struct Form(String);

impl Form {
    fn list(&mut self, fill: impl FnOnce(&mut Self)) {
        self.0.push('[');
        fill(self);
        self.0.push_str("],");
    }

    fn text(&mut self, text: &str) {
        self.0.push_str(&quote(text));
        self.0.push(',');
    }

    fn texts(&mut self, texts: &[&str]) {
        texts.iter().for_each(|text| self.text(text));
    }

    /// What is not understood, as it is; never taken for a string of JSON.
    fn raw(&mut self, text: &str) {
        self.0.push('!');
        self.text(text);
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.list(|form| text.into_iter().for_each(|text| form.text(text)));
    }

    fn block(&mut self, block: &Block) {
        self.list(|form| match block {
            Block::Text(text) => {
                form.text("text");
                form.text(&text.text);
                form.fields(&text.extra);
            }
            Block::ToolUse(call) | Block::ServerToolUse(call) => {
                form.text(if matches!(block, Block::ToolUse(_)) { "call" } else { "server-call" });
                form.text(&call.id);
                form.text(&call.name);
                form.json(&call.input, Members::All);
                form.fields(&call.extra);
            }
            Block::ToolResult(result) | Block::ServerToolResult(result) => {
                form.text(if matches!(block, Block::ToolResult(_)) { "result" } else { "server-result" });
                form.text(&result.call_id);
                form.maybe(result.name.as_deref());
                form.text(if result.is_error { "failed" } else { "" });
                form.list(|form| result.content.iter().for_each(|block| form.block(block)));
                form.fields(&result.extra);
            }
            Block::Image(media) => form.media("image", media),
            Block::Document(media) => form.media("document", media),
            Block::Thinking(thinking) => {
                form.text("thinking");
                form.text(&thinking.text);
                form.maybe(thinking.signature.as_deref());
                form.fields(&thinking.extra);
            }
            Block::RedactedThinking(opaque) => form.opaque("redacted-thinking", opaque),
            Block::Compaction(opaque) => form.opaque("compaction", opaque),
            Block::Unknown(opaque) => form.opaque("unknown", opaque),
            _ => form.text("other"),
        });
    }

    fn media(&mut self, kind: &str, media: &Media) {
        self.text(kind);
        match &media.source {
            MediaSource::Base64 { media_type, data } => self.texts(&["base64", media_type, data]),
            MediaSource::Url(url) => self.texts(&["url", url]),
            MediaSource::File(file) => self.texts(&["file", file]),
            MediaSource::Other(raw) => self.json(raw.as_str(), Members::Telling),
        }
        self.maybe(media.detail.as_deref());
        self.fields(&media.extra);
    }

    fn opaque(&mut self, kind: &str, opaque: &Opaque) {
        self.text(kind);
        self.json(opaque.raw.as_str(), Members::Telling);
    }

    fn fields(&mut self, fields: &Fields) {
        // Of duplicate keys the last counts, as in every provider's parser.
        let sorted: BTreeMap<&str, &str> =
            fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        self.list(|form| {
            for (key, value) in sorted.into_iter().filter(|(key, value)| tells(key, value)) {
                form.text(key);
                form.json(value, Members::Telling);
            }
        });
    }

    /// JSON without what does not count; text that is no JSON as it is.
    fn json(&mut self, json: &str, count: Members) {
        let start = self.0.len();
        let whole = crate::json::check(json).ok();
        if whole.is_none_or(|span| self.value(json, span, count, DEEPEST).is_none()) {
            self.0.truncate(start);
            self.raw(json);
        }
    }

    fn value(&mut self, text: &str, span: Span, count: Members, deepest: usize) -> Option<()> {
        let raw = span.of(text);
        match Kind::of(raw)? {
            _ if deepest == 0 => self.raw(raw),
            Kind::String => self.text(&string(text, span).ok()?),
            Kind::Array => {
                self.0.push('[');
                for element in elements(text, span) {
                    self.value(text, element.ok()?, count, deepest - 1)?;
                }
                self.0.push_str("],");
            }
            Kind::Object => {
                let sorted = members(text, span).collect::<Result<BTreeMap<_, _>, _>>().ok()?;
                self.0.push('{');
                let counting = |key: &str, span: Span| count == Members::All || tells(key, span.of(text));
                for (key, span) in sorted.into_iter().filter(|(key, span)| counting(key, *span)) {
                    self.text(&key);
                    self.value(text, span, count, deepest - 1)?;
                }
                self.0.push_str("},");
            }
            _ => {
                self.0.push_str(raw);
                self.0.push(',');
            }
        }
        Some(())
    }
}

fn tells(key: &str, value: &str) -> bool {
    key != IGNORED && value.trim() != "null"
}
