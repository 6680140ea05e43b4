//! What the calls of a session come to at a provider, one after the other.

use serde::Serialize;

use super::cache::{Part, PromptCache};
use super::money::Money;
use super::tariff::Tariff;
use crate::message::Usage;
use crate::units::{Time, Tokens};

/// All that was billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bill {
    /// How many calls were made.
    pub calls: u64,
    /// Tokens of all calls, by how they were billed.
    pub usage: Usage,
    /// The input of the largest call.
    pub largest: Tokens,
    /// How many calls exceeded the window.
    pub overflows: u64,
    /// The price of all input.
    pub input: Money,
    /// The price of all output.
    pub output: Money,
    /// The price of all summaries that were written on the way.
    pub summaries: Money,
}

impl Bill {
    /// What depends on what is sent: the input, and the summaries that make it smaller.
    pub fn sent(&self) -> Money {
        self.input + self.summaries
    }

    /// Everything.
    pub fn total(&self) -> Money {
        self.sent() + self.output
    }

    /// Adds another bill.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.overflows += other.overflows;
        self.largest = self.largest.max(other.largest);
        self.usage = sum(self.usage, other.usage);
        self.input += other.input;
        self.output += other.output;
        self.summaries += other.summaries;
    }
}

/// A provider that caches and bills.
#[derive(Clone, Debug)]
pub struct Till {
    tariff: Tariff,
    cache: PromptCache,
    window: Tokens,
    bill: Bill,
}

impl Till {
    /// A provider of a model with this window and these prices, whose cache keeps for so many milliseconds what nobody uses.
    pub fn new(tariff: Tariff, window: Tokens, lifetime_millis: u64) -> Self {
        let cache = PromptCache::new(&tariff, lifetime_millis);
        Self { tariff, cache, window, bill: Bill::default() }
    }

    /// A call: what is sent, and how many tokens are answered. Says how it is billed.
    pub fn call<'a>(
        &mut self,
        now: Time,
        parts: impl IntoIterator<Item = Part<'a>>,
        output: Tokens,
    ) -> Usage {
        let usage = Usage { output, ..self.cache.send(now, parts) };
        let input = usage.total_input();
        let bill = Bill {
            calls: 1,
            usage,
            largest: input,
            overflows: u64::from(input > self.window),
            input: self.tariff.billed(&usage),
            output: self.tariff.output(input, output),
            summaries: Money::ZERO,
        };
        self.bill.add(&bill);
        usage
    }

    /// What summaries cost beside the calls.
    pub fn summarised(&mut self, cost: Money) {
        self.bill.summaries += cost;
    }

    /// What everything came to so far.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }
}

fn sum(left: Usage, right: Usage) -> Usage {
    Usage {
        input: left.input + right.input,
        cache_read: left.cache_read + right.cache_read,
        cache_write: left.cache_write + right.cache_write,
        output: left.output + right.output,
    }
}
