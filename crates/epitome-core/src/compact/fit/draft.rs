//! A plan in the making: what is shown, what is hidden, what it costs. Reading a plan mends what is illegal in it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::plan::{Favours, Plan, Planned, SummaryTask};
use super::super::segment::{Level, Segment};
use super::super::thinking;
use super::super::view::Wording;
use super::Fitted;
use super::bound::{Caps, Words};
use super::ground::Ground;
use crate::prune::{Mark, Marked};
use crate::units::{Chars, Tokens};

/// What becomes of a stretch.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Shown,
    Summary(Summary),
    Omitted(String),
}

/// A summary that is to be written, or is written already.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) level: Level,
    pub(super) previous: Vec<String>,
    pub(super) fresh: Range<usize>,
    pub(super) wanted: Tokens,
    pub(super) cap: Tokens,
    pub(super) max_chars: Option<Chars>,
    pub(super) written: Option<(String, Tokens)>,
}

#[derive(Clone, Debug)]
pub(super) struct Zone {
    pub(super) range: Range<usize>,
    pub(super) fate: Fate,
}

impl Zone {
    pub(super) fn is_hidden(&self) -> bool {
        !matches!(self.fate, Fate::Shown)
    }
}

/// A mark, what it makes of its block's cost, and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) marked: Marked,
    pub(super) tokens: Tokens,
    pub(super) origin: Origin,
}

/// Where a mark comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The plan has it.
    Plan,
    /// A tool result was pruned.
    Pruned,
    /// A large item was cut short.
    Shortened,
}

#[derive(Clone)]
pub(super) struct Draft<'g> {
    pub(super) ground: &'g Ground<'g>,
    pub(super) zones: Vec<Zone>,
    pub(super) marks: BTreeMap<(usize, usize), Held>,
    pub(super) words: Words,
    pub(super) wording: Wording,
    pub(super) notes: Vec<String>,
    /// Whether the plan had to be mended to be legal.
    pub(super) mended: bool,
    /// Whether all thinking goes.
    pub(super) without_thinking: bool,
    favours: Favours,
    level: Level,
    caps: Caps,
    // What the messages before each one cost together.
    sums: Vec<Tokens>,
}

impl<'g> Draft<'g> {
    pub(super) fn of(plan: &Plan, ground: &'g Ground<'g>) -> Self {
        let level = plan.parts.iter().rev().find_map(|part| match part {
            Planned::Summary(SummaryTask { level, .. })
            | Planned::Segment(Segment::Summary { level, .. }) => Some(*level),
            Planned::Segment(_) => None,
        });
        let mut draft = Self {
            ground,
            zones: Vec::new(),
            marks: BTreeMap::new(),
            words: Words::of(&plan.wording, ground.count),
            wording: plan.wording.clone(),
            notes: Vec::new(),
            mended: false,
            without_thinking: false,
            favours: plan.favours,
            level: level.unwrap_or(Level::Checkpoint),
            caps: Caps::Wanted,
            sums: Vec::new(),
        };
        draft.read(plan);
        draft.take_marks(plan);
        draft.reckon();
        draft
    }

    pub(super) fn with(mut self, caps: Caps) -> Self {
        self.caps = caps;
        self
    }

