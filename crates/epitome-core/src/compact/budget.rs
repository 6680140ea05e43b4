//! The budget model of spec 008.1: what each component of a request may take, and what it takes.
//!
//! The model explains a request; it does not limit it. Limits are the threshold, the window and the budget of a
//! [`Request`](super::Request).

use serde::Serialize;

use super::cuts::leading;
use super::settings::Settings as CompactSettings;
use super::view::{CountedView, PieceOutline};
use crate::message::BlockKind;
use crate::outline::Entry;
use crate::settings::Settings;
use crate::turn::is_plain_user_message;
use crate::units::Tokens;

/// What the components of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BudgetModel {
    /// The system prompt and all else that stands before the conversation.
    pub system: Tokens,
    /// The summary of earlier conversation.
    pub summary: Tokens,
    /// Recent messages, as they were.
    pub recent: Tokens,
    /// Tool calls and results of the exchange that is going on; none where tool output counts as recent.
    pub tools: Tokens,
    /// What the model may answer.
    pub output: Tokens,
    /// Room for errors of estimation.
    pub safety_margin: Tokens,
}

/// The system prompt's share in both versions of the spec.
const SYSTEM: Tokens = Tokens(5_000);
/// What tools may add within a turn, where pruning keeps them in check (v4).
const TOOLS: Tokens = Tokens(30_000);
/// The answer's share in both versions of the spec.
const OUTPUT: Tokens = Tokens(16_000);
/// The margin in both versions of the spec.
const SAFETY_MARGIN: Tokens = Tokens(20_000);

impl BudgetModel {
    /// The model that settings stand for: v4's under its preset, the draft's under its own.
    pub fn of(settings: &Settings) -> Self {
        let CompactSettings { summary_token_budget, keep_recent_tokens, .. } = settings.compact;
        Self {
            system: SYSTEM,
            summary: summary_token_budget,
            recent: keep_recent_tokens,
            // The draft has no share of its own for tools: its safety margin is to absorb them.
            tools: if settings.prune.tool_pruning_enabled { TOOLS } else { Tokens::ZERO },
            output: OUTPUT,
            safety_margin: SAFETY_MARGIN,
        }
    }

    /// The model where the conversation may have no more than `budget`, and so none of its parts.
    pub fn within(self, budget: Tokens) -> Self {
        let Self { summary, recent, tools, .. } = self;
        Self { summary: summary.min(budget), recent: recent.min(budget), tools: tools.min(budget), ..self }
    }

    /// The sum of all components.
    pub fn total(&self) -> Tokens {
        self.system + self.summary + self.recent + self.tools + self.output + self.safety_margin
    }

    /// The model beside what a view takes; `fixed` is what stands before the conversation.
    pub fn compare(&self, view: &Measured, fixed: Tokens) -> Vec<Component> {
        let row = |name, budget, actual| Component { name, budget, actual };
        vec![
            row("system", self.system, Some(fixed)),
            row("summary", self.summary, Some(view.summary)),
            row("recent", self.recent, Some(view.recent)),
            row("tools", self.tools, Some(view.tools)),
            row("output", self.output, None),
            row("safety_margin", self.safety_margin, None),
        ]
    }
}

/// One component of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Component {
    /// Which.
    pub name: &'static str,
    /// What it may take.
    pub budget: Tokens,
    /// What it takes, where that is known before the answer is there.
    pub actual: Option<Tokens>,
}

/// The tokens of a view's conversation by component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// Summaries and the words around them.
    pub summary: Tokens,
    /// Messages of the path.
    pub recent: Tokens,
    /// Tool calls and results of the exchange that is going on.
    pub tools: Tokens,
}

impl Measured {
    /// Measures a view, leading system messages of the path left out.
    pub(super) fn of(view: &CountedView<'_>, path: &[Entry]) -> Self {
        let leading = leading(path);
        let plain = |entry: &Entry| is_plain_user_message(&entry.outline);
        let current = path.iter().rposition(plain).unwrap_or(leading);
        let mut measured = Self { summary: view.system, ..Self::default() };
        for (piece, tokens) in &view.pieces {
            let tokens = *tokens;
            let Some(at) = piece.message() else {
                measured.summary += tokens;
                continue;
            };
            let Some(entry) = path.get(at).filter(|_| at >= leading) else { continue };
            let added = if is_extended(piece) { tokens - entry.outline.tokens } else { Tokens::ZERO };
            measured.summary += added;
            *measured.part(entry, at > current) += tokens - added;
        }
        measured
    }

    /// The whole conversation.
    pub fn total(&self) -> Tokens {
        self.summary + self.recent + self.tools
    }

    fn part(&mut self, entry: &Entry, in_turn: bool) -> &mut Tokens {
        let is_tool = |kind| matches!(kind, BlockKind::ToolUse | BlockKind::ToolResult);
        match in_turn && entry.outline.blocks.iter().any(|block| is_tool(block.kind)) {
            true => &mut self.tools,
            false => &mut self.recent,
        }
    }
}

// Words at the end of a text are the summary's, where the text before them is as it was.
fn is_extended(piece: &PieceOutline<'_>) -> bool {
    matches!(piece, PieceOutline::Joined(_, marks, joined) if marks.iter().all(|marked| marked.block != joined.block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_conversation_may_take_more_than_its_budget() {
        let model = BudgetModel::of(&Settings::default());
        assert_eq!(model.within(Tokens(1_000_000)), model);
        let small = model.within(Tokens(5_000));
        assert_eq!((small.summary, small.recent, small.tools), (Tokens(4_000), Tokens(5_000), Tokens(5_000)));
        assert_eq!((small.system, small.output), (model.system, model.output), "what is beside stays");
    }
}
