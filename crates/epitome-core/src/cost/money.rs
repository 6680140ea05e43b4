//! Amounts of money, exact.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::{Serialize, Serializer};

use crate::units::Tokens;

/// An amount of money in millionths of a micro-dollar (10⁻¹² US dollars).
///
/// A price of one dollar for a million tokens is one micro-dollar a token. Prices have up to six decimals once
/// they are multiplied by a cache's share, so at this grain every sum is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(i128);

const MICRO: i128 = 1_000_000;

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The price of one token, from US dollars for a million tokens.
    pub fn per_token(dollars_per_million: f64) -> Self {
        Self::of_micros(dollars_per_million)
    }

    /// So many micro-dollars.
    pub fn micros(micro_dollars: i64) -> Self {
        Self(i128::from(micro_dollars) * MICRO)
    }

    /// So many micro-dollars, parts of them included: what [`Money::as_micros`] said.
    pub fn of_micros(micro_dollars: f64) -> Self {
        if micro_dollars.is_finite() {
            Self((micro_dollars * MICRO as f64).round() as i128)
        } else {
            Self::ZERO
        }
    }

    /// The amount in micro-dollars.
    pub fn as_micros(self) -> f64 {
        self.0 as f64 / MICRO as f64
    }

    /// The price of so many tokens at this price for one.
    pub fn times(self, tokens: Tokens) -> Self {
        Self(self.0.saturating_mul(i128::from(tokens.0)))
    }

    /// What falls to each of so many; nothing where there are none.
    pub fn among(self, count: u64) -> Self {
        Self(self.0.checked_div(i128::from(count)).unwrap_or(0))
    }

    pub(super) fn raw(self) -> i128 {
        self.0
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Money {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    /// Dollars, with as many decimals as a small amount needs to be seen.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.as_micros() / 1e6;
        let sign = if dollars < 0.0 { "-" } else { "" };
        let decimals = match dollars.abs() {
            0.0 => 2,
            amount if amount < 0.01 => 5,
            amount if amount < 1.0 => 3,
            _ => 2,
        };
        write!(out, "{sign}${:.decimals$}", dollars.abs())
    }
}

impl Serialize for Money {
    /// Written as micro-dollars.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_readable() {
        assert_eq!(Money::per_token(3.0).times(Tokens(1_000_000)), Money::micros(3_000_000));
        assert_eq!(Money::per_token(0.0375).times(Tokens(10_000)), Money::micros(375));
        assert_eq!(Money::per_token(f64::NAN), Money::ZERO);
        let cases = [
            (0, "$0.00"),
            (12, "$0.00001"),
            (4_500, "$0.00450"),
            (312_500, "$0.312"),
            (-1_500_000, "-$1.50"),
        ];
        for (micros, written) in cases {
            assert_eq!(Money::micros(micros).to_string(), written);
        }
        assert_eq!(serde_json::to_string(&Money::micros(42)).unwrap(), "42.0");
    }
}
