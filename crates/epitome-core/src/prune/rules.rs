//! The rules of pruning, one function each: the mark that a rule would put on a block.
//!
//! A rule looks at one block only. When it is a block's turn, and whether the mark pays, is decided by
//! the planner.

use super::mark::Mark;
use super::marker::{self, Label, PrunedForm};
use super::measure::json_bytes;
use super::settings::Settings;
use crate::hash::RecallId;
use crate::message::BlockKind;
use crate::outline::BlockOutline;
use crate::units::Chars;

/// Whether rules for tool results may touch this block at all.
///
/// Images say more than a marker can, and what a provider's own tool returned is sealed.
pub(crate) fn is_prunable_result(block: &BlockOutline, tool: &str, settings: &Settings) -> bool {
    block.kind == BlockKind::ToolResult
        && !block.has_media
        && block.recall.is_some()
        && !matches!(form(block), Some(PrunedForm::Cleared))
        && !settings.excludes(tool)
}

/// `tool_result_max_chars`: the result may be this long, its marker included.
pub(crate) fn cap(block: &BlockOutline, tool: &str, settings: &Settings) -> Option<Mark> {
    let cap = settings.tool_result_max_chars?;
    if block.chars <= cap {
        return None;
    }
    // No number in the marker has more digits than these, so the marker comes out no longer than this one.
    // A result just above the cap must lose more than the marker adds, in tokens and bytes, too.
    let label =
        Label { tool, chars: original_chars(block), error_tail: block.error_tail, recall: RecallId::of("") };
    let room = cap - Chars(3 * json_bytes(&marker::trimmed(cap, cap, &label)));
    let tail = Chars(room.0 / 2).max(settings.kept_error(block.error_tail)).min(room);
    trim(block, None, room - tail, tail)
}

/// `tool_soft_trim_chars`: head and tail of what is longer, as far as a cap left them.
pub(crate) fn soft_trim(block: &BlockOutline, capped: Option<Mark>, settings: &Settings) -> Option<Mark> {
    if original_chars(block) <= settings.tool_soft_trim_chars {
        return None;
    }
    let tail = settings.tool_soft_trim_tail.max(settings.kept_error(block.error_tail));
    trim(block, capped, settings.tool_soft_trim_head, tail)
}

/// `tool_hard_clear_after`: nothing but a marker, and the error at the end.
pub(crate) fn hard_clear(block: &BlockOutline, capped: Option<Mark>, settings: &Settings) -> Mark {
    let left = kept(block, capped).map_or(block.chars, |(_, tail)| tail);
    Mark::Clear { tail: settings.kept_error(block.error_tail).min(left) }
}

/// `max_message_chars`: the start of a longer text.
pub(crate) fn long_text(block: &BlockOutline, settings: &Settings) -> Option<Mark> {
    let keep = settings.max_message_chars?;
    let kept = match form(block) {
        Some(PrunedForm::Truncated { keep }) => keep,
        _ => block.chars,
    };
    (block.kind == BlockKind::Text && kept > keep).then_some(Mark::Truncate { keep })
}

// A trimmed text can be trimmed further, but what it lost it cannot give back.
fn trim(block: &BlockOutline, capped: Option<Mark>, head: Chars, tail: Chars) -> Option<Mark> {
    let Some((kept_head, kept_tail)) = kept(block, capped) else {
        return (head + tail < block.chars).then_some(Mark::Trim { head, tail });
    };
    let (head, tail) = (head.min(kept_head), tail.min(kept_tail));
    (head < kept_head || tail < kept_tail).then_some(Mark::Trim { head, tail })
}

// Head and tail of a text that has lost its middle: to the cap, or to an earlier pruning.
fn kept(block: &BlockOutline, capped: Option<Mark>) -> Option<(Chars, Chars)> {
    match (capped, form(block)) {
        (Some(Mark::Trim { head, tail }), _) | (_, Some(PrunedForm::Trimmed { head, tail })) => {
            Some((head, tail))
        }
        _ => None,
    }
}

fn form(block: &BlockOutline) -> Option<PrunedForm> {
    block.pruned.as_ref().map(|pruned| pruned.form)
}

fn original_chars(block: &BlockOutline) -> Chars {
    match &block.pruned {
        Some(pruned) if matches!(pruned.form, PrunedForm::Trimmed { .. }) => pruned.chars,
        _ => block.chars,
    }
}
