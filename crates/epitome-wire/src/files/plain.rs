//! Request bodies, lists of messages, and lines of either: files whose messages are those of a dialect.

use std::borrow::Cow;

use epitome_core::{Message, Role};

use super::assembly::Assembly;
use super::error::FileError;
use super::format::Format;
use super::lines::{byte_order_mark, objects_of};
use super::log::Log;
use super::record::{Cut, Record};
use super::time::time;
use crate::decode_message;
use crate::error::WireError;
use crate::json::{Cursor, Kind};
use crate::message::decode_known;
use crate::node::{Node, Object};
use crate::{dialect::Dialect, layout::BlockLayout};

/// The one JSON value that `text` is.
pub(super) fn root<'a>(text: &'a str, log: &mut Log<'_>) -> Result<Node<'a>, FileError> {
    let mut cursor = Cursor::starting_at(text, byte_order_mark(text));
    let span =
        cursor.skip().map_err(|error| FileError::NotJson(log.place(error.at, error.what.to_owned())))?;
    if let Err(error) = cursor.finish() {
        log.report(error.at, error.what)?;
    }
    Ok(Node::new(text, span))
}

/// Reads a body or a list of messages.
pub(super) fn read(
    text: &str,
    root: Node<'_>,
    format: Format,
    log: &mut Log<'_>,
) -> Result<(Assembly, Dialect), FileError> {
    let wrong = |reason| FileError::WrongFormat { format, reason };
    let mut assembly = Assembly::default();
    if root.kind() == Some(Kind::Array) {
        let elements = root.array().ok().flatten().unwrap_or_default();
        let dialect = dialect(&elements);
        messages(&elements, dialect, log, &mut assembly)?;
        return Ok((assembly, dialect));
    }
    let object = root.object().ok().flatten().ok_or(wrong("neither an object nor an array"))?;
    let list = object.get("messages").or_else(|| object.get("input")).ok_or(wrong("it has no messages"))?;
    let elements =
        list.array().map_err(|error| FileError::NotJson(log.place(error.at, error.what.to_owned())))?;
    let dialect = match format {
        Format::Anthropic => Dialect::Anthropic,
        Format::Chat => Dialect::Chat,
        Format::Responses => Dialect::Responses,
        _ => Dialect::detect(root.raw()).unwrap_or(Dialect::Chat),
    };
    outside(text, &object, &mut assembly);
    match (elements, list.string()) {
        (Some(elements), _) => messages(&elements, dialect, log, &mut assembly)?,
        (None, Ok(Some(input))) => {
            let layout = BlockLayout { block: list.span, text: Some(list.span) };
            assembly.append(None, Message::text(Role::User, input), vec![layout]);
        }
        _ => return Err(wrong("its messages are not an array")),
    }
    Ok((assembly, dialect))
}

/// Reads one message a line.
pub(super) fn read_lines(text: &str, log: &mut Log<'_>) -> Result<(Assembly, Dialect), FileError> {
    let lines = objects_of(Format::MessagesJsonl, text, log)?;
    let nodes: Vec<Node<'_>> = lines.iter().map(|line| Node::new(text, line.span)).collect();
    let dialect = dialect(&nodes);
    let mut assembly = Assembly::default();
    for (line, node) in lines.iter().zip(nodes) {
        let record = Record { span: line.span, cut: line.cut, ..Record::default() };
        message(node, dialect, record, log, &mut assembly)?;
    }
    Ok((assembly, dialect))
}

/// The message that `node` is, and where its blocks stand in the whole text.
pub(super) fn element(dialect: Dialect, node: Node<'_>) -> Result<(Message, Vec<BlockLayout>), WireError> {
    let (message, layout) = decode_known(dialect, node.raw())?;
    let base = node.span.start;
    let shift = |place: BlockLayout| BlockLayout {
        block: place.block.shifted(base),
        text: place.text.map(|text| text.shifted(base)),
    };
    Ok((message, layout.blocks.into_iter().map(shift).collect()))
}

fn messages(
    elements: &[Node<'_>],
    dialect: Dialect,
    log: &mut Log<'_>,
    assembly: &mut Assembly,
) -> Result<(), FileError> {
    for node in elements {
        let record = Record { span: node.span, cut: Cut::Element, ..Record::default() };
        message(*node, dialect, record, log, assembly)?;
    }
    Ok(())
}

fn message(
    node: Node<'_>,
    dialect: Dialect,
    record: Record,
    log: &mut Log<'_>,
    assembly: &mut Assembly,
) -> Result<(), FileError> {
    let number = assembly.record(record);
    match element(dialect, node) {
        Ok((mut message, layouts)) => {
            if let Ok(Some(object)) = node.object() {
                message.meta.time =
                    ["timestamp", "created_at", "time"].iter().find_map(|key| object.get(key).and_then(time));
            }
            assembly.append(Some(number), message, layouts);
        }
        Err(error) => log.report(node.span.start, error.to_string())?,
    }
    Ok(())
}

// What stands beside the messages: the id, the model, the system prompt and the tools.
fn outside(text: &str, object: &Object<'_>, assembly: &mut Assembly) {
    let string = |key| object.get(key)?.string().ok().flatten().map(Cow::into_owned);
    assembly.id = string("id");
    assembly.model = string("model");
    assembly.tools = object.get("tools").filter(|tools| !tools.is_null()).map(|tools| tools.raw_json());
    let system =
        object.get("system").or_else(|| object.get("instructions")).filter(|system| !system.is_null());
    assembly.system = system.and_then(|system| self::system(system.span.of(text)));
}

// A system prompt is written like the content of a message, so it is read as one.
fn system(content: &str) -> Option<Message> {
    let message = format!(r#"{{"role":"system","content":{content}}}"#);
    let (message, _) = decode_message(Dialect::Anthropic, &message).ok()?;
    (!message.blocks.is_empty()).then_some(message)
}

/// The dialect of messages that stand alone; plain text without any telling field counts as Chat.
pub(super) fn dialect(messages: &[Node<'_>]) -> Dialect {
    messages.iter().find_map(|node| Dialect::of_message(node.raw())).unwrap_or(Dialect::Chat)
}

#[cfg(test)]
mod tests {
    use super::super::{ReadOptions, read_all};

    #[test]
    fn a_body_names_its_model() {
        let user = r#"[{"role":"user","content":"hello"}]"#;
        let cases = [
            (
                format!(r#"{{"model":"claude-opus-4-5","max_tokens":9,"system":"s","messages":{user}}}"#),
                Some("claude-opus-4-5"),
            ),
            (format!(r#"{{"model":"gpt-5.5","messages":{user}}}"#), Some("gpt-5.5")),
            (format!(r#"{{"model":"gpt-5.5","input":{user}}}"#), Some("gpt-5.5")),
            (format!(r#"{{"model":"one","messages":{user},"model":"two"}}"#), Some("two")),
            (format!(r#"{{"model":7,"messages":{user}}}"#), None),
            (user.to_owned(), None),
        ];
        for (text, expected) in cases {
            let read = read_all(text.as_bytes(), ReadOptions::default()).unwrap();
            assert_eq!(read[0].model.as_deref(), expected, "{text}");
        }
    }
}
