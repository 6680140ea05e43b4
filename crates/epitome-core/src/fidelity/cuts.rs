//! Where a conversation is cut to be examined: where a reply begins.
//!
//! That is where compactions happen: a call is about to be made, and no tool call is parted from its result.

use crate::compact::Cuts;
use crate::message::Role;
use crate::outline::Entry;
use crate::units::Tokens;

/// The shares of the messages that are compacted.
pub const SHARES: [f64; 3] = [0.4, 0.6, 0.8];

/// The cuts of a path: at each of [`SHARES`] the next reply, or else the last one before it.
pub fn cuts(path: &[Entry]) -> Vec<usize> {
    let leading = Cuts::of(path).leading();
    let replies = replies(path);
    let place = |share: f64| {
        let wanted = leading + ((path.len() - leading) as f64 * share).round() as usize;
        let at = replies.partition_point(|reply| *reply < wanted);
        replies.get(at).or(replies.last()).copied()
    };
    let mut cuts: Vec<usize> = SHARES.into_iter().filter_map(place).collect();
    cuts.dedup();
    cuts
}

/// Where replies begin, with something to compact before them.
pub(super) fn replies(path: &[Entry]) -> Vec<usize> {
    let atoms = Cuts::of(path);
    let begins = |at: &usize| {
        path.get(*at).is_some_and(|entry| entry.outline.role == Role::Assistant)
            && atoms.atom(*at).start == *at
    };
    (atoms.leading() + 1..path.len()).filter(begins).collect()
}

/// The tokens of a conversation, leading system messages not counted.
pub fn conversation_tokens(path: &[Entry]) -> Tokens {
    let leading = Cuts::of(path).leading();
    path.iter().skip(leading).map(|entry| entry.outline.tokens).sum()
}