    pub(super) fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.zones.iter().filter_map(|zone| match &zone.fate {
            Fate::Summary(summary) => Some(summary),
            _ => None,
        })
    }

    /// Whether summaries have the first right to the budget, and no pin has it.
    pub(super) fn is_for_its_summaries(&self) -> bool {
        self.ground.pinned.is_empty() && self.favours == Favours::Summaries
    }

    /// What messages cost together, their marks considered.
    pub(super) fn cost_of(&self, range: Range<usize>) -> Tokens {
        let sum = |at: usize| self.sums.get(at).or(self.sums.last()).copied().unwrap_or_default();
        sum(range.end) - sum(range.start)
    }

    /// Where the last stretch of shown messages starts; the length of the path where it ends hidden.
    pub(super) fn tail(&self) -> usize {
        let length = self.ground.path.len();
        let last = self.zones.last().filter(|zone| !zone.is_hidden());
        last.map_or(length, |zone| zone.range.start.max(self.ground.cuts.leading()))
    }

    /// A summary of messages that were shown so far.
    pub(super) fn summary_over(&self, range: Range<usize>, wanted: Tokens) -> Summary {
        let task = SummaryTask::over(range, self.level, self.ground.previous, wanted);
        let SummaryTask { fresh, previous, level, max_chars, .. } = task;
        Summary { level, previous, fresh, wanted, cap: wanted, max_chars, written: None }
    }

    /// Counts anew after marks have changed.
    pub(super) fn reckon(&mut self) {
        let ground = self.ground;
        let mut marks = self.marks.iter().peekable();
        let mut sum = Tokens::ZERO;
        self.sums.clear();
        self.sums.push(sum);
        for message in 0..ground.path.len() {
            let mut cost = ground.cost(message);
            while let Some(((_, block), held)) = marks.next_if(|((marked, _), _)| *marked == message) {
                cost = cost - ground.block_cost(message, *block, None) + held.tokens;
            }
            sum += cost;
            self.sums.push(sum);
        }
    }

    // Pins and leading system messages are shown, and an atom is hidden as soon as a part of it is.
    fn read(&mut self, plan: &Plan) {
        let ground = self.ground;
        let mut owners: Vec<Option<usize>> = vec![None; ground.path.len()];
        for (number, part) in plan.parts.iter().enumerate() {
            let shown = matches!(part, Planned::Segment(Segment::Verbatim { .. } | Segment::Pruned { .. }));
            for owner in owners.get_mut(range_of(part)).unwrap_or_default() {
                *owner = (!shown).then_some(number);
            }
        }
        let before = owners.clone();
        let leading = 0..ground.cuts.leading();
        for kept in std::iter::once(&leading).chain(&ground.pinned) {
            owners.get_mut(kept.clone()).unwrap_or_default().fill(None);
        }
        let mut at = leading.end;
        while at < owners.len() {
            let atom = ground.cuts.atom(at);
            at = atom.end.max(at + 1);
            let Some(owners) = owners.get_mut(atom) else { continue };
            if let Some(hidden) = owners.iter().find_map(|owner| *owner) {
                owners.fill(Some(hidden));
            }
        }
        self.mended = owners != before;
        let mut start = 0;
        for stretch in owners.chunk_by(|left, right| left == right) {
            let range = start..start + stretch.len();
            start = range.end;
            let owner = stretch.first().copied().flatten().and_then(|number| plan.parts.get(number));
            let fate = owner.map_or(Fate::Shown, |part| self.fate(part, &range));
            self.zones.push(Zone { range, fate });
        }
    }

    // What becomes of a stretch that belongs to a part, all of it or what mending made of it.
    fn fate(&self, part: &Planned, range: &Range<usize>) -> Fate {
        let (whole, wanted) = (range_of(part), self.wanted(part));
        let continued = |from: usize| if whole == *range { from..whole.end } else { from..range.end };
        let starts_alike = range.start == whole.start && range.end >= whole.end;
        match part {
            Planned::Summary(task) if starts_alike => {
                let from = if task.fresh.is_empty() { whole.end } else { task.fresh.start };
                let fresh = if whole == *range { task.fresh.clone() } else { continued(from) };
                let SummaryTask { previous, level, max_chars, .. } = task.clone();
                Fate::Summary(Summary {
                    level,
                    previous,
                    fresh,
                    wanted,
                    cap: wanted,
                    max_chars,
                    written: None,
                })
            }
            Planned::Segment(Segment::Summary { text, level, .. }) if starts_alike => {
                let alike = whole == *range;
                Fate::Summary(Summary {
                    level: *level,
                    previous: if alike { Vec::new() } else { vec![text.clone()] },
                    fresh: continued(whole.end),
                    wanted,
                    cap: wanted,
                    max_chars: None,
                    written: alike.then(|| (text.clone(), wanted)),
                })
            }
            Planned::Summary(_) | Planned::Segment(Segment::Summary { .. }) => {
                // A part of the messages gets a part of the room.
                let tokens = |range: &Range<usize>| -> u64 {
                    range.clone().map(|message| self.ground.cost(message).0).sum::<u64>().max(1)
                };
                let share = wanted.0.saturating_mul(tokens(range)) / tokens(&whole);
                Fate::Summary(
                    self.summary_over(range.clone(), Tokens(share.clamp(64.min(wanted.0), wanted.0))),
                )
            }
            Planned::Segment(Segment::Omitted { note, .. }) => Fate::Omitted(note.clone()),
            Planned::Segment(Segment::Verbatim { .. } | Segment::Pruned { .. }) => Fate::Shown,
        }
    }

    /// Takes a mark, which stands for any that its block had before.
    pub(super) fn hold(&mut self, marked: Marked, tokens: Tokens, origin: Origin) {
        self.marks.insert((marked.message, marked.block), Held { marked, tokens, origin });
    }

    fn wanted(&self, part: &Planned) -> Tokens {
        match part {
            Planned::Summary(task) => task.max_tokens,
            Planned::Segment(Segment::Summary { text, .. }) => self.ground.count.text(text),
            Planned::Segment(_) => Tokens::ZERO,
        }
    }

    fn take_marks(&mut self, plan: &Plan) {
        let pruned = plan.parts.iter().filter_map(|part| match part {
            Planned::Segment(Segment::Pruned { marks, .. }) => Some(marks),
            _ => None,
        });
        for marked in pruned.flatten() {
            // Thinking stays or goes together, pinned or not; everything else of a pin stays.
            let kept = self.ground.is_pinned(marked.message) || marked.message < self.ground.cuts.leading();
            if marked.mark == Mark::Remove || !kept {
                let mark = Some((marked.mark, marked.speaker.as_str()));
                let tokens = self.ground.block_cost(marked.message, marked.block, mark);
                self.hold(marked.clone(), tokens, Origin::Plan);
            } else {
                self.mended = true;
            }
        }
    }

    /// The plan, with as much room for its summaries as there is.
    pub(super) fn finish(mut self, plan: &Plan) -> Fitted {
        self.allot(self.caps);
        let bound = self.bound_by_caps();
        if bound > self.ground.budget {
            let (budget, minimum) = (self.ground.budget, self.ground.minimum);
            self.notes.push(format!("budget {budget:#} is below the minimum of {minimum:#} tokens"));
        }
        self.note_changes();
        let mut parts = Vec::new();
        for zone in &self.zones {
            let range = zone.range.clone();
            match &zone.fate {
                Fate::Shown => self.show(range, &mut parts),
                Fate::Omitted(note) => {
                    parts.push(Planned::Segment(Segment::Omitted { range, note: note.clone() }));
                }
                Fate::Summary(summary) => parts.push(summary.clone().planned(range)),
            }
        }
        let plan = Plan { parts, placement: plan.placement, wording: self.wording, favours: plan.favours };
        Fitted { plan, notes: self.notes }
    }

    fn note_changes(&mut self) {
        let shown = self.zones.iter().filter(|zone| !zone.is_hidden());
        let marks = shown.flat_map(|zone| self.marks.range((zone.range.start, 0)..(zone.range.end, 0)));
        let (mut pruned, mut cut) = (0, 0);
        for (_, held) in marks {
            pruned += usize::from(held.origin == Origin::Pruned);
            cut += usize::from(held.origin == Origin::Shortened);
        }
        let summaries = self.summaries().filter(|summary| summary.cap < summary.wanted).count();
        let mut note = |what: &str, number: usize| {
            if number > 0 {
                self.notes.push(format!("{what}: {number}"));
            }
        };
        note("tool results pruned in what is kept", pruned);
        note("large items cut short in what is kept", cut);
        note("summaries given less room than they wanted", summaries);
    }

    // Only the stretch from the first marked message to the last is pruned.
    fn show(&self, range: Range<usize>, parts: &mut Vec<Planned>) {
        let held = self.marks.range((range.start, 0)..(range.end, 0));
        let mut marks: BTreeMap<(usize, usize), Marked> =
            held.map(|(place, held)| (*place, held.marked.clone())).collect();
        let from = range.start.max(self.ground.cuts.leading());
        if self.without_thinking {
            let gone = thinking::removal(from, self.ground.path.get(from..range.end).unwrap_or_default());
            marks.extend(gone.into_iter().map(|marked| ((marked.message, marked.block), marked)));
        }
        let first = marks.first_key_value().map(|((message, _), _)| *message);
        let last = marks.last_key_value().map(|((message, _), _)| *message);
        let pruned = first.zip(last).map_or(range.end..range.end, |(first, last)| first..last + 1);
        let verbatim = |range: Range<usize>| Planned::Segment(Segment::Verbatim { range });
        if range.start < pruned.start {
            parts.push(verbatim(range.start..pruned.start));
        }
        if !pruned.is_empty() {
            let marks = marks.into_values().collect();
            parts.push(Planned::Segment(Segment::Pruned { range: pruned.clone(), marks }));
        }
        if pruned.end < range.end {
            parts.push(verbatim(pruned.end..range.end));
        }
    }
}

impl Summary {
    fn planned(self, range: Range<usize>) -> Planned {
        let Summary { level, previous, fresh, cap, max_chars, written, .. } = self;
        match written {
            Some((text, _)) => Planned::Segment(Segment::Summary { range, text, level }),
            None => {
                Planned::Summary(SummaryTask { range, fresh, previous, level, max_tokens: cap, max_chars })
            }
        }
    }
}

fn range_of(part: &Planned) -> Range<usize> {
    match part {
        Planned::Segment(segment) => segment.range().clone(),
        Planned::Summary(task) => task.range.clone(),
    }
}
