//! One threshold, relative to a window or absolute: `0.75`, `75%`, `100000`, `100k`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units::Tokens;

/// How much is too much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Bound {
    /// A share of what the window leaves for the input after the reserve.
    Share(f64),
    /// So many tokens, whatever the window.
    Tokens(Tokens),
}

impl Bound {
    /// The bound in tokens, where the window leaves `input` for the input; never more than that.
    pub fn tokens(self, input: Tokens) -> Tokens {
        match self {
            // Windows are far below 2^53, so the product is exact enough to be cut to whole tokens.
            Bound::Share(share) => Tokens((input.0 as f64 * share.clamp(0.0, 1.0)) as u64),
            Bound::Tokens(tokens) => tokens.min(input),
        }
    }

    /// Whether the number makes sense.
    pub(super) fn is_sound(self) -> bool {
        match self {
            Bound::Share(share) => share > 0.0 && share <= 1.0,
            Bound::Tokens(tokens) => tokens > Tokens::ZERO,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Share(share) => write!(out, "{}%", (share * 100_000.0).round() / 1_000.0),
            Bound::Tokens(tokens) => write!(out, "{tokens}"),
        }
    }
}

/// Words that are no threshold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is neither a share of the window such as 75% or 0.75 nor a number of tokens such as 100k")]
pub struct BoundError(String);

impl FromStr for Bound {
    type Err = BoundError;

    /// Reads a share (`75%`, `0.75`) or a number of tokens (`100000`, `100_000`, `100k`); a number up to 1 is a share.
    fn from_str(words: &str) -> Result<Self, BoundError> {
        let refuse = || BoundError(words.to_owned());
        let plain: String = words.trim().chars().filter(|c| !matches!(c, '_' | ',')).collect();
        let number = |text: &str| {
            text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
        };
        let bound = if let Some(percent) = plain.strip_suffix('%') {
            Bound::Share(number(percent).ok_or_else(refuse)? / 100.0)
        } else if let Some(thousands) = plain.strip_suffix(['k', 'K']) {
            Bound::Tokens(Tokens((number(thousands).ok_or_else(refuse)? * 1_000.0).round() as u64))
        } else {
            match number(&plain).ok_or_else(refuse)? {
                share if share <= 1.0 => Bound::Share(share),
                tokens if tokens.fract() == 0.0 => Bound::Tokens(Tokens(tokens as u64)),
                _ => return Err(refuse()),
            }
        };
        if bound.is_sound() { Ok(bound) } else { Err(refuse()) }
    }
}

impl TryFrom<String> for Bound {
    type Error = BoundError;

    fn try_from(words: String) -> Result<Self, BoundError> {
        words.parse()
    }
}

impl From<Bound> for String {
    fn from(bound: Bound) -> Self {
        bound.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_tokens_are_read_and_written() {
        let cases = [
            ("75%", Bound::Share(0.75), "75%"),
            ("0.9", Bound::Share(0.9), "90%"),
            ("1", Bound::Share(1.0), "100%"),
            ("62.5 %", Bound::Share(0.625), "62.5%"),
            ("100000", Bound::Tokens(Tokens(100_000)), "100000"),
            ("80_000", Bound::Tokens(Tokens(80_000)), "80000"),
            ("60k", Bound::Tokens(Tokens(60_000)), "60000"),
            ("1.5K", Bound::Tokens(Tokens(1_500)), "1500"),
        ];
        for (words, bound, written) in cases {
            assert_eq!(words.parse(), Ok(bound), "{words}");
            assert_eq!(bound.to_string(), written);
            assert_eq!(written.parse(), Ok(bound), "{written}");
        }
        for words in ["", "many", "-1", "0", "0%", "101%", "1.5", "NaN", "inf", "0k"] {
            assert!(words.parse::<Bound>().is_err(), "{words}");
        }
    }
}
