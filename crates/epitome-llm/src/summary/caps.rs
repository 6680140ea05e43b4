//! What the summaries of one compaction may cost, and what they have cost.

use std::ops::Add;
use std::time::Duration;

use epitome_core::cost::{Money, Tariff};
use epitome_core::{Tokens, Usage};

use crate::failure::Begun;

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
    /// Requests to a model.
    pub calls: usize,
    /// Of them, those that were not answered.
    pub unanswered: usize,
    /// What was billed; where nothing was reported, what was sent and received by our own count.
    pub usage: Usage,
    /// What it costs, where a tariff is known.
    pub money: Option<Money>,
    /// Of what was billed, the tokens that are only our own count, because nobody said.
    pub estimated: Tokens,
    /// What is under way and not billed yet.
    open: Open,
}

/// Requests that are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Open {
    requests: usize,
    /// What was sent with them, and what that costs where a tariff is known.
    sent: Tokens,
    sent_money: Option<Money>,
    /// What they come to at most, answers included.
    most: Tokens,
    most_money: Money,
}

/// How large a request is, its answer included, and what its tokens cost where that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) input: Tokens,
    pub(super) output: Tokens,
    pub(super) tariff: Option<Tariff>,
}

impl Size {
    fn tokens(&self) -> Tokens {
        self.input + self.output
    }

    // What it costs at most: without any cache.
    fn money(&self) -> Money {
        self.tariff.map_or(Money::ZERO, |tariff| {
            tariff.input(self.input, Tokens::ZERO) + tariff.output(self.input, self.output)
        })
    }

    fn sent_money(&self) -> Option<Money> {
        self.tariff.map(|tariff| tariff.input(self.input, Tokens::ZERO))
    }
}

impl Spent {
    /// Whether one more request of this size is allowed.
    pub(super) fn allows(&self, caps: &Caps, size: &Size) -> bool {
        let used = self.usage.total_input() + self.usage.output + self.open.most;
        let paid = self.money.unwrap_or(Money::ZERO) + self.open.most_money;
        self.calls < caps.calls
            && used + size.tokens() <= caps.tokens
            && caps.money.is_none_or(|most| paid + size.money() <= most)
    }

    /// A request of this size is sent.
    pub(super) fn begin(&mut self, size: &Size) {
        self.calls += 1;
        let open = &mut self.open;
        open.requests += 1;
        open.sent += size.input;
        open.sent_money = sum(open.sent_money, size.sent_money());
        open.most += size.tokens();
        open.most_money += size.money();
    }

    /// It is over, with or without an answer, and this was billed for it.
    pub(super) fn end(&mut self, size: &Size, billed: Option<&Billed>, is_answered: bool) {
        let open = &mut self.open;
        open.requests = open.requests.saturating_sub(1);
        open.sent = open.sent - size.input;
        open.sent_money = sum(open.sent_money, size.sent_money().map(std::ops::Neg::neg));
        open.most = open.most - size.tokens();
        open.most_money = open.most_money - size.money();
        self.unanswered += usize::from(!is_answered);
        let Some(billed) = billed else { return };
        let usage = &billed.usage;
        let paid =
            size.tariff.map(|tariff| tariff.billed(usage) + tariff.output(usage.total_input(), usage.output));
        self.bill(billed, paid);
    }

    fn bill(&mut self, billed: &Billed, paid: Option<Money>) {
        let Billed { usage: billed, is_estimate } = billed;
        if *is_estimate {
            self.estimated += billed.total_input() + billed.output;
        }
        self.usage = both(self.usage, *billed);
        self.money = sum(self.money, paid);
    }

    /// The same if nobody waits any longer for what is under way: what was sent is paid for.
    pub(super) fn cut_off(mut self) -> Self {
        let Open { requests, sent, sent_money, .. } = std::mem::take(&mut self.open);
        if requests > 0 {
            self.bill(&Billed::estimated(sent, Tokens::ZERO), sent_money);
            self.unanswered += requests;
        }
        self
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            unanswered: self.unanswered + other.unanswered,
            usage: both(self.usage, other.usage),
            money: sum(self.money, other.money),
            estimated: self.estimated + other.estimated,
            open: Open {
                requests: self.open.requests + other.open.requests,
                sent: self.open.sent + other.open.sent,
                sent_money: sum(self.open.sent_money, other.open.sent_money),
                most: self.open.most + other.open.most,
                most_money: self.open.most_money + other.open.most_money,
            },
        }
    }
}

/// What was billed for a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Billed {
    pub(super) usage: Usage,
    /// Whether nobody said so, and it is our own count.
    pub(super) is_estimate: bool,
}

impl Billed {
    /// So much by our own count.
    pub(super) fn estimated(input: Tokens, output: Tokens) -> Self {
        Self { usage: Usage { input, output, ..Usage::default() }, is_estimate: true }
    }

    /// What an answer comes to that broke off, to a request with so many tokens. What the server told by then was not its last word.
    pub(super) fn broken_off(input: Tokens, begun: &Begun) -> Self {
        let told = begun.usage.filter(|usage| usage.total_input() > Tokens::ZERO);
        match told {
            Some(usage) => {
                let usage = Usage { output: usage.output.max(begun.said), ..usage };
                Self { usage, is_estimate: false }
            }
            None => Self::estimated(input, begun.said),
        }
    }
}

fn sum(left: Option<Money>, right: Option<Money>) -> Option<Money> {
    match (left, right) {
        (None, None) => None,
        (left, right) => Some(left.unwrap_or(Money::ZERO) + right.unwrap_or(Money::ZERO)),
    }
}

fn both(left: Usage, right: Usage) -> Usage {
    Usage {
        input: left.input + right.input,
        cache_read: left.cache_read + right.cache_read,
        cache_write: left.cache_write + right.cache_write,
        output: left.output + right.output,
    }
}
