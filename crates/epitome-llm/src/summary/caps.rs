//! What the summaries of one compaction may cost, and what they have cost.

use std::time::Duration;

use epitome_core::cost::{Money, Tariff};
use epitome_core::{Tokens, Usage};

/// The most that all summaries of one compaction may cost together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Caps {
    /// Requests to a model, repeated ones included.
    pub calls: usize,
    /// Tokens, in and out.
    pub tokens: Tokens,
    /// Money; it is only minded where a tariff is known.
    pub money: Option<Money>,
    /// Time from the first question on.
    pub time: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self { calls: 40, tokens: Tokens(2_000_000), money: None, time: Duration::from_secs(300) }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Questions to a model.
    pub calls: usize,
    /// Of them, those that were not answered.
    pub unanswered: usize,
    /// What was billed; where nothing was reported, what was sent and received by our own count.
    pub usage: Usage,
    /// What it costs, where a tariff is known.
    pub money: Option<Money>,
    /// What is under way and not billed yet.
    open: Tokens,
    /// What that will cost at most, where a tariff is known.
    open_money: Money,
}

impl Spent {
    /// Whether one more call of this size is allowed.
    pub(super) fn allows(&self, caps: &Caps, tariff: Option<&Tariff>, input: Tokens, output: Tokens) -> bool {
        let used = self.usage.total_input() + self.usage.output + self.open;
        let paid = self.money.unwrap_or(Money::ZERO) + self.open_money + price(tariff, input, output);
        self.calls < caps.calls
            && used + input + output <= caps.tokens
            && caps.money.is_none_or(|most| paid <= most)
    }

    /// A call of this size begins.
    pub(super) fn begin(&mut self, tariff: Option<&Tariff>, input: Tokens, output: Tokens) {
        self.open += input + output;
        self.open_money += price(tariff, input, output);
    }

    /// It is over, and this was billed for it.
    pub(super) fn end(&mut self, tariff: Option<&Tariff>, input: Tokens, output: Tokens, billed: Usage) {
        self.open = self.open - (input + output);
        self.open_money = self.open_money - price(tariff, input, output);
        self.usage.input += billed.input;
        self.usage.cache_read += billed.cache_read;
        self.usage.cache_write += billed.cache_write;
        self.usage.output += billed.output;
        let Some(tariff) = tariff else { return };
        let paid = tariff.billed(&billed) + tariff.output(billed.total_input(), billed.output);
        self.money = Some(self.money.unwrap_or(Money::ZERO) + paid);
    }
}

// What a call costs at most: without any cache.
fn price(tariff: Option<&Tariff>, input: Tokens, output: Tokens) -> Money {
    tariff.map_or(Money::ZERO, |tariff| tariff.input(input, Tokens::ZERO) + tariff.output(input, output))
}
