//! What a model's tokens cost, by how they are served and by how long the call is.

use super::money::Money;
use crate::message::Usage;
use crate::models::{Caching, LongContext, Model, Price};
use crate::units::Tokens;

/// The prices of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Input that no cache serves or takes.
    pub input: Money,
    /// Input that the cache takes.
    pub write: Money,
    /// Input that the cache serves.
    pub read: Money,
    /// Output.
    pub output: Money,
}

/// What a model costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tariff {
    rates: Rates,
    long: Option<(Tokens, Rates)>,
    /// The shortest prefix that is cached.
    pub minimum: Tokens,
}

impl Tariff {
    /// The tariff of a model.
    pub fn of(model: &Model) -> Self {
        Self::new(model.price, model.long_context, model.caching)
    }

    /// The tariff of a model for tokens of ours, of which each is `ratio` of the model's own.
    pub fn of_counted(model: &Model, ratio: f64) -> Self {
        let price = |price: Price| Price { input: price.input * ratio, output: price.output * ratio };
        let counted = |tokens: Tokens| Tokens((tokens.0 as f64 / ratio) as u64);
        let long = |long: LongContext| LongContext { above: counted(long.above), price: price(long.price) };
        let caching = Caching { minimum: counted(model.caching.minimum), ..model.caching };
        Self::new(price(model.price), model.long_context.map(long), caching)
    }

    /// A tariff of these prices.
    pub fn new(price: Price, long_context: Option<LongContext>, caching: Caching) -> Self {
        let rates = |price: Price| Rates {
            input: Money::per_token(price.input),
            write: Money::per_token(price.input * caching.write),
            read: Money::per_token(price.input * caching.read),
            output: Money::per_token(price.output),
        };
        let long = long_context.map(|long| (long.above, rates(long.price)));
        Self { rates: rates(price), long, minimum: caching.minimum }
    }

    /// The prices of a call with this much input.
    pub fn rates(&self, input: Tokens) -> Rates {
        match self.long {
            Some((above, rates)) if input > above => rates,
            _ => self.rates,
        }
    }

    /// The input of one call, of which the cache serves a prefix of `cached` tokens.
    pub fn input(&self, tokens: Tokens, cached: Tokens) -> Money {
        let Rates { input, write, read, .. } = self.rates(tokens);
        if tokens < self.minimum {
            return input.times(tokens);
        }
        let served = if cached < self.minimum { Tokens::ZERO } else { cached.min(tokens) };
        read.times(served) + write.times(tokens - served)
    }

    /// The input of one call as it was billed.
    pub fn billed(&self, usage: &Usage) -> Money {
        let Rates { input, write, read, .. } = self.rates(usage.total_input());
        input.times(usage.input) + write.times(usage.cache_write) + read.times(usage.cache_read)
    }

    /// The output of one call.
    pub fn output(&self, input: Tokens, tokens: Tokens) -> Money {
        self.rates(input).output.times(tokens)
    }
}
