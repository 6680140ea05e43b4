//! The verdict: two futures of the same conversation, priced call by call.

use std::fmt;

use serde::Serialize;

use super::money::Money;
use super::tariff::{Rates, Tariff};
use crate::units::{Time, Tokens};

/// How many turns are looked at for the break-even point where it lies beyond the expected ones.
const FARTHEST: u64 = 1_000;

/// What the provider's cache holds of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheState {
    /// Tokens of the prefix that was sent last, system and tools included.
    pub prefix: Tokens,
    /// When it was last written or read.
    pub used: Option<Time>,
    /// For how many milliseconds an unused prefix is kept.
    pub lapse_millis: u64,
}

impl CacheState {
    /// The tokens that are still cached at this time.
    ///
    /// Where a time is unknown the cache is taken to be warm: then a change looks dearer than it may be, and is
    /// rather not made.
    pub fn alive(&self, now: Option<Time>) -> Tokens {
        match (now, self.used) {
            (Some(now), Some(used)) if now.since(used) >= self.lapse_millis => Tokens::ZERO,
            _ => self.prefix,
        }
    }
}

/// A conversation as it is, before the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// What the model costs.
    pub tariff: Tariff,
    /// Everything the next call would send.
    pub tokens: Tokens,
    /// How much of its prefix the cache would serve.
    pub cached: Tokens,
    /// How many turns are expected, the next one included; each is one call.
    pub turns: u64,
    /// By how much each turn makes the conversation longer.
    pub growth: Tokens,
    /// Where compaction is forced: turns beyond this size cannot be saved by waiting, so they do not count.
    pub hard: Option<Tokens>,
}

impl Situation {
    /// How many turns count: the expected ones, or those until compaction is forced anyway.
    ///
    /// What happens after that is much the same whether or not the conversation is made smaller now.
    pub fn horizon(&self) -> u64 {
        let until_forced = self.hard.map_or(u64::MAX, |hard| {
            let room = hard - self.tokens;
            room.0.checked_div(self.growth.0).map_or(u64::MAX, |turns| turns.saturating_add(1))
        });
        self.turns.min(until_forced).max(1)
    }
}

/// The call that writes a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryCall {
    /// What the model that writes it costs.
    pub tariff: Tariff,
    /// What it is sent.
    pub input: Tokens,
    /// How much of that the cache serves: nearly all where the call is appended to the live conversation.
    pub cached: Tokens,
    /// What it writes.
    pub output: Tokens,
}

impl SummaryCall {
    /// What the call costs.
    pub fn cost(&self) -> Money {
        self.tariff.input(self.input, self.cached) + self.tariff.output(self.input, self.output)
    }
}

/// What is to be done to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Tokens before the first byte that changes.
    pub unchanged: Tokens,
    /// Everything the next call would send.
    pub after: Tokens,
    /// The call that writes the summary, where one is needed.
    pub summary: Option<SummaryCall>,
}

/// Whether a change pays for itself, and the figures behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the expected turns cost less with the change than without it.
    pub pays: bool,
    /// What the change costs now: the summary, and what the next call costs more than it would have. Negative where
    /// the next call gets cheaper at once.
    pub cost_now: Money,
    /// What each later turn costs less; of the turn after the next, where prices change with length.
    pub saving_per_turn: Money,
    /// What all turns that count cost less, `cost_now` deducted.
    pub saving: Money,
    /// After how many turns the change has paid for itself; `None` where it never does.
    pub break_even_turns: Option<u64>,
    /// How many turns count.
    pub turns: u64,
    /// How many turns are expected; those beyond `turns` come after compaction is forced anyway.
    pub expected: u64,
    /// Tokens that the change takes out of the cache and that are billed again.
    pub rewritten: Tokens,
    /// The part of `cost_now` that the summary costs.
    pub summary: Money,
}

