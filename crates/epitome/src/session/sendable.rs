//! What a provider would refuse is mended in what is sent: calls that nobody answered, and messages without a word.
//!
//! What is recorded stays as it is. The same messages are mended in the same way whenever they are written, so that a view can be
//! seen again byte for byte.

use std::collections::HashSet;

use epitome_core::{Block, BlockKind, Fields, Message, Outline, Role, ToolResult};
use epitome_wire::{Dialect, decode_message, encode_message};

use super::shown::{Sent, Writer};
use crate::error::Result;

/// What stands in place of a result that never came.
const INTERRUPTED: &str = "[there is no result: the work was interrupted before this call ended]";
/// Only a message of so few tokens can be without a word.
const SHORT: u64 = 16;

/// The messages with what a provider wants of them.
pub(crate) fn sendable(sent: Vec<Sent>, writer: &Writer<'_>) -> Result<Vec<Sent>> {
    let results: HashSet<String> =
        sent.iter().flat_map(|sent| ids(&sent.outline, BlockKind::ToolResult)).map(str::to_owned).collect();
    let mut mended = Vec::with_capacity(sent.len());
    let mut open: Vec<String> = Vec::new();
    for sent in sent {
        if is_blank(&sent.outline, &sent.json, writer.dialect) {
            continue;
        }
        if sent.role() != Role::Assistant && !open.is_empty() {
            let mut answer = Message::new(Role::User, open.drain(..).map(interrupted).collect());
            // Where roles take turns, results stand in front of what the user says.
            let joins = writer.dialect == Dialect::Anthropic && sent.role() == Role::User;
            if joins {
                let (said, _) = decode_message(writer.dialect, &sent.json)?;
                answer.blocks.extend(said.blocks);
                answer.extra = said.extra;
            }
            let ordinal = sent.ordinal.filter(|_| joins);
            for json in encode_message(writer.dialect, &answer)? {
                mended.push(writer.counted(json, ordinal)?);
            }
            if joins {
                continue;
            }
        }
        let calls = ids(&sent.outline, BlockKind::ToolUse).filter(|id| !results.contains(*id));
        open.extend(calls.map(str::to_owned));
        mended.push(sent);
    }
    Ok(mended)
}

/// Whether more behind what is sent would leave a call without a result, or bring one that nobody expected any longer.
pub(crate) fn breaks_off(sent: &[Sent], more: &[&Outline]) -> bool {
    let results: HashSet<&str> =
        more.iter().flat_map(|outline| ids(outline, BlockKind::ToolResult)).collect();
    let last = sent.iter().rev().take_while(|sent| sent.role() == Role::Assistant);
    let mut calls = last.flat_map(|sent| ids(&sent.outline, BlockKind::ToolUse));
    let is_answer = more.iter().any(|outline| outline.role != Role::Assistant);
    // A result that comes late has the place where it was said to be missing.
    let is_late = || {
        sent.iter().flat_map(|sent| ids(&sent.outline, BlockKind::ToolResult)).any(|id| results.contains(id))
    };
    is_answer && calls.any(|call| !results.contains(call)) || !results.is_empty() && is_late()
}

/// Whether it says nothing. Instructions without a word may set something for the turns behind them.
pub(crate) fn is_blank(outline: &Outline, json: &str, dialect: Dialect) -> bool {
    outline.tokens.0 <= SHORT
        && outline.blocks.iter().all(|block| block.kind == BlockKind::Text)
        && decode_message(dialect, json).is_ok_and(|(message, _)| {
            let is_mute = |block: &Block| matches!(block, Block::Text(text) if text.text.trim().is_empty());
            let sets = message.role == Role::System && !message.extra.is_empty();
            !sets && message.blocks.iter().all(is_mute)
        })
}

fn ids(outline: &Outline, kind: BlockKind) -> impl Iterator<Item = &str> {
    let of_kind = outline.blocks.iter().filter(move |block| block.kind == kind);
    of_kind.filter_map(|block| Some(block.tool.as_ref()?.id.as_str()))
}

fn interrupted(call: String) -> Block {
    Block::ToolResult(ToolResult {
        call_id: call,
        name: None,
        content: vec![Block::text(INTERRUPTED)],
        is_error: true,
        extra: Fields::new(),
    })
}
