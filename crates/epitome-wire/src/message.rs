//! One message: its JSON in a dialect to a core message and back.

use epitome_core::{Block, Message};

use crate::dialect::Dialect;
use crate::error::WireError;
use crate::json::{JsonError, check, has_half};
use crate::layout::Layout;
use crate::node::{Node, field_string};
use crate::{anthropic, chat, responses};

/// Reads one message: an Anthropic or Chat message object, or a Responses input item.
///
/// The layout's spans count from the start of `json`. A role that the dialect does not know is the user's, and stands among the
/// unknown fields as it was written; blocks of unknown types are kept whole.
///
/// ```
/// use epitome_wire::{Dialect, decode_message};
///
/// let (message, layout) = decode_message(Dialect::Chat, r#"{"role":"user","content":"hello"}"#)?;
/// assert_eq!(message.blocks.len(), 1);
/// assert_eq!(layout.blocks[0].text.map(|span| span.len()), Some(r#""hello""#.len()));
/// # Ok::<(), epitome_wire::WireError>(())
/// ```
pub fn decode_message(dialect: Dialect, json: &str) -> Result<(Message, Layout), WireError> {
    let span = check(json)?;
    let node = Node::new(json, span);
    let (message, blocks) = match dialect {
        Dialect::Anthropic => anthropic::decode(node)?,
        Dialect::Chat => chat::decode(node)?,
        Dialect::Responses => responses::decode(node)?,
    };
    Ok((message, Layout { records: vec![span], blocks }))
}

/// The same of what a file holds, where a role that nobody knows and half a character are damage.
pub(crate) fn decode_known(dialect: Dialect, json: &str) -> Result<(Message, Layout), WireError> {
    let (message, layout) = decode_message(dialect, json)?;
    if let Some(role) = field_string(&message.extra, "role") {
        return Err(WireError::Role { dialect, role });
    }
    if has_half(json) {
        return Err(JsonError { at: 0, what: "string has a lone surrogate" }.into());
    }
    Ok((message, layout))
}

/// Writes one message compactly: as one JSON value or, where the dialect splits it, as several.
pub fn encode_message(dialect: Dialect, message: &Message) -> Result<Vec<String>, WireError> {
    match dialect {
        Dialect::Anthropic => Ok(vec![anthropic::encode(message)?]),
        Dialect::Chat => chat::encode(message),
        Dialect::Responses => responses::encode(message),
    }
}

/// A message in a dialect, without what the dialect has no way to write. Files of other tools hold such: thinking that was
/// withheld, in a file whose messages otherwise follow the rules of Chat Completions.
pub fn encode_expressible(dialect: Dialect, message: &Message) -> Result<Vec<String>, WireError> {
    match encode_message(dialect, message) {
        Err(WireError::Inexpressible { .. }) => {
            let alone = |block: &Block| Message { blocks: vec![block.clone()], ..message.clone() };
            let mut rest = message.clone();
            rest.blocks.retain(|block| encode_message(dialect, &alone(block)).is_ok());
            if rest.blocks.is_empty() { Ok(Vec::new()) } else { encode_message(dialect, &rest) }
        }
        written => written,
    }
}
