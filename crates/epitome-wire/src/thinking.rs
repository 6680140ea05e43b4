//! Messages without their thinking, for models that bind it to all that stands before.
//!
//! Once history was rewritten, such a model refuses the thinking behind the rewriting; all of it goes, or none. Which models do
//! so is what [`epitome_core::models::ThinkingBinding`] says.

use epitome_core::{Block, Message};

use crate::dialect::Dialect;
use crate::edit::{Edit, Edits, splice_edits};
use crate::json::{Span, Splice};
use crate::layout::Layout;
use crate::message::decode_message;

/// Whether a message holds thinking, readable or not. What cannot be read holds none.
pub fn has_thinking(dialect: Dialect, json: &str) -> bool {
    read(dialect, json).is_some_and(|(message, _)| message.blocks.iter().any(is_thinking))
}

/// A message without its thinking, every other byte kept; `None` where nothing is left that could be sent.
///
/// ```
/// use epitome_wire::{Dialect, strip_thinking};
///
/// let json = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}, {"type":"text","text":"Yes."}]}"#;
/// let bare = strip_thinking(Dialect::Anthropic, json);
/// assert_eq!(bare.as_deref(), Some(r#"{"role":"assistant","content":[{"type":"text","text":"Yes."}]}"#));
/// ```
pub fn strip_thinking(dialect: Dialect, json: &str) -> Option<String> {
    let Some((message, layout)) = read(dialect, json) else { return Some(json.to_owned()) };
    let blocks = message.blocks.iter().enumerate();
    let edits: Edits =
        blocks.filter(|(_, block)| is_thinking(block)).map(|(at, _)| (at, Edit::Remove)).collect();
    if edits.is_empty() {
        return Some(json.to_owned());
    }
    if message.blocks.iter().all(|block| is_thinking(block) || is_blank(block)) {
        return None;
    }
    let mut splice = Splice::new();
    splice_edits(json, &layout, 0, &edits, &mut splice);
    let mut out = String::with_capacity(json.len());
    splice.write(json, Span { start: 0, end: json.len() }, &mut out);
    Some(out)
}

// Most messages are not the assistant's; a look at the bytes spares their reading.
fn read(dialect: Dialect, json: &str) -> Option<(Message, Layout)> {
    let may_think = json.contains("thinking") || json.contains("reasoning") || json.contains("\\u");
    may_think.then(|| decode_message(dialect, json).ok())?
}

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking(_) | Block::RedactedThinking(_))
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.text.trim().is_empty())
}
