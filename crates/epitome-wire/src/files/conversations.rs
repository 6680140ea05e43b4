//! Files of one conversation a line: a line at a time, with whatever stands between conversations kept.

use super::error::{Damaged, FileError};
use super::format::Format;
use super::input::InputLine;
use super::lines::objects;
use super::log::{Damage, Log};
use super::plain;
use super::transcript::Transcript;
use crate::json::{Kind, Span};
use crate::node::Node;

/// Lines that hold no conversation: they belong to the one before them or, at the start, to the one after.
#[derive(Default)]
pub(super) struct Between {
    text: String,
    damage: Vec<Damaged>,
    lines: usize,
}

impl Between {
    /// Moves all to the end of `transcript`.
    pub(super) fn append_to(&mut self, transcript: &mut Transcript) {
        let between = std::mem::take(self);
        transcript.text.push_str(&between.text);
        transcript.damage.extend(between.damage);
    }
}

/// The conversations on `line`, the first of which takes what is `between`; a line without any goes there.
pub(super) fn read_line(
    between: &mut Between,
    line: InputLine,
    mode: Damage,
) -> Result<Vec<Transcript>, FileError> {
    let mut log = Log::new(&line.text, line.number, mode);
    let mut found: Vec<Span> = Vec::new();
    for object in objects(&line.text, &mut log)? {
        match is_conversation(Node::new(&line.text, object.span)) {
            true => found.push(object.span),
            false => log.report(object.span.start, "no conversation: it has no messages")?,
        }
    }
    between.damage.extend(line.damage);
    between.damage.extend(log.into_damage());
    if found.is_empty() {
        between.text.push_str(&line.text);
        between.lines += 1;
        return Ok(Vec::new());
    }
    let mut read = Vec::new();
    for (place, object) in found.iter().enumerate() {
        let before = std::mem::take(between);
        let start = if place == 0 { 0 } else { object.start };
        let end = found.get(place + 1).map_or(line.text.len(), |next| next.start);
        let own = Span {
            start: before.text.len() + object.start - start,
            end: before.text.len() + object.end - start,
        };
        let text = before.text + (Span { start, end }).of(&line.text);
        let mut log = Log::new(&text, line.number - before.lines, mode);
        let (assembly, dialect) = plain::read(&text, Node::new(&text, own), Format::Conversations, &mut log)?;
        let mut damage = before.damage;
        damage.extend(log.into_damage());
        read.push(assembly.finish(Format::Conversations, dialect, text, damage));
    }
    Ok(read)
}

fn is_conversation(node: Node<'_>) -> bool {
    let Ok(Some(object)) = node.object() else { return false };
    let kind_of = |key| object.get(key).and_then(|node| node.kind());
    kind_of("messages") == Some(Kind::Array) || matches!(kind_of("input"), Some(Kind::Array | Kind::String))
}
