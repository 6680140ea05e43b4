//! The thresholds and why they are what they are.

use serde::{Deserialize, Serialize};

use super::bound::Bound;
use super::marks::Marks;
use crate::models::Room;
use crate::settings::SettingsError;
use crate::units::Tokens;

/// When a window counts as full, step by step.
///
/// Shares are of what the window leaves for the input after the reserve. The field acts between 50 % and 92 % of
/// the window (Gemini CLI 50, Agent Zero 70, lossless-claw 75, Goose 80, Codex 90, pi 92). The defaults are
/// spread so that each has its purpose; the figures are for a window of 200,000:
///
/// - `warn` 60 % (108,000): early enough for a person to act.
/// - `soft` 75 % (135,000): a summary is prepared in the background. Until `hard` 27,000 tokens are left, several
///   turns even of a tool loop, so that the summary is mostly ready before anybody has to wait.
/// - `hard` 90 % (162,000): the turn waits. The last tenth absorbs what the next turn adds (one tool result of
///   40,000 characters is some 10,000 tokens) and the error of the count.
/// - `low_watermark` 50 % (90,000): what a compaction goes down to. Going lower throws away what would have fitted;
///   stopping higher means to rewrite the cached prefix again soon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Thresholds {
    /// Above this somebody should know.
    pub warn: Bound,
    /// Above this a summary is prepared in the background.
    pub soft: Bound,
    /// Above this nothing is sent before it is compacted.
    pub hard: Bound,
    /// What a compaction goes down to.
    pub low_watermark: Bound,
    /// Kept free of the window for the output (`reserve_tokens`): at most a quarter of it, or half where more than the usual is asked for.
    pub reserve: Tokens,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            warn: Bound::Share(0.60),
            soft: Bound::Share(0.75),
            hard: Bound::Share(0.90),
            low_watermark: Bound::Share(0.50),
            reserve: Tokens(20_000),
        }
    }
}

impl Thresholds {
    /// One absolute threshold, as spec 008.1 (`compaction_threshold` 100,000; in the draft `input_token_budget`
    /// 80,000) and the micro agent (`CompactionThresholdTokens` 80,000) have it: above it, compact at once.
    ///
    /// The warning comes at three quarters of it, which is the draft's 60,000 for 80,000; a summary is prepared from five
    /// sixths on; a compaction goes down to half.
    pub fn compact_above(tokens: Tokens) -> Self {
        Self {
            warn: Bound::Tokens(Tokens(tokens.0 / 4 * 3)),
            soft: Bound::Tokens(Tokens(tokens.0 - tokens.0 / 6)),
            hard: Bound::Tokens(tokens),
            low_watermark: Bound::Tokens(Tokens(tokens.0 / 2)),
            ..Self::default()
        }
    }

    /// The Nexus threshold: compact when more than `window - reserve` is in use.
    pub fn window_minus(reserve: Tokens) -> Self {
        Self { hard: Bound::Share(1.0), reserve, ..Self::default() }
    }

    /// The same with one absolute threshold in place of `hard`. What is as it is by default follows it.
    #[must_use]
    pub fn compacting_above(self, tokens: Tokens) -> Self {
        let (usual, following) = (Self::default(), Self::compact_above(tokens));
        let either = |set: Bound, usual: Bound, follows: Bound| if set == usual { follows } else { set };
        Self {
            warn: either(self.warn, usual.warn, following.warn),
            soft: either(self.soft, usual.soft, following.soft),
            hard: following.hard,
            low_watermark: either(self.low_watermark, usual.low_watermark, following.low_watermark),
            reserve: self.reserve,
        }
    }

    /// Whether the thresholds make sense, each by itself and together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let named = [
            ("low_watermark", self.low_watermark),
            ("warn_threshold", self.warn),
            ("soft_threshold", self.soft),
            ("hard_threshold", self.hard),
        ];
        for (name, bound) in named {
            if !bound.is_sound() {
                let allowed = "a share above 0% and up to 100%, or a number of tokens".to_owned();
                return Err(SettingsError::OutOfRange { name, value: bound.to_string(), allowed });
            }
        }
        for ((lower, below), (name, bound)) in named.into_iter().zip(named.into_iter().skip(1)) {
            let ordered = match (below, bound) {
                (Bound::Share(below), Bound::Share(bound)) => below <= bound,
                (Bound::Tokens(below), Bound::Tokens(bound)) => below <= bound,
                // Which is larger depends on the window; where it is the wrong one, marks are put in order.
                _ => true,
            };
            if !ordered {
                let allowed = format!("at least {lower} ({below})");
                return Err(SettingsError::OutOfRange { name, value: bound.to_string(), allowed });
            }
        }
        Ok(())
    }

    /// The thresholds in tokens, for a window.
    pub fn marks(&self, window: Tokens) -> Marks {
        self.marks_within(window - reserve_within(self.reserve, window))
    }

    /// The thresholds in tokens, for a window whose reserve is decided already.
    pub fn marks_in(&self, room: &Room) -> Marks {
        self.marks_within(room.input)
    }

    fn marks_within(&self, input: Tokens) -> Marks {
        let hard = self.hard.tokens(input);
        let soft = self.soft.tokens(input).min(hard);
        let warn = self.warn.tokens(input).min(soft);
        let low = self.low_watermark.tokens(input).min(warn);
        Marks { input, hard, soft, warn, low }
    }
}

/// What is kept free of a window for the output: at most a quarter, so that there is something to talk about, or half where more than the
/// usual is asked for.
pub(crate) fn reserve_within(reserve: Tokens, window: Tokens) -> Tokens {
    let most = if reserve > Thresholds::default().reserve { window.0 / 2 } else { window.0 / 4 };
    reserve.min(Tokens(most))
}
