//! The `tiered` strategy: ADR 033's current topic, topic summaries and bulk archives.
//!
//! Each tier has a share of the budget, and each step of the escalation is taken only when its tier exceeds it:
//! long messages of the current topic are cut short; sealed topics are summarised; the oldest topics are merged
//! into a bulk archive, three at a time; the oldest bulk archives are left out of the view. Summaries that were
//! written stay as they are until they are merged.

mod current;
mod history;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use self::current::Shown;
use self::history::{Allocation, Effect, Piece};
use super::cuts::Cuts;
use super::plan::{Favours, Limits, Outcome, Plan, Planned, Strategy};
use super::resume;
use super::segment::{Compaction, Segment};
use super::view::{OMITTED, Placement, Wording};
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::{Count, Marked};
use crate::tokens::MESSAGE_OVERHEAD;
use crate::topics::{Boundary, LEAST_SUMMARY, TopicSettings, Why, boundaries_after, seal_above};
use crate::units::Tokens;

/// When the tiers are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Due {
    /// When the conversation does not fit the budget: nothing is lost before it must be.
    #[default]
    OverBudget,
    /// When any tier exceeds its share, as ADR 033 has it.
    OverShare,
}

/// Keeps the current topic, summaries of earlier topics, and archives of topics before those.
#[derive(Clone)]
pub struct Tiered<'a> {
    /// The numbers.
    pub settings: TopicSettings,
    /// When the tiers are looked at.
    pub due: Due,
    /// Where somebody sealed a topic: how many messages there were then.
    pub seals: Vec<usize>,
    /// Where summaries stand.
    pub placement: Placement,
    /// The words around summaries.
    pub wording: Wording,
    /// Counts a text as the path was counted.
    pub count: &'a dyn Count,
}

impl<'a> Tiered<'a> {
    /// The strategy with these numbers.
    pub fn new(settings: TopicSettings, count: &'a dyn Count) -> Self {
        Self {
            settings,
            due: Due::default(),
            seals: Vec::new(),
            placement: Placement::default(),
            wording: Wording::default(),
            count,
        }
    }

    /// The least budget that a plan meets by itself: pins, the newest turn, and the words around summaries.
    pub fn minimum(&self, path: &[Entry], limits: &Limits<'_>) -> Tokens {
        let cuts = Cuts::of(path);
        let newest = cuts.previous_turn(path.len()).unwrap_or(cuts.leading());
        let mut kept = cuts.pinned(limits.pins);
        kept.retain(|range| range.start >= cuts.leading());
        let pins = kept.iter().flat_map(Clone::clone).filter(|at| *at < newest);
        let tokens = tokens_of(path, pins) + tokens_of(path, newest..path.len());
        tokens + Tokens(self.words().0.saturating_mul(kept.len() as u64 + 1))
    }

    // What may stand around one run of summaries: the words themselves, an acknowledgement, a note on what is left out.
    fn words(&self) -> Tokens {
        let Wording { acknowledgement, .. } = &self.wording;
        let texts =
            [self.wording.around("").as_str(), acknowledgement, OMITTED].map(|text| self.count.text(text));
        texts.into_iter().map(|tokens| tokens + MESSAGE_OVERHEAD + Tokens(1)).sum()
    }
}

impl Strategy for Tiered<'_> {
    fn name(&self) -> &'static str {
        "tiered"
    }

    fn plan(&self, path: &[Entry], messages: &[Message], limits: &Limits<'_>) -> Outcome {
        let cuts = Cuts::of(path);
        if cuts.leading() >= path.len() {
            return Outcome::Nothing("there is no conversation yet".to_owned());
        }
        let previous = limits.previous.filter(|compaction| compaction.covered() <= path.len());
        Planning { tiered: self, path, messages, limits, previous, cuts }.plan()
    }
}

struct Planning<'a> {
    tiered: &'a Tiered<'a>,
    path: &'a [Entry],
    messages: &'a [Message],
    limits: &'a Limits<'a>,
    previous: Option<&'a Compaction>,
    cuts: Cuts,
}

// What is shown as messages before the current topic: pins, and the request that the current exchange is about.
struct Kept<'a> {
    pins: Vec<Range<usize>>,
    opening: Option<(Range<usize>, Shown<'a>)>,
}

