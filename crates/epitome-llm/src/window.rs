//! The window of a model as its server shows it: by what it says, by what passes, by what it refuses or cuts silently.
//!
//! One of these is for one model at one address; whoever uses it keeps it where it survives.

use epitome_core::{Tokens, Usage};

use crate::failure::{Failure, Kind, WINDOW_FULL, window_of_truncation};

/// What was learnt about a window. All sizes are as the server counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// What the server says that it is.
    pub told: Option<Tokens>,
    /// The most that passed, the answer included.
    pub passed: Tokens,
    /// The least that was refused or cut.
    pub refused: Option<Tokens>,
}

/// Of what was refused, so many per cent may pass.
const LESS: u64 = 90;

impl Window {
    /// A request that was taken for `expected` tokens was answered, and this was billed for it.
    ///
    /// `true` if the server seems to have cut it: then the answer is one to another question.
    pub fn answered(&mut self, expected: Tokens, billed: &Usage) -> bool {
        if let Some(window) = window_of_truncation(expected, billed) {
            self.told = Some(self.told.map_or(window, |told| told.min(window)));
            self.refuse(expected);
            return true;
        }
        let used = billed.total_input() + billed.output;
        self.passed = self.passed.max(used);
        // What passes was not refused for its size, whatever was said before.
        self.told = self.told.filter(|told| *told >= used);
        self.refused = self.refused.filter(|refused| *refused > used);
        false
    }

    /// A request that was taken for `expected` tokens, the answer included, failed like this.
    pub fn failed(&mut self, expected: Tokens, failure: &Failure) {
        let Kind::Overflow { limit, requested } = failure.kind else { return };
        self.told = limit.or(self.told.filter(|told| *told < requested.unwrap_or(expected)));
        self.refuse(requested.unwrap_or(expected));
    }

    /// The answer to a request that was taken for `expected` tokens, the answer included, ended because the window was full.
    pub fn filled(&mut self, expected: Tokens, billed: Option<&Usage>) {
        let limit = billed.map(|billed| billed.total_input() + billed.output);
        let requested = Some(limit.map_or(expected, |limit| expected.max(limit + Tokens(1))));
        self.failed(expected, &Failure::new(Kind::Overflow { limit, requested }, WINDOW_FULL));
    }

    /// How much to send at most, the answer included; `None` while nothing speaks against any size.
    ///
    /// It is less than everything that was refused, so that who keeps to it gets through sooner or later.
    pub fn limit(&self) -> Option<Tokens> {
        let below = self.refused.map(|refused| Tokens(refused.0 / 100 * LESS + refused.0 % 100 * LESS / 100));
        match (self.told, below) {
            (Some(told), Some(_)) if self.refused > Some(told) => Some(told),
            (_, Some(below)) => Some(below.max(self.passed)),
            (told, None) => told,
        }
    }

    fn refuse(&mut self, size: Tokens) {
        self.refused = Some(self.refused.map_or(size, |refused| refused.min(size)));
        // A server that was started anew may have a smaller window than before.
        if self.passed >= size {
            self.passed = Tokens::ZERO;
        }
    }
}
