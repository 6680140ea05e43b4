//! Thresholds in tokens of one window, and where a conversation stands among them.

use std::fmt;

use serde::Serialize;

use super::thresholds::Thresholds;
use crate::outline::Entry;
use crate::units::Tokens;

/// How urgent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// There is room.
    Calm,
    /// Somebody should know.
    Warn,
    /// A summary should be prepared in the background.
    Soft,
    /// Nothing should be sent before it is compacted.
    Hard,
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Level::Calm => "calm",
            Level::Warn => "warn",
            Level::Soft => "soft",
            Level::Hard => "hard",
        })
    }
}

/// Thresholds in tokens: `low <= warn <= soft <= hard <= input`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Marks {
    /// What the window leaves for the input.
    pub input: Tokens,
    /// Above this nothing is sent before it is compacted.
    pub hard: Tokens,
    /// Above this a summary is prepared in the background.
    pub soft: Tokens,
    /// Above this somebody should know.
    pub warn: Tokens,
    /// What a compaction goes down to.
    pub low: Tokens,
}

impl Marks {
    /// How urgent it is with so many tokens in use. Reaching a mark is not exceeding it.
    pub fn level(&self, tokens: Tokens) -> Level {
        if tokens > self.hard {
            Level::Hard
        } else if tokens > self.soft {
            Level::Soft
        } else if tokens > self.warn {
            Level::Warn
        } else {
            Level::Calm
        }
    }

    /// The same with another hard mark. One that is lower takes the others down with it, so that there is still time to
    /// prepare, and something to gain.
    #[must_use]
    pub fn compacting_above(self, hard: Tokens) -> Self {
        let hard = hard.min(self.input);
        let share = (hard.0 as f64 / self.hard.0.max(1) as f64).min(1.0);
        let moved = |mark: Tokens| mark.scaled(share).min(hard);
        Self { hard, soft: moved(self.soft), warn: moved(self.warn), low: moved(self.low), ..self }
    }

    /// The same in another unit, of which each token is so many.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Self {
            input: self.input.scaled(by),
            hard: self.hard.scaled(by),
            soft: self.soft.scaled(by),
            warn: self.warn.scaled(by),
            low: self.low.scaled(by),
        }
    }

    /// The budget of the conversation after a compaction, where `fixed` is sent beside it: leading system messages
    /// and tools.
    pub fn target(&self, fixed: Tokens) -> Tokens {
        self.low - fixed
    }

    /// The budget after the provider has refused a request as too long for the `attempt`th time, counted from 1.
    ///
    /// Then our count or the window was wrong, nobody knows by how much, so each attempt halves the target.
    pub fn target_after_overflow(&self, fixed: Tokens, attempt: u32) -> Tokens {
        Tokens(self.low.0.checked_shr(attempt).unwrap_or(0)) - fixed
    }
}

/// Where a conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pressure {
    /// How urgent it is.
    pub level: Level,
    /// Everything that is sent.
    pub tokens: Tokens,
    /// The thresholds.
    pub marks: Marks,
}

impl Pressure {
    /// Judges so many tokens, everything that is sent, against a window.
    pub fn of(tokens: Tokens, window: Tokens, thresholds: &Thresholds) -> Self {
        Self::at(tokens, thresholds.marks(window))
    }

    /// Judges so many tokens against marks.
    pub fn at(tokens: Tokens, marks: Marks) -> Self {
        Self { level: marks.level(tokens), tokens, marks }
    }
}

impl fmt::Display for Pressure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Marks { input, hard, .. } = self.marks;
        let percent = self.tokens.0.saturating_mul(100).checked_div(input.0).unwrap_or(100);
        let tokens = self.tokens;
        write!(out, "{tokens:#} of {input:#} tokens are in use ({percent} %), and {hard:#} may be")
    }
}

/// Everything that is sent of a path, `outside` being what stands beside it: a system prompt and tools.
pub fn sent(path: &[Entry], outside: Tokens) -> Tokens {
    outside + path.iter().map(|entry| entry.outline.tokens).sum()
}
