//! What is sent of a compacted conversation, by tier: ADR 033's `CompressedContext`.

use std::ops::Range;

use serde::Serialize;

use crate::compact::{Compaction, Level, Piece, Segment, SystemPlace, view, view_tokens};
use crate::message::{Message, Role};
use crate::outline::Entry;
use crate::units::Tokens;

/// The summary of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicSummary {
    /// The messages it stands for.
    pub range: Range<usize>,
    /// The summary.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
}

/// The summary of several topics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BulkSummary {
    /// The messages it stands for.
    pub range: Range<usize>,
    /// The summary.
    pub text: String,
    /// Its tokens.
    pub tokens: Tokens,
}

/// What is sent of a conversation, by tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompressedContext {
    /// The messages that are sent as messages, by their numbers: the current topic, and whatever else is kept as it
    /// was. Leading system messages are not among them.
    pub current_topic: Vec<usize>,
    /// Earlier topics, the oldest first.
    pub historical_topics: Vec<TopicSummary>,
    /// Topics before those, the oldest first.
    pub bulk_archives: Vec<BulkSummary>,
    /// Tokens of what is sent, without leading system messages.
    pub total_tokens: Tokens,
    /// How many times smaller that is than the conversation as it was: its tokens divided by `total_tokens`. 1 says
    /// that nothing was compressed, 10 that a tenth is left.
    pub compression_ratio: f64,
}

impl CompressedContext {
    /// What a compaction sends of a path.
    pub fn of(
        compaction: &Compaction,
        path: &[Entry],
        messages: &[Message],
        count: &dyn Fn(&str) -> Tokens,
    ) -> Self {
        let mut topics = Vec::new();
        let mut bulks = Vec::new();
        for segment in &compaction.segments {
            let Segment::Summary { range, text, level } = segment else { continue };
            let (range, text, tokens) = (range.clone(), text.clone(), count(text));
            match level {
                Level::Bulk => bulks.push(BulkSummary { range, text, tokens }),
                _ => topics.push(TopicSummary { range, text, tokens }),
            }
        }
        let leading = leading(path);
        let shown = view(compaction, path, messages, SystemPlace::Outside);
        let mut current_topic = Vec::new();
        for piece in &shown.pieces {
            match piece {
                Piece::Keep(at) | Piece::Edit(at, _) if *at >= leading => current_topic.push(*at),
                _ => {}
            }
        }
        let sent = view_tokens(&shown, path, count);
        let before: Tokens = path.iter().skip(leading).map(|entry| entry.outline.tokens).sum();
        Self {
            current_topic,
            historical_topics: topics,
            bulk_archives: bulks,
            total_tokens: sent,
            compression_ratio: ratio(before, sent),
        }
    }
}

fn leading(path: &[Entry]) -> usize {
    path.iter().take_while(|entry| matches!(entry.outline.role, Role::System | Role::Developer)).count()
}

#[allow(clippy::cast_precision_loss)]
fn ratio(before: Tokens, after: Tokens) -> f64 {
    if after == Tokens::ZERO { 1.0 } else { before.0 as f64 / after.0 as f64 }
}
