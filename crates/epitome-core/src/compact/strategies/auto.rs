//! `auto`: prune first, and a checkpoint where that is not enough.

use super::prune::{Effect, NOTHING_STALE};
use super::{Checkpoint, Prune};
use crate::compact::budget::Measured;
use crate::compact::cuts::leading;
use crate::compact::plan::{Limits, Outcome, Plan, Planned, Strategy};
use crate::compact::segment::Compaction;
use crate::compact::settings::StrategyName;
use crate::compact::view::{CountedView, SystemPlace};
use crate::message::{BlockKind, Message, Role};
use crate::outline::{BlockOutline, Entry};
use crate::prune::Count;
use crate::settings::Settings;
use crate::units::Tokens;

/// Prunes, and has a checkpoint written where that does not meet the budget.
#[derive(Clone, Copy)]
pub struct Auto<'a> {
    settings: &'a Settings,
    prune: Prune<'a>,
    checkpoint: Checkpoint<'a>,
    count: &'a dyn Count,
}

impl<'a> Auto<'a> {
    /// The strategy under these settings.
    pub fn new(settings: &'a Settings, count: &'a dyn Count) -> Self {
        Self {
            settings,
            prune: Prune::new(settings, count),
            checkpoint: Checkpoint::by_worth(settings, count),
            count,
        }
    }

    // Whether what pruning does not touch exceeds the budget: then nothing need be rendered to know that it is not enough.
    fn is_hopeless(&self, path: &[Entry], limits: &Limits<'_>) -> bool {
        let shown = limits.previous.map_or(0, |previous| previous.standing()).max(leading(path));
        let prunable = |block: &&BlockOutline| match block.kind {
            BlockKind::ToolResult => true,
            BlockKind::Text => self.settings.prune.max_message_chars.is_some(),
            _ => false,
        };
        let stays = |entry: &Entry| {
            let prunable = entry.outline.blocks.iter().filter(prunable).map(|block| block.tokens).sum();
            entry.outline.tokens - prunable
        };
        path.iter().skip(shown).map(stays).sum::<Tokens>() > limits.budget
    }

    fn fits(&self, plan: &Plan, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> bool {
        let segments = plan.parts.iter().filter_map(|part| match part {
            Planned::Segment(segment) => Some(segment.clone()),
            Planned::Summary(_) => None,
        });
        let Plan { placement, wording, .. } = plan;
        let compaction =
            Compaction { segments: segments.collect(), placement: *placement, wording: wording.clone() };
        let place = SystemPlace::Message(Role::System);
        let shown = CountedView::of(&compaction, path, messages, place, self.count);
        Measured::of(&shown, path).total() <= limits.budget
    }
}

impl Strategy for Auto<'_> {
    fn name(&self) -> &'static str {
        StrategyName::Auto.as_str()
    }

    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome {
        if self.is_hopeless(path, limits) {
            return self.checkpoint.plan(path, messages, limits);
        }
        let (plan, effect) = self.prune.pruned(path, messages, limits);
        match effect {
            _ if !self.fits(&plan, path, messages, limits) => self.checkpoint.plan(path, messages, limits),
            Effect::Pruned => Outcome::Compact(plan),
            Effect::Nothing => Outcome::Nothing(NOTHING_STALE.to_owned()),
        }
    }
}