impl Kept<'_> {
    fn tokens(&self, path: &[Entry]) -> Tokens {
        let opening =
            self.opening.as_ref().map_or(Tokens::ZERO, |(range, shown)| shown.tokens(range.clone()));
        tokens_of(path, self.pins.iter().flat_map(Clone::clone)) + opening
    }

    fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges = self.pins.clone();
        ranges.extend(self.opening.as_ref().map(|(range, _)| range.clone()));
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }
}

impl<'a> Planning<'a> {
    fn plan(self) -> Outcome {
        let settings = &self.tiered.settings;
        let budget = self.limits.budget;
        let (start, reveals) = (self.start(), self.reveals());
        let mut sealed = self.topics(start);
        let mut current = sealed.pop().unwrap_or(self.path.len()..self.path.len());
        let mut shown = self.shown(current.clone());

        let kept = self.kept(&current);
        let pieces = self.pieces(start, &sealed, &kept);
        let before = history::cost(&pieces)
            + shown.tokens(current.clone())
            + kept.tokens(self.path)
            + self.around(&pieces);
        if self.tiered.due == Due::OverBudget && before <= budget && !reveals {
            return Outcome::Nothing(format!(
                "the conversation has {before} tokens, which fits the budget of {budget}"
            ));
        }

        let parts = self.shorten(&mut shown, &mut current);
        sealed.extend(parts);
        let mut kept = self.kept(&current);
        let mut pieces = self.pieces(start, &sealed, &kept);
        let used = |kept: &Kept<'_>, pieces: &[Piece], shown: &Shown<'_>| {
            shown.tokens(current.clone()) + kept.tokens(self.path) + self.around_all(pieces)
        };
        if used(&kept, &pieces, &shown) > budget {
            shown.truncate(current.clone(), settings.max_message_chars, &self.cuts.pinned(self.limits.pins));
        }
        if used(&kept, &pieces, &shown) > budget && kept.opening.take().is_some() {
            pieces = self.pieces(start, &sealed, &kept);
        }

        let allowed = self.allocation(budget - used(&kept, &pieces, &shown));
        let summarised = history::summarise_topics(&mut pieces, settings, allowed);
        let (mut pieces, merged) = history::merge_topics(pieces, settings, allowed);
        let dropped = history::drop_bulks(&mut pieces, allowed);
        let pieces = history::join_dropped(pieces);

        let after = history::cost(&pieces)
            + shown.tokens(current.clone())
            + kept.tokens(self.path)
            + self.around(&pieces);
        let effects = [summarised, merged, dropped];
        let changed = shown.changed || effects.contains(&Effect::Changed);
        if !reveals && !changed && after <= budget {
            return Outcome::Nothing("no tier exceeds its share".to_owned());
        }
        if !reveals && after >= before {
            return Outcome::Nothing("summaries would not make it smaller".to_owned());
        }
        Outcome::Compact(self.written(pieces, &kept, &shown, current))
    }

    // Where what no summary stands for begins: behind the last summary of the compaction in force.
    fn start(&self) -> usize {
        let hidden =
            |segment: &&Segment| matches!(segment, Segment::Summary { .. } | Segment::Omitted { .. });
        let segments = self.previous.map_or(&[][..], |compaction| &compaction.segments);
        let last = segments.iter().rev().find(hidden).map_or(0, |segment| segment.range().end);
        last.max(self.cuts.leading())
    }

    // Whether a message that must be shown is hidden by the compaction in force.
    fn reveals(&self) -> bool {
        let segments = self.previous.map_or(&[][..], |compaction| &compaction.segments);
        let pins = self.cuts.pinned(self.limits.pins);
        segments.iter().any(|segment| match segment {
            Segment::Summary { range, .. } | Segment::Omitted { range, .. } => touched(range, &pins),
            _ => false,
        })
    }

    // The topics from `start` on; the last is the current one.
    fn topics(&self, start: usize) -> Vec<Range<usize>> {
        let settings = &self.tiered.settings;
        let mut boundaries = boundaries_after(start, self.path, self.messages, settings, &self.tiered.seals);
        boundaries.extend(self.parted(start).map(|at| Boundary { at, why: Why::Parted }));
        boundaries.sort_by_key(|boundary| boundary.at);
        let boundaries = seal_above(self.path, boundaries, start, settings.seal_above(self.limits.budget));
        let legal = |boundary: &&Boundary| match boundary.why {
            Why::Parted => true,
            _ => boundary.at > start && self.cuts.check(boundary.at).is_ok(),
        };
        let cuts: Vec<usize> = boundaries.iter().filter(legal).map(|boundary| boundary.at).collect();
        let ends = cuts.iter().copied().chain([self.path.len()]);
        let starts = [start].into_iter().chain(cuts.iter().copied());
        starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
    }

