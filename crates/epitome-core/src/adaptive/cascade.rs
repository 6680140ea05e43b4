//! Cascade of summaries: in a very long session the summaries themselves grow beyond their cap, so older ones are
//! summarised again, in groups, level by level.
//!
//! It plans on sizes alone and writes nothing. Like the levels of a merge tree, the older a part of the session,
//! the more often it has been summarised; each text passes through as few summaries as the cap allows.

use std::ops::Range;

use crate::units::Tokens;

/// How many summaries become one.
pub const GROUP: usize = 4;

/// A merged summary has the tokens of its parts divided by this.
const SHRINK: u64 = 4;

/// No merged summary is planned smaller than this, where the cap allows.
const LEAST: Tokens = Tokens(200);

/// More levels than four summaries to the power of this fill no session.
const MOST_LEVELS: usize = 32;

/// A summary there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its size.
    pub tokens: Tokens,
    /// Its level in the cascade: 0 for a summary of messages, more the more of the session it stands for.
    pub depth: u32,
}

/// A summary there is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The existing summaries it stands for, oldest first.
    pub range: Range<usize>,
    /// Its level in the cascade.
    pub depth: u32,
    /// The size it may have; of one that stays as it is, its own.
    pub max_tokens: Tokens,
    /// Whether it has to be written.
    pub rewritten: Rewritten,
}

/// Whether a summary has to be written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// It is there already.
    No,
    /// It is to be written from those it stands for.
    Yes,
}

/// Plans which summaries are summarised again so that all of them together fit `cap`.
///
/// What comes back tiles the summaries there are, oldest first. Where they fit, nothing changes. Otherwise groups of
/// [`GROUP`] of the same depth are merged, shallow ones and among these the oldest first, until all fit. Where full
/// groups are not enough, the oldest tiers are merged one after the other; in the end one summary stands for all.
pub fn plan(summaries: &[Existing], cap: Tokens) -> Vec<Tier> {
    let tier = |(at, summary): (usize, &Existing)| Tier {
        range: at..at + 1,
        depth: summary.depth,
        max_tokens: summary.tokens,
        rewritten: Rewritten::No,
    };
    let mut tiers: Vec<Tier> = summaries.iter().enumerate().map(tier).collect();
    let mut total: Tokens = tiers.iter().map(|tier| tier.max_tokens).sum();
    let mut depth = tiers.iter().map(|tier| tier.depth).min();
    for _ in 0..MOST_LEVELS {
        let Some(level) = depth.filter(|_| total > cap) else { break };
        (tiers, total) = merge_groups(tiers, level, total, cap);
        depth = tiers.iter().map(|tier| tier.depth).filter(|deeper| *deeper > level).min();
    }
    squeeze(tiers, total, cap)
}

// Merges groups of one depth, oldest first, until the total fits. One pass.
fn merge_groups(tiers: Vec<Tier>, depth: u32, mut total: Tokens, cap: Tokens) -> (Vec<Tier>, Tokens) {
    let mut merged: Vec<Tier> = Vec::with_capacity(tiers.len());
    // How many tiers at the end of `merged` are of this depth and not yet part of a full group.
    let mut open = 0;
    for tier in tiers {
        open = if tier.depth == depth { open + 1 } else { 0 };
        merged.push(tier);
        if open == GROUP && total > cap {
            let group = merged.split_off(merged.len() - GROUP);
            total = total - group.iter().map(|tier| tier.max_tokens).sum();
            merged.extend(merge(group));
            total += merged.last().map_or(Tokens::ZERO, |tier| tier.max_tokens);
            open = 0;
        }
    }
    (merged, total)
}

// Merges the oldest two until the total fits; a single tier is cut to the cap.
fn squeeze(tiers: Vec<Tier>, mut total: Tokens, cap: Tokens) -> Vec<Tier> {
    if total <= cap {
        return tiers;
    }
    let mut rest = tiers.into_iter();
    let Some(mut oldest) = rest.next() else { return Vec::new() };
    while total > cap {
        let Some(next) = rest.next() else {
            oldest = Tier { max_tokens: cap.min(oldest.max_tokens), rewritten: Rewritten::Yes, ..oldest };
            break;
        };
        total = total - oldest.max_tokens - next.max_tokens;
        let Some(both) = merge(vec![oldest.clone(), next]) else { break };
        // A little less than planned is better than one merge more.
        let room = (cap - total).min(both.max_tokens);
        let fits = room >= LEAST.min(both.max_tokens);
        oldest = Tier { max_tokens: if fits { room } else { both.max_tokens }, ..both };
        total += oldest.max_tokens;
    }
    [oldest].into_iter().chain(rest).collect()
}

fn merge(group: Vec<Tier>) -> Option<Tier> {
    let (first, last) = (group.first()?, group.last()?);
    let sum: Tokens = group.iter().map(|tier| tier.max_tokens).sum();
    let depth = group.iter().map(|tier| tier.depth).max()?.saturating_add(1);
    Some(Tier {
        range: first.range.start..last.range.end,
        depth,
        max_tokens: Tokens(sum.0 / SHRINK).max(LEAST).min(sum),
        rewritten: Rewritten::Yes,
    })
}
