//! Units of measure as types, so that a count of characters never passes for a count of tokens.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A number of model tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

/// A number of Unicode scalar values, the unit in which people and the trim settings count text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chars(pub usize);

impl Chars {
    /// The length of a text.
    pub fn of(text: &str) -> Self {
        Self(text.chars().count())
    }
}

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Core never asks for the time; it is told when a message was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// Milliseconds from `earlier` to `self`; zero when the clocks ran backwards.
    pub fn since(self, earlier: Time) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

impl Tokens {
    /// So many times as many, cut to whole ones.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        Self((self.0 as f64 * by) as u64)
    }
}

macro_rules! counts {
    ($($unit:ident),*) => {$(
        impl $unit {
            /// Nothing.
            pub const ZERO: Self = Self(0);

            /// The difference, or zero where it would be negative.
            pub fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl Add for $unit {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for $unit {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
                counts.fold(Self::ZERO, Add::add)
            }
        }
        impl fmt::Display for $unit {
            /// The number; with `{:#}` in groups of three digits, as people read it.
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                if out.alternate() { out.pad(&grouped(self.0 as u64)) } else { self.0.fmt(out) }
            }
        }
    )*};
}

counts!(Tokens, Chars);

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_grouped() {
        for (number, plain, grouped) in
            [(0, "0", "0"), (999, "999", "999"), (1_234_567, "1234567", "1,234,567")]
        {
            assert_eq!(Tokens(number).to_string(), plain);
            assert_eq!(format!("{:#}", Tokens(number)), grouped);
        }
        assert_eq!(format!("{:>#8}", Tokens(1_000)), "   1,000");
    }
}
