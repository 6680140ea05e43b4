//! The tiers behind the current topic: topics, bulk archives, and what is left out.
//!
//! It carries out steps 2 to 4 of ADR 033's escalation on a list of pieces. It decides nothing about the
//! current topic, and writes no summary: a piece may be a summary that is still to be written.

use std::ops::Range;

use crate::compact::{Level, Planned, Segment, SummaryTask};
use crate::topics::TopicSettings;
use crate::units::Tokens;

/// What two summaries that stand next to each other cost beside their texts.
const BETWEEN: Tokens = Tokens(2);
/// Why the oldest messages are not shown.
const DROPPED: &str = "oldest bulk archives, beyond the share of bulk archives";

/// Which tier a piece belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Topic,
    Bulk,
    Dropped,
}

#[derive(Clone, Debug)]
enum Body {
    /// The messages themselves.
    Messages,
    /// A summary that was written before, which is not written again.
    Text(String, Level),
    /// A summary to be written of these messages, merging these summaries.
    Task { fresh: Range<usize>, previous: Vec<String> },
}

/// A stretch of the path before the current topic.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    tier: Tier,
    body: Body,
    tokens: Tokens,
}

impl Piece {
    /// A topic of which there is no summary yet.
    pub(super) fn messages(range: Range<usize>, tokens: Tokens) -> Self {
        Self { range, tier: Tier::Topic, body: Body::Messages, tokens }
    }

    /// A summary that was written before.
    pub(super) fn text(range: Range<usize>, text: String, level: Level, tokens: Tokens) -> Self {
        let tier = if level == Level::Bulk { Tier::Bulk } else { Tier::Topic };
        Self { range, tier, body: Body::Text(text, level), tokens: tokens + BETWEEN }
    }

    /// Something that was left out before.
    pub(super) fn dropped(range: Range<usize>) -> Self {
        Self { range, tier: Tier::Dropped, body: Body::Messages, tokens: Tokens::ZERO }
    }

    /// Whether its messages are shown.
    pub(super) fn is_shown(&self) -> bool {
        self.tier == Tier::Topic && matches!(self.body, Body::Messages)
    }

    /// What it costs.
    pub(super) fn tokens(&self) -> Tokens {
        self.tokens
    }

    // At most half of what it stands for, so that a summary always shrinks.
    fn summarise(&mut self, most: Tokens) {
        let tokens = most.min(half(self.tokens));
        self.body = Body::Task { fresh: self.range.clone(), previous: Vec::new() };
        self.tokens = tokens + BETWEEN;
    }

    /// The part of the plan that it becomes.
    pub(super) fn planned(self) -> Planned {
        let range = self.range;
        let level = if self.tier == Tier::Bulk { Level::Bulk } else { Level::Topic };
        match self.body {
            _ if self.tier == Tier::Dropped => {
                Planned::Segment(Segment::Omitted { range, note: DROPPED.to_owned() })
            }
            Body::Messages => Planned::Segment(Segment::Verbatim { range }),
            Body::Text(text, level) => Planned::Segment(Segment::Summary { range, text, level }),
            Body::Task { fresh, previous } => {
                let max_tokens = self.tokens - BETWEEN;
                Planned::Summary(SummaryTask { range, fresh, previous, level, max_tokens, max_chars: None })
            }
        }
    }
}

/// How many tokens the tiers may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocation {
    pub(super) topics: Tokens,
    pub(super) bulks: Tokens,
}

/// Whether anything was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    Changed,
}

/// Step 2: sealed topics become summaries, all of them, once their tier exceeds its allocation.
pub(super) fn summarise_topics(
    pieces: &mut [Piece],
    settings: &TopicSettings,
    allowed: Allocation,
) -> Effect {
    let mut effect = Effect::Nothing;
    if total(pieces, Tier::Topic) > allowed.topics {
        let most = settings.topic_summary_tokens.min(allowed.topics);
        for piece in pieces.iter_mut().filter(|piece| piece.is_shown()) {
            piece.summarise(most);
            effect = Effect::Changed;
        }
    }
    effect
}

