//! The content of a message or a tool result, which every dialect spells as a string or a list of blocks.

use epitome_core::Block;

use crate::error::WireError;
use crate::json::Span;
use crate::layout::BlockLayout;
use crate::node::Node;

/// Blocks and where they stand, one for one.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) blocks: Vec<Block>,
    pub(crate) layouts: Vec<BlockLayout>,
}

/// A block, and the value that an edit of its text replaces.
pub(crate) type Parsed = (Block, Option<Span>);

impl Content {
    /// Reads a string, a list of blocks or `null`; `None` if it is none of these.
    pub(crate) fn read(
        node: Node<'_>,
        block: impl Fn(Node<'_>) -> Result<Parsed, WireError>,
    ) -> Result<Option<Content>, WireError> {
        let mut content = Content::default();
        if let Some(text) = node.string()? {
            content.push(node.span, (Block::text(text), Some(node.span)));
        } else if let Some(elements) = node.array()? {
            for element in elements {
                content.push(element.span, block(element)?);
            }
        } else if !node.is_null() {
            return Ok(None);
        }
        Ok(Some(content))
    }

    pub(crate) fn push(&mut self, at: Span, (block, text): Parsed) {
        self.blocks.push(block);
        self.layouts.push(BlockLayout { block: at, text });
    }
}