/// Whether making a conversation smaller now is cheaper than leaving it as it is.
pub fn worth_compacting(situation: &Situation, change: &Change) -> Verdict {
    let tariff = &situation.tariff;
    let summary = change.summary.map_or(Money::ZERO, |call| call.cost());
    let kept = situation.cached.min(change.unchanged).min(change.after);
    let turns = situation.horizon();
    let mut verdict = Verdict {
        pays: false,
        cost_now: Money::ZERO,
        saving_per_turn: Money::ZERO,
        saving: Money::ZERO,
        break_even_turns: None,
        turns,
        expected: situation.turns.max(1),
        // What is new since the last call would have been written anyway.
        rewritten: (change.after - kept) - (situation.tokens - situation.cached),
        summary,
    };
    let mut balance = -summary;
    let (mut as_is, mut smaller) = (situation.tokens, change.after);
    let (mut as_is_cached, mut smaller_cached) = (situation.cached, kept);
    for turn in 1..=turns.max(FARTHEST) {
        let saved = tariff.input(as_is, as_is_cached) - tariff.input(smaller, smaller_cached);
        balance += saved;
        match turn {
            1 => verdict.cost_now = -balance,
            2 => verdict.saving_per_turn = saved,
            _ => {}
        }
        if turn == turns {
            verdict.saving = balance;
        }
        if balance > Money::ZERO && verdict.break_even_turns.is_none() {
            verdict.break_even_turns = Some(turn);
        }
        if turn >= turns.max(2) && verdict.break_even_turns.is_some() {
            break;
        }
        // What was sent by one call is what the cache serves the next.
        (as_is_cached, smaller_cached) = (as_is, smaller);
        (as_is, smaller) = (as_is + situation.growth, smaller + situation.growth);
    }
    verdict.pays = verdict.saving > Money::ZERO && change.after < situation.tokens;
    verdict
}

/// Whether a prune step pays: one that changes nothing before `unchanged` and gains so many tokens.
pub fn worth_pruning(situation: &Situation, unchanged: Tokens, gain: Tokens) -> Verdict {
    worth_compacting(situation, &Change { unchanged, after: situation.tokens - gain, summary: None })
}

/// The least gain with which a prune step pays, where nothing before `unchanged` changes: what `clear_at_least`
/// should be by money alone. `None` where no gain pays.
///
/// With the price of a write `w` and of a read `r`, `n` turns, and `c` cached tokens behind the first change, a step
/// that gains `g` of them re-bills `c - g` tokens: `n·r·g + (w - r)·g > (w - r)·c`. Long-context prices are left out.
pub fn least_gain(situation: &Situation, unchanged: Tokens) -> Option<Tokens> {
    let Rates { write, read, .. } = situation.tariff.rates(situation.tokens);
    let turns = i128::from(situation.horizon());
    let cached = if situation.cached < situation.tariff.minimum { Tokens::ZERO } else { situation.cached };
    let behind = i128::from((cached - unchanged).0);
    let per_token = (write - read).raw() + read.raw() * turns;
    if per_token <= 0 {
        return None;
    }
    let gain = ((write - read).raw().max(0) * behind) / per_token + 1;
    u64::try_from(gain).ok().map(Tokens).filter(|gain| *gain <= situation.tokens - unchanged)
}

impl Verdict {
    // What a later call saves: the second one tells, unless it saves nothing while others do, as where long contexts cost
    // more. Nothing is said of calls that do not save.
    fn later(&self) -> Option<String> {
        if self.saving_per_turn > Money::ZERO {
            return Some(self.saving_per_turn.to_string());
        }
        let average = (self.saving + self.cost_now).among(self.turns.saturating_sub(1));
        (average > Money::ZERO).then(|| format!("{average} on average"))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pays, cost_now, saving, turns, expected, rewritten, summary, .. } = self;
        out.write_str(if *pays { "it pays: " } else { "it does not pay: " })?;
        if *cost_now > Money::ZERO {
            write!(out, "billing {rewritten:#} cached tokens again")?;
            if *summary > Money::ZERO {
                write!(out, " and the summary ({summary})")?;
            }
            write!(out, " cost {cost_now} now")?;
            if let Some(later) = self.later() {
                write!(out, ", each later turn saves {later}")?;
            }
        } else {
            write!(out, "the next call already saves {}", -*cost_now)?;
            if let Some(later) = self.later() {
                write!(out, ", each later one {later}")?;
            }
        }
        match self.break_even_turns {
            Some(1) => {}
            Some(even) => write!(out, ", paid back after {even} turns")?,
            None => out.write_str(", never paid back")?,
        }
        let s = if *expected == 1 { "" } else { "s" };
        match turns < expected {
            true => {
                write!(
                    out,
                    "; over the {turns} turns until it is due anyway (of {expected} expected) that is {saving}"
                )
            }
            false => write!(out, "; over {turns} expected turn{s} that is {saving}"),
        }
    }
}
