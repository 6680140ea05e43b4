//! Edits of messages that were read from text: splices that leave every other byte alone.

use epitome_core::prune::CACHE_CONTROL;

use epitome_core::prune::BlockEdit;

use crate::json::{Kind, Span, Splice, quote};
use crate::layout::{BlockLayout, Layout};
use crate::node::Node;

/// A change to one block of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Its text becomes this one: of a text block the text, of a tool result the whole content.
    Text(String),
    /// It is taken out; content that is a bare string becomes `null`. The caller sees to it that the
    /// message keeps at least one block.
    Remove,
    /// A plain text block with this text takes its place.
    Become(String),
}

/// The edits of one message: block numbers, ascending, and what becomes of each block.
pub type Edits = Vec<(usize, Edit)>;

/// A change that the core decided on, as a change of what is written.
pub fn from_core((block, edit): (usize, BlockEdit)) -> (usize, Edit) {
    match edit {
        BlockEdit::Text(text) => (block, Edit::Text(text)),
        BlockEdit::Remove => (block, Edit::Remove),
    }
}

/// Adds `edits` of the message with this layout, whose spans count from `base` in `text`, to `splice`.
///
/// An edit of a block that has no text of its own is ignored: there is nothing it could replace.
pub fn splice_edits(text: &str, layout: &Layout, base: usize, edits: &[(usize, Edit)], splice: &mut Splice) {
    let mut removed: Option<Span> = None;
    for (block, edit) in edits {
        let Some(place) = layout.blocks.get(*block) else { continue };
        match (edit, place.text) {
            (Edit::Text(new), Some(span)) => {
                let moved = moved_breakpoint(text, place, base).unwrap_or_default();
                splice.replace(span.shifted(base), quote(new) + &moved);
            }
            (Edit::Text(_), None) => {}
            (Edit::Become(new), _) => {
                let block = format!("{{\"type\":\"text\",\"text\":{}}}", quote(new));
                splice.replace(place.block.shifted(base), block);
            }
            (Edit::Remove, _) if is_member(text, place.block.shifted(base)) => {
                splice.replace(place.block.shifted(base), "null");
            }
            (Edit::Remove, _) => {
                let span = place.block.shifted(base);
                removed = match removed {
                    Some(run) if adjoin(text, run, span) => Some(Span { start: run.start, end: span.end }),
                    Some(run) => {
                        splice.replace(with_comma(text, run), "");
                        Some(span)
                    }
                    None => Some(span),
                };
            }
        }
    }
    if let Some(run) = removed {
        splice.replace(with_comma(text, run), "");
    }
}

/// What follows the new content of a tool result: the field of the cache breakpoint that stood inside the old one.
///
/// As in [`epitome_core::prune::moved_breakpoint`], only Anthropic's results take one over, and none that has its own.
pub(crate) fn moved_breakpoint(text: &str, place: &BlockLayout, base: usize) -> Option<String> {
    let (block, content) = (place.block.shifted(base), place.text?.shifted(base));
    if Kind::of(content.of(text)) != Some(Kind::Array) || !content.of(text).contains(CACHE_CONTROL) {
        return None;
    }
    let mut result = Node::new(text, block).object().ok()??;
    if result.string("type").ok()??.as_ref() != "tool_result" || result.get(CACHE_CONTROL).is_some() {
        return None;
    }
    let inner = Node::new(text, content).array().ok()??;
    let breakpoint = inner.into_iter().rev().find_map(|inner| {
        inner.object().ok()??.get(CACHE_CONTROL).filter(|breakpoint| !breakpoint.is_null())
    })?;
    Some(format!(",{}:{}", quote(CACHE_CONTROL), breakpoint.raw()))
}

// Content that is a bare string is no element of a list: its field stays and says that there is none.
fn is_member(text: &str, span: Span) -> bool {
    text.get(..span.start).is_some_and(|before| before.trim_end().ends_with(':'))
}

// Whether nothing but a comma stands between two elements of one array.
fn adjoin(text: &str, left: Span, right: Span) -> bool {
    Span { start: left.end, end: right.start }.of(text).trim() == ","
}

// A run of elements leaves its array together with one comma: the one after it or, at the end, the one before.
fn with_comma(text: &str, run: Span) -> Span {
    let (before, after) =
        (Span { start: 0, end: run.start }.of(text), Span { start: run.end, end: text.len() }.of(text));
    if let Some(rest) = after.trim_start().strip_prefix(',') {
        return Span { start: run.start, end: text.len() - rest.trim_start().len() };
    }
    match before.trim_end().strip_suffix(',') {
        Some(rest) => Span { start: rest.len(), end: run.end },
        None => run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::elements;

    fn without(text: &str, removed: &[usize]) -> String {
        let blocks = elements(text, Span::default())
            .map(|span| BlockLayout { block: span.unwrap(), text: None })
            .collect();
        let layout = Layout { records: vec![], blocks };
        let mut splice = Splice::new();
        let edits: Edits = removed.iter().map(|block| (*block, Edit::Remove)).collect();
        splice_edits(text, &layout, 0, &edits, &mut splice);
        let mut out = String::new();
        splice.write(text, Span { start: 0, end: text.len() }, &mut out);
        out
    }

    #[test]
    fn a_removed_element_takes_one_comma_along() {
        assert_eq!(without("[1, 2, 3]", &[0]), "[2, 3]");
        assert_eq!(without("[1, 2, 3]", &[1]), "[1, 3]");
        assert_eq!(without("[1, 2 , 3 ]", &[2]), "[1, 2  ]");
        assert_eq!(without("[1,2,3]", &[0, 1]), "[3]");
        assert_eq!(without("[1,2,3]", &[1, 2]), "[1]");
        assert_eq!(without("[1,2,3,4]", &[0, 2]), "[2,4]");
        assert_eq!(without("[ 1 ]", &[0]), "[  ]");
    }
}