    // Where the compaction in force parted what it shows. What was a topic of its own then, such as what a pin kept
    // before the current topic, does not grow together with the current one again.
    fn parted(&self, start: usize) -> impl Iterator<Item = usize> {
        let segments = self.previous.map_or(&[][..], |compaction| &compaction.segments);
        let starts = segments.iter().map(|segment| segment.range().start);
        starts.filter(move |at| *at > start && self.cuts.check_turn(*at).is_ok())
    }

    fn shown(&self, range: Range<usize>) -> Shown<'a> {
        let segments = self.previous.map_or(&[][..], |compaction| &compaction.segments);
        let marks = segments.iter().flat_map(|segment| match segment {
            Segment::Pruned { marks, .. } => marks.as_slice(),
            _ => &[] as &[Marked],
        });
        Shown::new(self.path, self.messages, self.tiered.count, range, marks)
    }

    // Step 1. Where it is not enough, the topic is sealed inside the exchange that is too large; its earlier parts.
    fn shorten(&self, shown: &mut Shown<'a>, current: &mut Range<usize>) -> Vec<Range<usize>> {
        let settings = &self.tiered.settings;
        let pins = self.cuts.pinned(self.limits.pins);
        let share = settings.current_topic_share.of(self.limits.budget).min(self.room(&pins, current.start));
        let request = self.request().filter(|at| *at >= current.start).unwrap_or(current.start);
        // The request and what the model has not read yet are the last to be cut short.
        let unread = self.cuts.atom(self.path.len() - 1).start;
        for stretch in [current.start..request, request + 1..unread] {
            if shown.tokens(current.clone()) > share {
                shown.truncate(stretch, settings.max_message_chars, &pins);
            }
        }
        if shown.tokens(current.clone()) <= share {
            return Vec::new();
        }
        let most = settings.seal_above(self.limits.budget).min(self.room(&pins, self.path.len()));
        let opening = self.opening().map_or(Tokens::ZERO, |(range, shown)| shown.tokens(range));
        let Some(cut) = shown.cut(&self.cuts, current, most - opening) else { return Vec::new() };
        let parts = shown.parts(&self.cuts, current.start..cut, most);
        current.start = cut;
        parts
    }

    // What is left of the budget beside the pins before `end` and the words around summaries.
    fn room(&self, pins: &[Range<usize>], end: usize) -> Tokens {
        let before = pins.iter().flat_map(Clone::clone).filter(|at| (self.cuts.leading()..end).contains(at));
        let words = Tokens(self.tiered.words().0.saturating_mul(pins.len() as u64 + 1));
        self.limits.budget - tokens_of(self.path, before) - words
    }

    // The message that the newest exchange starts with.
    fn request(&self) -> Option<usize> {
        resume::last_request(self.path, self.messages)
    }

    // The same, cut short where it is long, unless it takes too much of the current topic's room.
    fn opening(&self) -> Option<(Range<usize>, Shown<'a>)> {
        let room = Tokens(self.tiered.settings.seal_above(self.limits.budget).0 / 2);
        let range = self.cuts.atom(self.request()?);
        let mut shown = self.shown(range.clone());
        if shown.tokens(range.clone()) > room {
            shown.truncate(range.clone(), self.tiered.settings.max_message_chars, &[]);
        }
        (shown.tokens(range.clone()) <= room).then_some((range, shown))
    }

    fn kept(&self, current: &Range<usize>) -> Kept<'a> {
        let first = self.cuts.leading();
        let pins = self.cuts.pinned(self.limits.pins).into_iter();
        let pins = pins.map(|range| range.start.max(first)..range.end.min(current.start));
        let pins: Vec<_> = pins.filter(|range| !range.is_empty()).collect();
        let opening =
            self.opening().filter(|(range, _)| range.end <= current.start && !touched(range, &pins));
        Kept { pins, opening }
    }

    // Everything between the leading system messages and the current topic but what is kept.
    fn pieces(&self, start: usize, sealed: &[Range<usize>], kept: &Kept<'_>) -> Vec<Piece> {
        let kept = kept.ranges();
        let messages = |range: Range<usize>| {
            let tokens = tokens_of(self.path, range.clone());
            Piece::messages(range, tokens)
        };
        let mut pieces = Vec::new();
        let segments = self.previous.map_or(&[][..], |compaction| &compaction.segments);
        for segment in segments.iter().filter(|segment| segment.range().end <= start) {
            let range = segment.range().start.max(self.cuts.leading())..segment.range().end;
            match segment {
                Segment::Summary { text, level, .. } if !touched(&range, &kept) => {
                    pieces.push(Piece::text(range, text.clone(), *level, self.tiered.count.text(text)));
                }
                Segment::Omitted { .. } => pieces.extend(without(range, &kept).map(Piece::dropped)),
                _ => pieces.extend(without(range, &kept).map(messages)),
            }
        }
        let topics = sealed.iter().flat_map(|range| without(range.clone(), &kept));
        pieces.extend(topics.map(messages));
        pieces
    }

    // Each tier's share, or less where the current topic and the pins leave less.
    fn allocation(&self, rest: Tokens) -> Allocation {
        let settings = &self.tiered.settings;
        let topics = settings.historical_topics_share.of(self.limits.budget);
        let bulks = settings.bulk_archives_share.of(self.limits.budget);
        let both = u128::from((topics + bulks).0);
        let part = u128::from(rest.0) * u128::from(topics.0) / both.max(1);
        let part = Tokens(u64::try_from(part).unwrap_or(u64::MAX));
        let (topics, bulks) = if topics + bulks > rest { (part, rest - part) } else { (topics, bulks) };
        let usable =
            |tokens: Tokens| if tokens < LEAST_SUMMARY + LEAST_SUMMARY { Tokens::ZERO } else { tokens };
        Allocation { topics: usable(topics), bulks: usable(bulks) }
    }

    // The words around the summaries, as the pieces are.
    fn around(&self, pieces: &[Piece]) -> Tokens {
        self.words(pieces.iter().filter(|piece| !piece.is_shown()))
    }

    // The words around the summaries once every piece is one, or as the pieces are, if those are more.
    fn around_all(&self, pieces: &[Piece]) -> Tokens {
        self.words(pieces.iter()).max(self.around(pieces))
    }

    fn words<'p>(&self, hidden: impl Iterator<Item = &'p Piece>) -> Tokens {
        let mut runs = 0_u64;
        let mut end = None;
        for piece in hidden {
            runs += u64::from(end != Some(piece.range.start));
            end = Some(piece.range.end);
        }
        Tokens(self.tiered.words().0.saturating_mul(runs))
    }

    fn written(&self, pieces: Vec<Piece>, kept: &Kept<'_>, shown: &Shown<'_>, current: Range<usize>) -> Plan {
        let verbatim = |range: Range<usize>| Planned::Segment(Segment::Verbatim { range });
        let leading = 0..self.cuts.leading();
        let mut parts: Vec<(usize, Planned)> =
            pieces.into_iter().map(|piece| (piece.range.start, piece.planned())).collect();
        parts.extend(kept.pins.iter().map(|range| (range.start, verbatim(range.clone()))));
        parts.extend(kept.opening.iter().map(|(range, shown)| (range.start, shown.planned(range.clone()))));
        parts.extend((!leading.is_empty()).then(|| (0, verbatim(leading))));
        parts.extend((!current.is_empty()).then(|| (current.start, shown.planned(current))));
        parts.sort_by_key(|(start, _)| *start);
        Plan {
            parts: parts.into_iter().map(|(_, part)| part).collect(),
            placement: self.tiered.placement,
            wording: self.tiered.wording.clone(),
            favours: Favours::Recent,
        }
    }
}

fn tokens_of(path: &[Entry], messages: impl Iterator<Item = usize>) -> Tokens {
    messages.filter_map(|at| path.get(at)).map(|entry| entry.outline.tokens).sum()
}

// Whether any of the ranges, ascending and apart, has a message of this one.
fn touched(range: &Range<usize>, ranges: &[Range<usize>]) -> bool {
    let after = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(after).is_some_and(|other| other.start < range.end)
}

// What is left of a range without the others, which are ascending and apart.
fn without(range: Range<usize>, others: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let first = others.partition_point(|other| other.end <= range.start);
    let inside =
        others.iter().skip(first).take_while(|other| other.start < range.end).cloned().collect::<Vec<_>>();
    let starts = std::iter::once(range.start).chain(inside.clone().into_iter().map(|other| other.end));
    let ends = inside.into_iter().map(|other| other.start).chain([range.end]);
    starts.zip(ends).filter(|(start, end)| start < end).map(|(start, end)| start..end)
}
