//! Simple ways to make a context fit, to compare with: each is packed to the budget as tightly as its idea allows.

mod index;
mod mask;
mod material;
mod pick;
mod words;

use std::fmt;

use super::context::Context;
use crate::message::Message;
use crate::outline::Entry;
use crate::units::Tokens;
use material::Material;

/// The ways to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Baseline {
    /// The newest messages that fit.
    KeepLast,
    /// Tool output replaced by a placeholder, that of the newest calls last; the oldest messages go where that is not enough.
    Mask,
    /// The oldest messages in one half of the budget, the newest in the other.
    HeadTail,
    /// Messages drawn at random, with a fixed seed.
    Random,
    /// The user's constraints and a list of identifiers in one half of the budget, the newest messages, masked, in the other.
    Index,
    /// Every distinct word once, whatever that costs: a control that keeps all items and no text.
    Words,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Baseline; 6] = [
        Baseline::KeepLast,
        Baseline::Mask,
        Baseline::HeadTail,
        Baseline::Random,
        Baseline::Index,
        Baseline::Words,
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Baseline::KeepLast => "keep-last",
            Baseline::Mask => "mask",
            Baseline::HeadTail => "head-tail",
            Baseline::Random => "random",
            Baseline::Index => "index",
            Baseline::Words => "words",
        }
    }

    /// The baseline of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|baseline| baseline.as_str() == name)
    }

    /// What it makes of a path.
    pub fn context(
        self,
        path: &[Entry],
        messages: &[Message],
        budget: Tokens,
        count: &dyn Fn(&str) -> Tokens,
    ) -> Context {
        let material = Material::new(path, messages, count);
        match self {
            Baseline::KeepLast => pick::keep_last(&material, budget),
            Baseline::Mask => mask::mask(&material, budget),
            Baseline::HeadTail => pick::head_tail(&material, budget),
            Baseline::Random => pick::random(&material, budget),
            Baseline::Index => index::index(&material, budget),
            Baseline::Words => words::words(&material),
        }
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}
