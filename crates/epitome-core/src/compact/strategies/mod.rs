//! The strategies that have a name, each a pure planner of its settings.
//!
//! | strategy | what becomes of the old part | what is recent |
//! |---|---|---|
//! | [`Backstop`] (`none`) | left out | the last so many messages |
//! | [`Prune`] | tool results trimmed and cleared | the last tool results |
//! | [`Rolling`] | a rolling summary | the last so many messages |
//! | [`Checkpoint`] | a structured checkpoint | the last so many tokens |
//! | [`Narrative`] | a summary behind the first request | the last so many messages |
//! | [`Tiered`] | summaries of topics, archives of those | the current topic |
//! | [`Auto`] | pruned, and a checkpoint where that is not enough | the last so many tokens |

mod auto;
mod backstop;
mod cascade;
mod checkpoint;
mod cut;
pub(crate) mod layout;
mod narrative;
mod prune;
mod recent;
mod rolling;
mod room;

pub use auto::Auto;
pub use backstop::Backstop;
pub use checkpoint::{Checkpoint, most_for_a_summary};
pub use narrative::Narrative;
pub use prune::Prune;
pub use rolling::Rolling;

use super::plan::Strategy;
use super::settings::StrategyName;
use super::tiered::Tiered;
use crate::prune::Count;
use crate::settings::Settings;

/// The strategy that the settings name.
///
/// `seals` is where somebody sealed a topic: how many messages there were then.
pub fn chosen<'a>(settings: &'a Settings, seals: &[usize], count: &'a dyn Count) -> Box<dyn Strategy + 'a> {
    match effective(settings) {
        StrategyName::None => Box::new(Backstop::new(settings)),
        StrategyName::Prune => Box::new(Prune::new(settings, count)),
        StrategyName::Rolling => Box::new(Rolling::new(settings, count)),
        StrategyName::Checkpoint => Box::new(Checkpoint::new(settings, count)),
        StrategyName::Narrative => Box::new(Narrative::new(settings, count)),
        StrategyName::Tiered => Box::new(tiered(settings, seals, count)),
        StrategyName::Auto => Box::new(Auto::new(settings, count)),
    }
}

fn tiered<'a>(settings: &Settings, seals: &[usize], count: &'a dyn Count) -> Tiered<'a> {
    let mut topics = settings.topics.clone();
    if let Some(most) = settings.prune.max_message_chars {
        topics.max_message_chars = most;
    }
    let compact = &settings.compact;
    Tiered {
        due: compact.tiers_due,
        seals: seals.to_vec(),
        placement: compact.placement,
        wording: compact.wording(),
        ..Tiered::new(topics, count)
    }
}

/// The strategy in force: where compaction is switched off, only the oldest messages beyond a count go.
pub(crate) fn effective(settings: &Settings) -> StrategyName {
    if settings.compact.compaction_enabled { settings.compact.strategy } else { StrategyName::None }
}
