//! Sizes of blocks under marks, measured on messages at hand.

use super::edits::{moved_breakpoint, text_of};
use super::facts::TextFacts;
use super::mark::{Mark, Size, Sizes, Subject};
use super::render::render;
use crate::message::{Block, Message, RawJson};
use crate::units::Tokens;

/// Measures blocks of `messages` with a function that counts a text's tokens.
#[derive(Debug)]
pub struct MessageSizes<'m, F> {
    messages: &'m [Message],
    count: F,
}

impl<'m, F: FnMut(&str) -> Tokens> MessageSizes<'m, F> {
    /// Sizes of these messages' blocks.
    pub fn new(messages: &'m [Message], count: F) -> Self {
        Self { messages, count }
    }

    fn block(&self, subject: &Subject<'_>) -> Option<&'m Block> {
        self.messages.get(subject.message)?.blocks.get(subject.block)
    }
}

impl<F: FnMut(&str) -> Tokens> Sizes for MessageSizes<'_, F> {
    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size {
        let rendered = self.block(subject).and_then(|block| {
            render(mark, &text_of(block)?, subject.speaker, &TextFacts::of(subject.outline)?)
        });
        let Some(text) = rendered else { return subject.size() };
        let moved =
            self.messages.get(subject.message).and_then(|message| moved_breakpoint(message, subject.block));
        let bytes = json_bytes(&text) + moved.map_or(0, field_bytes);
        Size { tokens: (self.count)(&text), bytes }
    }
}

/// The bytes of what pruning would replace in a block, where it is written without spaces and needless escapes.
pub(crate) fn compact_bytes(block: &Block) -> usize {
    let text = |block: &Block| text_of(block).as_deref().map_or(0, json_bytes);
    match block {
        Block::Thinking(thinking) => {
            json_bytes(&thinking.text) + thinking.signature.as_deref().map_or(0, json_bytes)
        }
        Block::RedactedThinking(opaque) => opaque.raw.as_str().len(),
        Block::ToolResult(result) => {
            let inner = result.content.iter().filter_map(|inner| match inner {
                Block::Text(text) => Some(&text.extra),
                _ => None,
            });
            text(block) + inner.flatten().map(field_bytes).sum::<usize>()
        }
        other => text(other),
    }
}

/// The length of a field in a JSON object, colon and comma included.
pub fn field_bytes((key, value): &(String, RawJson)) -> usize {
    json_bytes(key) + value.as_str().len() + 2
}

/// The length of `text` as a JSON string, quotes included.
pub fn json_bytes(text: &str) -> usize {
    // What escapes add is summed in bytes, a few letters at a time, so that many letters are compared at once.
    let added = |letters: &[u8]| usize::from(letters.iter().map(|byte| escape_bytes(*byte)).sum::<u8>());
    text.as_bytes().chunks(AT_ONCE).map(added).sum::<usize>() + text.len() + 2
}

/// So many letters add at most 255 bytes.
const AT_ONCE: usize = 32;

// What a letter is longer when it is escaped.
fn escape_bytes(byte: u8) -> u8 {
    let is_quoted = (byte == b'"') | (byte == b'\\');
    let is_control = byte < 0x20;
    let has_short_form = (0x08..=0x0d).contains(&byte) & (byte != 0x0b);
    u8::from(is_quoted) + 5 * u8::from(is_control) - 4 * u8::from(has_short_form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_bytes_agrees_with_serde() {
        let every: String = (0..=0x7f_u8).map(char::from).collect();
        let long = "\u{1}".repeat(1_000);
        for text in ["", "plain", "a \"quote\" \\ é 漢 🙂", &every, &long] {
            assert_eq!(json_bytes(text), serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }
}
