//! What the summaries of one compaction may cost, and what they have cost.

use std::time::Duration;

use epitome_core::cost::{Money, Tariff};
use epitome_core::{Tokens, Usage};

/// The most that all summaries of one compaction may cost together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Caps {
    /// Questions to a model, repeated ones included.
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
    pub(super) open: Tokens,
}

impl Spent {
    /// Whether one more call of this size is allowed.
    pub(super) fn allows(&self, caps: &Caps, tariff: Option<&Tariff>, input: Tokens, output: Tokens) -> bool {
        let used = self.usage.total_input() + self.usage.output + self.open;
        let price = tariff.map(|tariff| tariff.input(input, Tokens::ZERO) + tariff.output(input, output));
        let paid = self.money.unwrap_or(Money::ZERO) + price.unwrap_or(Money::ZERO);
        self.calls < caps.calls
            && used + input + output <= caps.tokens
            && caps.money.is_none_or(|most| paid <= most)
    }

    pub(super) fn begin(&mut self, size: Tokens) {
        self.calls += 1;
        self.open += size;
    }

    pub(super) fn end(&mut self, size: Tokens, usage: Usage, tariff: Option<&Tariff>) {
        self.open = self.open - size;
        self.usage.input += usage.input;
        self.usage.cache_read += usage.cache_read;
        self.usage.cache_write += usage.cache_write;
        self.usage.output += usage.output;
        let Some(tariff) = tariff else { return };
        let input = usage.total_input();
        let price = tariff.input(input, usage.cache_read) + tariff.output(input, usage.output);
        self.money = Some(self.money.unwrap_or(Money::ZERO) + price);
    }
}
