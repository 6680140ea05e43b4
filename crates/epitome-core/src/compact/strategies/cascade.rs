//! The old part of a path as summaries: one, or a cascade of them.
//!
//! In a cascade what was summarised once is not written again with every compaction. The newest stretches have
//! summaries of their own; when all together exceed their cap, the oldest are summarised again, in groups, so that the
//! older a part is, the more briefly it is told. Which ones is up to [`cascade::plan`].

use std::ops::Range;

use super::layout::{Cap, Layout, tokens};
use crate::adaptive::cascade::{self, Existing, GROUP, Rewritten};
use crate::compact::cuts::Cuts;
use crate::compact::segment::{Compaction, Level, Segment};
use crate::compact::settings::Settings;
use crate::outline::Entry;
use crate::prune::Count;
use crate::units::Tokens;

/// A summary of one stretch is this part of what it covers.
const SHARE_OF_COVERED: u64 = 10;

/// What the old part is read from.
pub(super) struct Old<'a> {
    pub(super) path: &'a [Entry],
    pub(super) cuts: &'a Cuts,
    pub(super) previous: Option<&'a Compaction>,
    pub(super) count: &'a dyn Count,
}

/// A stretch of the path that has a summary, or is to have one.
struct Stretch {
    range: Range<usize>,
    /// The size of the summary that is there.
    written: Option<Tokens>,
}

impl Old<'_> {
    /// Has everything up to `cut` summarised, in the way that the settings ask for.
    pub(super) fn summarise(
        &self,
        layout: &mut Layout<'_>,
        cut: usize,
        level: Level,
        cap: Cap,
        settings: &Settings,
    ) {
        match settings.summary_cascade {
            true => layout.summaries(cut, level, cap, |run, most| self.tiers(run, most)),
            false => layout.summary(cut, level, cap),
        }
    }

    // The summaries of a run of messages, which may have `most` tokens together.
    fn tiers(&self, run: Range<usize>, most: Tokens) -> Vec<(Range<usize>, Tokens)> {
        let each = Tokens(most.0 / GROUP as u64).max(Tokens(1));
        let covered = Tokens(each.0.saturating_mul(SHARE_OF_COVERED));
        let stretches = self.stretches(run, covered);
        let size = |stretch: &Stretch| tokens(self.path.get(stretch.range.clone()).unwrap_or_default());
        let existing = stretches.iter().map(|stretch| Existing {
            tokens: stretch.written.unwrap_or_else(|| each.min(size(stretch))),
            depth: depth(size(stretch), covered),
        });
        let tiers = cascade::plan(&existing.collect::<Vec<_>>(), most);
        let is_new = |tier: &cascade::Tier| {
            let stretch = stretches.get(tier.range.start);
            tier.rewritten == Rewritten::Yes || stretch.is_some_and(|stretch| stretch.written.is_none())
        };
        // Merging in groups leaves room over; those that are written now share it.
        let used: Tokens = tiers.iter().map(|tier| tier.max_tokens).sum();
        let new = tiers.iter().filter(|tier| is_new(tier)).count() as u64;
        let spare = Tokens((most - used).0.checked_div(new).unwrap_or(0));
        let tier = |tier: &cascade::Tier| {
            let (first, last) =
                (stretches.get(tier.range.start)?, stretches.get(tier.range.end.checked_sub(1)?)?);
            let room = if is_new(tier) { tier.max_tokens + spare } else { tier.max_tokens };
            Some((first.range.start..last.range.end, room))
        };
        tiers.iter().filter_map(tier).collect()
    }

    // Summaries that stand at the start of a run, then stretches of about `most` tokens.
    fn stretches(&self, run: Range<usize>, most: Tokens) -> Vec<Stretch> {
        let segments = self.previous.map_or(&[][..], |previous| &previous.segments);
        let from = segments.partition_point(|segment| segment.range().start < run.start);
        let mut stretches = Vec::new();
        let mut at = run.start;
        for segment in segments.get(from..).unwrap_or_default() {
            let Segment::Summary { range, text, .. } = segment else { break };
            if range.start != at || range.end > run.end {
                break;
            }
            stretches.push(Stretch { range: range.clone(), written: Some(self.count.text(text)) });
            at = range.end;
        }
        let mut held = Tokens::ZERO;
        let rest = at..run.end;
        for next in rest {
            let whole_exchange = held >= most && self.cuts.check(next).is_ok();
            // An exchange that is too large by itself is told turn by turn.
            let turn = held.0 >= most.0.saturating_mul(2) && self.cuts.check_turn(next).is_ok();
            if whole_exchange || turn {
                stretches.push(Stretch { range: at..next, written: None });
                (at, held) = (next, Tokens::ZERO);
            }
            held += self.path.get(next).map_or(Tokens::ZERO, |entry| entry.outline.tokens);
        }
        if at < run.end {
            stretches.push(Stretch { range: at..run.end, written: None });
        }
        stretches
    }
}

// How often a stretch of this size was merged: each level stands for as many times more of the session.
fn depth(size: Tokens, leaf: Tokens) -> u32 {
    (size.0 / leaf.0.max(1)).checked_ilog(GROUP as u64).unwrap_or(0)
}
