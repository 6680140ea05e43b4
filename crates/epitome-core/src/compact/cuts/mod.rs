//! Legal cuts: where a path may be parted into what is summarised and what is kept.
//!
//! What makes a cut legal is a declared set of properties ([`CutRule`]), read off the path once in time linear in
//! its length. The ways of choosing a cut that the seeds describe are functions of their own; they are literal, and
//! [`Cuts::next`] and its siblings make their choice legal.

mod choose;
mod rule;
mod structure;

use std::ops::Range;

pub use choose::{keep_last_messages, keep_recent_tokens, partition_turns, protected_tail};
pub use rule::CutRule;
use structure::Structure;
pub(crate) use structure::{leading, unseen};

use crate::outline::Entry;

/// The legal cuts of a path. A cut is the number of the first message that is kept.
#[derive(Clone, Debug)]
pub struct Cuts {
    structure: Structure,
    exchanges: Vec<usize>,
    turns: Vec<usize>,
    atoms: Vec<usize>,
}

impl Cuts {
    /// Reads the cuts off a path.
    pub fn of(path: &[Entry]) -> Self {
        let structure = Structure::of(path);
        let positions = || structure.leading + 1..structure.length;
        let exchanges = positions().filter(|at| rule::check(&structure, *at).is_ok()).collect();
        let turns = positions().filter(|at| rule::check_turn(&structure, *at).is_ok()).collect();
        let atoms = (structure.leading..structure.length).filter(|at| structure.is_atom_start(*at)).collect();
        Self { exchanges, turns, atoms, structure }
    }

    /// How many leading system messages there are: they are always kept, and no cut falls among them.
    pub fn leading(&self) -> usize {
        self.structure.leading
    }

    /// Whether a cut before message `at` is legal, or else the first property that it breaks.
    pub fn check(&self, at: usize) -> Result<(), CutRule> {
        rule::check(&self.structure, at)
    }

    /// Like [`Cuts::check`] where an exchange is too large by itself: a cut may fall before one of its later turns.
    pub fn check_turn(&self, at: usize) -> Result<(), CutRule> {
        rule::check_turn(&self.structure, at)
    }

    /// The first legal cut at `at` or after it.
    pub fn next(&self, at: usize) -> Option<usize> {
        first_from(&self.exchanges, at)
    }

    /// The last legal cut at `at` or before it.
    pub fn previous(&self, at: usize) -> Option<usize> {
        last_to(&self.exchanges, at)
    }

    /// The first legal cut at `at` or after it, those inside an exchange included.
    pub fn next_turn(&self, at: usize) -> Option<usize> {
        first_from(&self.turns, at)
    }

    /// The last legal cut at `at` or before it, those inside an exchange included.
    pub fn previous_turn(&self, at: usize) -> Option<usize> {
        last_to(&self.turns, at)
    }

    /// The messages around `at` that can only be kept or dropped together: a reply in all its messages, and the
    /// results of its tool calls. Atoms tile the path behind its leading system messages.
    pub fn atom(&self, at: usize) -> Range<usize> {
        let number = self.atoms.partition_point(|start| *start <= at);
        let start = number.checked_sub(1).and_then(|before| self.atoms.get(before)).copied().unwrap_or(0);
        start..self.atoms.get(number).copied().unwrap_or(self.structure.length)
    }

    /// What must be kept, as stretches in order: the atoms of the pins, of a provider's compaction items, which stand
    /// for history that exists nowhere else, and of calls at the path's end whose results are yet to come.
    pub fn pinned(&self, pins: &[usize]) -> Vec<Range<usize>> {
        let Structure { leading, length, .. } = self.structure;
        let pins = pins.iter().copied().filter(|pin| *pin < length);
        let mut wanted: Vec<usize> =
            pins.chain(self.structure.items.iter().copied()).chain(self.structure.pending).collect();
        wanted.sort_unstable();
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for pin in wanted {
            let atom = if pin < leading { pin..pin + 1 } else { self.atom(pin) };
            match stretches.last_mut() {
                Some(last) if atom.start <= last.end => last.end = last.end.max(atom.end),
                _ => stretches.push(atom),
            }
        }
        stretches
    }

    /// Whether a cut before `at` is refused for nothing but the thinking of a tool loop.
    pub(super) fn only_thinking_forbids(&self, at: usize) -> bool {
        let broken = |rule: &&CutRule| rule.breaks(&self.structure, at);
        CutRule::INSIDE.iter().filter(broken).eq([&CutRule::ThinkingLoop])
    }
}

/// The pins with everything that must stay with them: a pinned call keeps its result and the reverse.
///
/// Messages that hold a provider's compaction item count as pinned, and so does a call at the very end whose result
/// is yet to come.
pub fn pin_closure(path: &[Entry], pins: &[usize]) -> Vec<usize> {
    Cuts::of(path).pinned(pins).into_iter().flatten().collect()
}

fn first_from(cuts: &[usize], at: usize) -> Option<usize> {
    cuts.get(cuts.partition_point(|cut| *cut < at)).copied()
}

fn last_to(cuts: &[usize], at: usize) -> Option<usize> {
    cuts.get(cuts.partition_point(|cut| *cut <= at).checked_sub(1)?).copied()
}
