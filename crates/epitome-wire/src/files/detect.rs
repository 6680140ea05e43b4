//! Finding the format of a file from what stands in it.

use super::error::FileError;
use super::format::Format;
use super::lines::byte_order_mark;
use super::log::Log;
use crate::dialect::Dialect;
use crate::json::{Cursor, JsonError, Kind, Span};
use crate::node::{Node, Object};

/// How many lines are looked at before a file counts as unknown.
const LINES: usize = 200;

/// The format of the file that starts with `text`: all of it, or at least one object and what follows it.
///
/// Lines that are not JSON are passed over: whoever reads the file reports them.
pub(super) fn detect(text: &str) -> Result<Format, FileError> {
    let mut unknown: Option<String> = None;
    let mut start = byte_order_mark(text);
    if opens_document(text) && Cursor::starting_at(text, start).skip().is_ok() {
        return of_document(text, None);
    }
    let mut seen = 0;
    while start < text.len() && seen < LINES {
        let end = memchr::memchr(b'\n', text.as_bytes().get(start..).unwrap_or_default())
            .map_or(text.len(), |newline| start + newline + 1);
        let line = text.get(..end).unwrap_or_default();
        if !text.get(start..end).unwrap_or_default().trim().is_empty() {
            seen += 1;
            // Only a whole object on a line speaks for JSON lines.
            if let Ok(span) = Cursor::starting_at(line, start).skip()
                && Kind::of(span.of(text)) == Some(Kind::Object)
                && let Ok(Some(object)) = Node::new(text, span).object()
            {
                match of_object(Node::new(text, span), object, is_alone(text, span)) {
                    Some(format) => return Ok(format),
                    None => unknown = unknown.or_else(|| Some(described(Node::new(text, span)))),
                }
            }
        }
        start = end;
    }
    of_document(text, unknown)
}

/// Whether the line starts with a whole JSON object.
pub(super) fn holds_object(line: &str) -> bool {
    let start = byte_order_mark(line);
    let span = Cursor::starting_at(line, start).skip();
    span.is_ok_and(|span| Kind::of(span.of(line)) == Some(Kind::Object))
}

/// Whether the first line opens a JSON value and leaves it open, as documents do that are laid out over lines.
///
/// A line that breaks off inside a string is none of these: it was cut off.
pub(super) fn opens_document(text: &str) -> bool {
    let text = text.get(byte_order_mark(text)..).unwrap_or_default().trim_start();
    let line = text.lines().next().unwrap_or_default();
    let is_open = |error: JsonError| error.at >= line.len();
    line.starts_with(['{', '[']) && Cursor::new(line).skip().is_err_and(is_open)
}

// A JSON document over several lines, or an array.
fn of_document(text: &str, unknown: Option<String>) -> Result<Format, FileError> {
    let start = byte_order_mark(text);
    let mut cursor = Cursor::starting_at(text, start);
    let kind = cursor.peek();
    match (kind, unknown) {
        (Ok(Kind::Object), None) => {
            let span = cursor.skip().map_err(|error| not_json(text, error.at, error.what))?;
            let node = Node::new(text, span);
            let object = node.object().map_err(|error| not_json(text, error.at, error.what))?;
            object
                .and_then(|object| of_object(node, object, true))
                .ok_or_else(|| FileError::UnknownFormat(described(node)))
        }
        (Ok(Kind::Array), None) => {
            let span = cursor.skip().map_err(|error| not_json(text, error.at, error.what))?;
            let elements = Node::new(text, span).array().ok().flatten().unwrap_or_default();
            let is_message = |node: &Node<'_>| {
                let object = node.object().ok().flatten();
                object.is_some_and(|object| object.get("role").is_some() || object.get("type").is_some())
            };
            match elements.first() {
                Some(first) if !is_message(first) => {
                    Err(FileError::UnknownFormat(format!("an array of {}", described(*first))))
                }
                Some(_) => Ok(Format::Messages),
                None => Err(FileError::UnknownFormat("an empty array".to_owned())),
            }
        }
        (_, Some(first)) => Err(FileError::UnknownFormat(first)),
        (Ok(kind), None) => {
            let at = cursor.position();
            let what = match kind {
                Kind::String => "expected an object or an array, not a string",
                _ => "expected an object or an array",
            };
            Err(not_json(text, at, what))
        }
        (Err(error), None) => Err(not_json(text, error.at, error.what)),
    }
}

