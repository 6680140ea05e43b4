//! A compaction that messages carry in themselves: a conversation that was compacted before, and written out.
//!
//! Whoever keeps no record of compactions, a file or an agent that pipes its messages through, sends the summary as a
//! message. Recognised by the words around it, it is a summary again: it is merged instead of being told as something
//! that somebody said, and a conversation that was compacted and did not go on is left alone.

use super::cuts::leading;
use super::presets::Preset;
use super::segment::{Compaction, Level, Segment};
use super::settings::StrategyName;
use super::strategies::effective;
use super::view::{Placement, Wording};
use crate::message::{Block, Message, Role};
use crate::outline::Entry;
use crate::settings::Settings;

/// The compaction whose summary stands at the start of these messages, if there is one.
///
/// Its view is the messages themselves. Only summaries that stand in messages of their own are found, not those within
/// the first request or among the operator's instructions.
pub fn in_force(path: &[Entry], messages: &[Message], settings: &Settings) -> Option<Compaction> {
    let start = leading(path);
    let first = messages.get(start).filter(|message| message.role == Role::User)?;
    let said = only_text(first)?;
    let (text, wording) = wordings(settings).into_iter().find_map(|wording| {
        let (before, after) = wording.summary.split_once("{summary}")?;
        let text = said.strip_prefix(before)?.strip_suffix(after)?;
        (!before.trim().is_empty() && !text.trim().is_empty()).then(|| (text.to_owned(), wording))
    })?;
    let acknowledged = messages.get(start + 1).is_some_and(|message| {
        message.role == Role::Assistant && only_text(message) == Some(wording.acknowledgement.as_str())
    });
    // Where roles alternate without it, the view has none.
    let needed = messages.get(start + 2).is_some_and(|message| message.role == Role::User);
    let end = start + 1 + usize::from(acknowledged && needed);
    let verbatim = |range: std::ops::Range<usize>| (!range.is_empty()).then_some(Segment::Verbatim { range });
    let summary = Segment::Summary { range: start..end, text, level: level(settings) };
    let segments = verbatim(0..start).into_iter().chain([summary]).chain(verbatim(end..path.len()));
    Some(Compaction { segments: segments.collect(), placement: Placement::Pair, wording })
}

// The words that summaries may stand in, the longest first: some begin like others.
fn wordings(settings: &Settings) -> Vec<Wording> {
    let presets = Preset::ALL.map(|preset| preset.settings().compact.wording());
    let own = [settings.compact.wording(), Settings::default().compact.wording()];
    let mut all: Vec<Wording> = own.into_iter().chain(presets).collect();
    all.sort_by_key(|wording| std::cmp::Reverse(wording.summary.len()));
    all
}

fn level(settings: &Settings) -> Level {
    match effective(settings) {
        StrategyName::Auto | StrategyName::Checkpoint => Level::Checkpoint,
        StrategyName::Narrative => Level::Narrative,
        StrategyName::Tiered => Level::Topic,
        StrategyName::Rolling | StrategyName::Prune | StrategyName::None => Level::Rolling,
    }
}

fn only_text(message: &Message) -> Option<&str> {
    match message.blocks.as_slice() {
        [Block::Text(text)] => Some(&text.text),
        _ => None,
    }
}
