//! What baselines pack: messages in groups that only go together.

use std::ops::Range;

use crate::compact::Cuts;
use crate::fidelity::context::Context;
use crate::fidelity::texts::texts;
use crate::message::{Block, BlockKind, Message};
use crate::outline::{BlockOutline, Entry};
use crate::turn::is_plain_user_message;
use crate::units::Tokens;

/// What stands for a tool's output.
pub(super) const PLACEHOLDER: &str = "[tool output omitted]";

/// The messages before a cut.
pub(super) struct Material<'a> {
    path: &'a [Entry],
    pub(super) messages: &'a [Message],
    pub(super) count: &'a dyn Fn(&str) -> Tokens,
    /// Groups of messages: a reply with the results of its calls, or a single message.
    pub(super) atoms: Vec<Range<usize>>,
    placeholder: Tokens,
}

/// How the tool output of a group is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Shown,
    Masked,
}

impl<'a> Material<'a> {
    pub(super) fn new(path: &'a [Entry], messages: &'a [Message], count: &'a dyn Fn(&str) -> Tokens) -> Self {
        let cuts = Cuts::of(path);
        let mut atoms = Vec::new();
        let mut at = cuts.leading();
        while at < path.len() {
            let atom = cuts.atom(at);
            at = atom.end.max(at + 1);
            atoms.push(atom);
        }
        Self { path, messages, count, atoms, placeholder: count(PLACEHOLDER) }
    }

    /// The group of the user's first words.
    pub(super) fn request(&self) -> Option<usize> {
        let speaks = |atom: &Range<usize>| {
            self.path.get(atom.start).is_some_and(|entry| is_plain_user_message(&entry.outline))
        };
        self.atoms.iter().position(speaks)
    }

    /// What the group of this number costs.
    pub(super) fn cost(&self, at: usize, output: Output) -> Tokens {
        self.atoms.get(at).map_or(Tokens::ZERO, |atom| self.tokens(atom, output))
    }

    fn tokens(&self, atom: &Range<usize>, output: Output) -> Tokens {
        let entries = self.path.get(atom.clone()).unwrap_or_default();
        let masked = |entry: &Entry| {
            let larger = entry.outline.blocks.iter().filter(|block| self.is_maskable(block));
            larger.map(|block| block.tokens - self.placeholder).sum()
        };
        let tokens = |entry: &Entry| match output {
            Output::Shown => entry.outline.tokens,
            Output::Masked => entry.outline.tokens - masked(entry),
        };
        entries.iter().map(tokens).sum()
    }

    // Output that is no longer than the placeholder is left alone.
    fn is_maskable(&self, block: &BlockOutline) -> bool {
        block.kind == BlockKind::ToolResult && block.tokens > self.placeholder
    }

    /// The texts of a group.
    pub(super) fn texts(&self, atom: &Range<usize>, output: Output) -> Vec<String> {
        atom.clone().flat_map(|at| self.texts_of(at, output)).collect()
    }

    fn texts_of(&self, at: usize, output: Output) -> Vec<String> {
        let (Some(message), Some(entry)) = (self.messages.get(at), self.path.get(at)) else {
            return Vec::new();
        };
        let blocks = message.blocks.iter().zip(&entry.outline.blocks);
        let shown = blocks.map(|(block, outline)| match output {
            Output::Masked if self.is_maskable(outline) => Block::text(PLACEHOLDER),
            _ => block.clone(),
        });
        let shown = Message::new(message.role, shown.collect());
        texts(&shown).into_iter().map(|said| said.text.into_owned()).collect()
    }

    /// The context of these groups, each shown as it says.
    pub(super) fn context(&self, chosen: &[(usize, Output)]) -> Context {
        let mut context = Context::default();
        for (atom, output) in chosen.iter().filter_map(|(at, output)| Some((self.atoms.get(*at)?, *output))) {
            context.texts.extend(self.texts(atom, output));
            context.tokens += self.tokens(atom, output);
        }
        context
    }
}
