//! Where a message and its blocks stand in the text they were read from.

use epitome_core::tokens::Counter;
use epitome_core::{Message, Outline};

use crate::json::Span;

/// Where a message stands in its text.
///
/// Read from a body, spans count from the start of the message, so that equal messages share one
/// layout; read from a file, they count from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// The message; several spans where a file spreads one message over several records.
    pub records: Vec<Span>,
    /// Its blocks, one for one with `Message::blocks`.
    pub blocks: Vec<BlockLayout>,
}

impl Layout {
    /// Reads and counts the message that is written like this.
    pub fn outline(&self, message: &Message, counter: &Counter) -> Outline {
        let bytes = self.records.iter().map(Span::len).sum();
        // A block that is removed takes a comma along.
        let bytes_of = |place: &BlockLayout| place.text.map_or(place.block.len() + 1, |text| text.len());
        let blocks = self.blocks.iter().map(bytes_of);
        Outline::of(message, counter, bytes).written_in(blocks)
    }
}

/// Where a block stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BlockLayout {
    /// The block; the whole content where the content is a bare string.
    pub block: Span,
    /// The JSON value that holds its text: what an edit replaces by a JSON string.
    ///
    /// For a text block its string, for a tool result its content (string or array). `None` for blocks
    /// that have no such value and cannot be edited.
    pub text: Option<Span>,
}
