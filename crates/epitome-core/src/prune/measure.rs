//! Sizes of blocks under marks, measured on messages at hand.

use super::edits::text_of;
use super::facts::TextFacts;
use super::mark::{Mark, Size, Sizes, Subject};
use super::render::render;
use crate::message::{Block, Message};
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
    fn now(&mut self, subject: &Subject<'_>) -> Size {
        let bytes = self.block(subject).map_or(0, |block| match block {
            Block::Thinking(thinking) => {
                json_bytes(&thinking.text) + thinking.signature.as_deref().map_or(0, json_bytes)
            }
            Block::RedactedThinking(opaque) => opaque.raw.as_str().len(),
            other => text_of(other).as_deref().map_or(0, json_bytes),
        });
        Size { tokens: subject.outline.tokens, bytes }
    }

    fn after(&mut self, subject: &Subject<'_>, mark: Mark) -> Size {
        let rendered = self.block(subject).and_then(|block| {
            render(mark, &text_of(block)?, subject.speaker, &TextFacts::of(subject.outline)?)
        });
        match rendered {
            Some(text) => Size { tokens: (self.count)(&text), bytes: json_bytes(&text) },
            None => self.now(subject),
        }
    }
}

/// The length of `text` as a JSON string, quotes included.
pub fn json_bytes(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).sum::<usize>() + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_bytes_agrees_with_serde() {
        for text in ["", "plain", "a \"quote\" \\ \n\t\r \u{8}\u{c}\u{1}\u{1f}\u{7f} é 漢 🙂"] {
            assert_eq!(json_bytes(text), serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }
}
