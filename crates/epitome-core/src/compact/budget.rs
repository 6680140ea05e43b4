//! The budget model of spec 008.1: what each component of a request may take, and what it takes.
//!
//! The model explains a request; it does not limit it. Limits are the threshold, the window and the budget of a
//! [`Request`](super::Request).

use serde::Serialize;

use super::cuts::leading;
use super::settings::Settings as CompactSettings;
use super::view::{Piece, View};
use crate::message::{Block, BlockKind, Message};
use crate::outline::Entry;
use crate::prune::BlockEdit;
use crate::settings::Settings;
use crate::tokens::MESSAGE_OVERHEAD;
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
    pub fn of(view: &View, path: &[Entry], messages: &[Message], count: &dyn Fn(&str) -> Tokens) -> Self {
        let leading = leading(path);
        let plain = |entry: &Entry| is_plain_user_message(&entry.outline);
        let current = path.iter().rposition(plain).unwrap_or(leading);
        let mut measured = Self::default();
        if let Some(words) = &view.system {
            measured.summary += count(words);
        }
        for piece in &view.pieces {
            let tokens = Self::piece(piece, path, count);
            let at = match piece {
                Piece::Keep(at) | Piece::Edit(at, _) => *at,
                Piece::New(_) => {
                    measured.summary += tokens;
                    continue;
                }
            };
            let Some(entry) = path.get(at).filter(|_| at >= leading) else { continue };
            let added = added(piece, entry, messages.get(at), tokens);
            measured.summary += added;
            *measured.part(entry, at > current) += tokens - added;
        }
        measured
    }

    /// The tokens of one message of a view.
    pub(crate) fn piece(piece: &Piece, path: &[Entry], count: &dyn Fn(&str) -> Tokens) -> Tokens {
        match piece {
            Piece::Keep(at) => path.get(*at).map_or(Tokens::ZERO, |entry| entry.outline.tokens),
            Piece::Edit(at, edits) => {
                path.get(*at).map_or(Tokens::ZERO, |entry| edited_tokens(entry, edits, count))
            }
            Piece::New(message) => new_tokens(message, count),
        }
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

// Words that were added to a message are the summary's: the text before them is as it was.
fn added(piece: &Piece, entry: &Entry, message: Option<&Message>, tokens: Tokens) -> Tokens {
    let (Piece::Edit(_, edits), Some(message)) = (piece, message) else { return Tokens::ZERO };
    let merged = edits.iter().any(|(at, edit)| match (message.blocks.get(*at), edit) {
        (Some(Block::Text(old)), BlockEdit::Text(new)) => new.starts_with(&old.text),
        _ => false,
    });
    if merged { tokens - entry.outline.tokens } else { Tokens::ZERO }
}

fn edited_tokens(entry: &Entry, edits: &[(usize, BlockEdit)], count: &dyn Fn(&str) -> Tokens) -> Tokens {
    let outline = &entry.outline;
    let gone = edits.iter().filter_map(|(at, _)| outline.blocks.get(*at)).map(|block| block.tokens).sum();
    let new = edits.iter().map(|(_, edit)| match edit {
        BlockEdit::Text(text) => count(text),
        BlockEdit::Remove => Tokens::ZERO,
    });
    outline.tokens - gone + new.sum()
}

fn new_tokens(message: &Message, count: &dyn Fn(&str) -> Tokens) -> Tokens {
    let text = |block: &Block| match block {
        Block::Text(text) => count(&text.text),
        _ => Tokens::ZERO,
    };
    MESSAGE_OVERHEAD + message.blocks.iter().map(text).sum()
}
