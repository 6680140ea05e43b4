//! What messages weigh, sorted by who pays for it how: what went in, what came out, what was thought.

use serde::{Deserialize, Serialize};

use super::line::Measure;
use crate::message::{BlockKind, Role};
use crate::outline::{BlockOutline, Outline};

/// Sums over messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Load {
    /// What users, tools and operators said; items are messages and tool results.
    pub(super) said: Measure,
    /// What the model said, thinking apart; items are tool calls.
    pub(super) replied: Measure,
    /// What the model thought, where that can be seen.
    pub(super) thought: f64,
}

impl Load {
    pub(super) fn add(&mut self, other: Load) {
        self.said.counted += other.said.counted;
        self.said.items += other.said.items;
        self.replied.counted += other.replied.counted;
        self.replied.items += other.replied.items;
        self.thought += other.thought;
    }

    /// The load of a message that the model did not write.
    pub(super) fn said(outline: &Outline) -> Self {
        let results = outline.blocks.iter().filter(|block| block.kind == BlockKind::ToolResult).count();
        let counted = outline.blocks.iter().map(|block| block.tokens.0 as f64).sum();
        Self { said: Measure { counted, items: results.max(1) as f64 }, ..Self::default() }
    }

    /// The load of a block that the model wrote.
    pub(super) fn replied(block: &BlockOutline) -> Self {
        let counted = block.tokens.0 as f64;
        match block.kind {
            BlockKind::Thinking | BlockKind::RedactedThinking => Self { thought: counted, ..Self::default() },
            BlockKind::ToolUse => Self { replied: Measure { counted, items: 1.0 }, ..Self::default() },
            _ => Self { replied: Measure { counted, items: 0.0 }, ..Self::default() },
        }
    }
}

/// Whether a message opens an exchange: a user speaks, and not only through tools.
pub(super) fn opens_exchange(outline: &Outline) -> bool {
    outline.role == Role::User && outline.blocks.iter().any(|block| block.kind != BlockKind::ToolResult)
}