fn not_json(text: &str, at: usize, what: &str) -> FileError {
    let place = Log::new(text, 1, super::Damage::Stop).place(at, what.to_owned());
    FileError::NotJson(place)
}

fn is_list_of_items(object: &Object<'_>) -> bool {
    let items = object.get("input").and_then(|input| input.array().ok().flatten());
    let first = items.and_then(|items| items.first()?.object().ok().flatten());
    first.is_some_and(|first| first.get("role").is_some() || first.get("type").is_some())
}

// What the first object says about its file; `alone` if nothing else stands in the file.
fn of_object(node: Node<'_>, mut object: Object<'_>, alone: bool) -> Option<Format> {
    let has = |key: &str| object.get(key).is_some();
    let kind_of = |key: &str| object.get(key).and_then(|node| node.kind());
    if has("payload") && has("type") {
        return Some(Format::Codex);
    }
    if kind_of("history") == Some(Kind::Array) {
        return Some(Format::SweAgent);
    }
    if kind_of("messages") == Some(Kind::Array) {
        return Some(if alone { of_body(node, &object) } else { Format::Conversations });
    }
    if has("input") && (has("model") || has("instructions") || has("tools") || is_list_of_items(&object)) {
        return Some(if alone { Format::Responses } else { Format::Conversations });
    }
    let of_claude_code = ["parentUuid", "uuid", "leafUuid", "sessionId", "isSidechain", "isSnapshotUpdate"]
        .iter()
        .any(|key| has(key));
    let of_pi_entry = kind_of("message") == Some(Kind::Object) || has("thinkingLevel") || has("modelId");
    let of_first_codex_line = has("timestamp") && has("id") && (has("instructions") || has("git"));
    let is_message = has("role") && has("content");
    match object.string("type").ok().flatten().as_deref() {
        Some(_) if of_claude_code => Some(Format::ClaudeCode),
        Some("session") => Some(Format::Pi),
        Some("message") if !of_pi_entry => Some(Format::Codex),
        Some(_) if of_pi_entry => Some(Format::Pi),
        Some("reasoning" | "function_call" | "function_call_output" | "local_shell_call") => {
            Some(Format::Codex)
        }
        None if of_first_codex_line => Some(Format::Codex),
        _ if is_message || object.get("role").is_some() => Some(Format::MessagesJsonl),
        _ => None,
    }
}

/// The format whose line this object cannot but be; `None` where it could be of several.
///
/// Stricter than what finds a file's format: tools write lines of many kinds, and none of them may be taken for
/// another tool's.
pub(super) fn plain_format(line: Node<'_>) -> Option<Format> {
    let object = line.object().ok().flatten()?;
    let has = |key: &str| object.get(key).is_some();
    match has("type") {
        false => (has("role") && has("content")).then_some(Format::MessagesJsonl),
        true if has("payload") => Some(Format::Codex),
        true if has("parentUuid") && has("uuid") => Some(Format::ClaudeCode),
        true if has("parentId") && has("id") && has("message") => Some(Format::Pi),
        true => None,
    }
}

// A lone object with messages: a request where it names a model, else a list of messages.
fn of_body(node: Node<'_>, object: &Object<'_>) -> Format {
    match Dialect::detect(node.raw()).filter(|_| object.get("model").is_some()) {
        Some(Dialect::Anthropic) => Format::Anthropic,
        Some(Dialect::Chat) => Format::Chat,
        Some(Dialect::Responses) | None => Format::Messages,
    }
}

fn is_alone(text: &str, span: Span) -> bool {
    let before = text.get(byte_order_mark(text)..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    before.trim().is_empty() && after.trim().is_empty()
}

fn described(node: Node<'_>) -> String {
    let Ok(Some(object)) = node.object() else { return "not an object".to_owned() };
    let keys = object.rest();
    let names: Vec<&str> = keys.iter().take(6).map(|(key, _)| key.as_str()).collect();
    let names: String = names.join(", ").chars().take(120).collect();
    if keys.is_empty() { "an empty object".to_owned() } else { format!("an object with {names}") }
}