/// Step 3: the oldest topics become a bulk archive, a group at a time, until the tier fits.
pub(super) fn merge_topics(
    pieces: Vec<Piece>,
    settings: &TopicSettings,
    allowed: Allocation,
) -> (Vec<Piece>, Effect) {
    let mut topics = total(&pieces, Tier::Topic);
    let most = settings.bulk_summary_tokens.min(allowed.bulks - BETWEEN);
    let mut effect = Effect::Nothing;
    let mut merged = Vec::with_capacity(pieces.len());
    let mut rest = pieces.into_iter().peekable();
    while let Some(piece) = rest.next() {
        if piece.tier != Tier::Topic || topics <= allowed.topics {
            merged.push(piece);
            continue;
        }
        let mut end = piece.range.end;
        let mut group = vec![piece];
        // A bulk archive stands for one stretch of the path, so a pinned message in between ends the group.
        while group.len() < settings.bulk_merge_size
            && let Some(next) = rest.next_if(|next| next.tier == Tier::Topic && next.range.start == end)
        {
            end = next.range.end;
            group.push(next);
        }
        topics = topics - group.iter().map(Piece::tokens).sum();
        merged.push(bulk(group, most));
        effect = Effect::Changed;
    }
    (merged, effect)
}

/// Step 4: the oldest bulk archives are left out until the tier fits.
pub(super) fn drop_bulks(pieces: &mut [Piece], allowed: Allocation) -> Effect {
    let mut bulks = total(pieces, Tier::Bulk);
    let mut effect = Effect::Nothing;
    for piece in pieces.iter_mut().filter(|piece| piece.tier == Tier::Bulk) {
        if bulks <= allowed.bulks {
            break;
        }
        bulks = bulks - piece.tokens;
        *piece = Piece::dropped(piece.range.clone());
        effect = Effect::Changed;
    }
    effect
}

/// What the pieces cost.
pub(super) fn cost(pieces: &[Piece]) -> Tokens {
    pieces.iter().map(Piece::tokens).sum()
}

/// Stretches that were left out become one where they adjoin.
pub(super) fn join_dropped(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if last.tier == Tier::Dropped
                    && piece.tier == Tier::Dropped
                    && last.range.end == piece.range.start =>
            {
                last.range.end = piece.range.end;
            }
            _ => joined.push(piece),
        }
    }
    joined
}

fn total(pieces: &[Piece], tier: Tier) -> Tokens {
    pieces.iter().filter(|piece| piece.tier == tier).map(Piece::tokens).sum()
}

fn half(tokens: Tokens) -> Tokens {
    Tokens(tokens.0.div_ceil(2))
}

fn bulk(group: Vec<Piece>, most: Tokens) -> Piece {
    let range =
        group.first().map_or(0, |piece| piece.range.start)..group.last().map_or(0, |piece| piece.range.end);
    let cost = cost(&group);
    let single = group.len() == 1;
    let texts = group.iter().filter(|piece| matches!(piece.body, Body::Text(..))).count();
    let fresh: Vec<&Range<usize>> = group
        .iter()
        .filter(|piece| !matches!(piece.body, Body::Text(..)))
        .map(|piece| &piece.range)
        .collect();
    let between =
        fresh.first().map_or(range.end, |first| first.start)..fresh.last().map_or(range.end, |last| last.end);
    // What was never summarised must be one stretch; where summaries stand in its midst, it is read with their messages.
    let is_one_stretch = fresh.iter().map(|range| range.len()).sum::<usize>() == between.len();
    if let [Piece { body: Body::Text(text, _), tokens, .. }] = group.as_slice()
        && single
        && *tokens <= most + BETWEEN
    {
        let body = Body::Text(text.clone(), Level::Bulk);
        return Piece { range, tier: Tier::Bulk, body, tokens: *tokens };
    }
    let body = if is_one_stretch {
        let mut previous = Vec::with_capacity(texts);
        previous.extend(group.into_iter().filter_map(|piece| match piece.body {
            Body::Text(text, _) => Some(text),
            _ => None,
        }));
        Body::Task { fresh: between, previous }
    } else {
        Body::Task { fresh: range.clone(), previous: Vec::new() }
    };
    Piece { range, tier: Tier::Bulk, body, tokens: most.min(half(cost)) + BETWEEN }
}
