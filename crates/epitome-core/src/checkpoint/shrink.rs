//! Makes a checkpoint smaller, least important entries first.

use std::collections::HashSet;
use std::ops::Range;

use super::entry::{Item, OtherSection, Request};
use super::model::{Checkpoint, LISTS, Section};

/// What shrinking came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// How many entries were dropped.
    pub dropped: usize,
    /// Whether the goal or the latest request had to be cut short.
    pub cut: bool,
    /// Whether the rest fits; it does not only where not even the shortest goal and request do.
    pub fits: bool,
}

impl Checkpoint {
    /// Drops entries until the rendered text fits.
    ///
    /// The order of importance is that of spec 008.1 v4: recent progress and decisions, then critical context,
    /// then constraints and preferences, then conversation dynamics; older completed items go first of all, then
    /// files that were only read, excerpts and names.
    /// Goal and latest request are never dropped, only cut short. `fits` is asked O(log k) times for k entries,
    /// and a bounded number of times more to take back in what still fits.
    pub fn shrink(&mut self, fits: &dyn Fn(&str) -> bool) -> Shrunk {
        if fits(&self.render()) {
            return Shrunk { dropped: 0, cut: false, fits: true };
        }
        // A text that long is a paste, not a wish; it must not push out everything else.
        const LONGEST: usize = 2000;
        let cut = self.cut_head(LONGEST);
        let order = self.drop_order();
        let enough = fewest(order.len(), |count| fits(&self.without(first(&order, count)).render()));
        if enough > order.len() {
            *self = self.without(&order);
            let fits = self.cut_to(fits);
            return Shrunk { dropped: order.len(), cut: true, fits };
        }
        let dropped = self.taken_back(first(&order, enough), fits);
        *self = self.without(&dropped);
        Shrunk { dropped: dropped.len(), cut, fits: true }
    }

    // One large entry late in the order may have cost many small ones before it: those that fit come back,
    // more important ones first, in halves so that few questions are asked.
    fn taken_back(&self, dropped: &[Entry], fits: &dyn Fn(&str) -> bool) -> Vec<Entry> {
        const MOST_QUESTIONS: usize = 48;
        let mut gone: Vec<Entry> = dropped.to_vec();
        let mut open = Vec::from([(0, dropped.len().saturating_sub(1))]);
        for _ in 0..MOST_QUESTIONS {
            let Some((start, end)) = open.pop() else { break };
            let Some(candidates) = dropped.get(start..end).filter(|some| !some.is_empty()) else {
                continue;
            };
            let back: HashSet<&Entry> = candidates.iter().collect();
            let rest: Vec<Entry> = gone.iter().filter(|entry| !back.contains(entry)).copied().collect();
            if fits(&self.without(&rest).render()) {
                gone = rest;
            } else if candidates.len() > 1 {
                let middle = start + candidates.len() / 2;
                // The later half is the more important one and is looked at first.
                open.extend([(start, middle), (middle, end)]);
            }
        }
        gone
    }

    // All entries that may be dropped, the least important first; of equals, the older first.
    fn drop_order(&self) -> Vec<Entry> {
        const RECENT: usize = 5;
        let entries = |section: Section, numbers: Range<usize>| -> Vec<Entry> {
            numbers.map(|number| Entry { section, part: 0, number }).collect()
        };
        let all = |section: Section| entries(section, 0..self.items(section).len());
        let recent = |count: usize| count.saturating_sub(RECENT);
        let (done, decided) = (self.done.len(), self.decisions.len());
        let mut other: Vec<Entry> = Vec::new();
        for (part, section) in self.other.iter().enumerate().rev() {
            let numbers = (0..section.items.len()).rev();
            other.extend(numbers.map(|number| Entry { section: Section::Other, part, number }));
        }
        // Of what comes next, the last step is the least important.
        let steps = all(Section::NextSteps).into_iter().rev().collect();
        [
            entries(Section::Done, 0..recent(done)),
            all(Section::Read),
            entries(Section::Excerpts, 0..self.excerpts.len()),
            entries(Section::Names, 0..self.names.len()),
            other,
            all(Section::Dynamics),
            all(Section::Constraints),
            all(Section::Deleted),
            all(Section::Created),
            all(Section::Modified),
            all(Section::Failed),
            all(Section::Context),
            entries(Section::Decisions, 0..recent(decided)),
            entries(Section::Done, recent(done)..done),
            steps,
            entries(Section::Decisions, recent(decided)..decided),
            all(Section::InProgress),
        ]
        .concat()
    }

    fn without(&self, entries: &[Entry]) -> Self {
        let gone: HashSet<&Entry> = entries.iter().collect();
        let kept =
            |section: Section, part: usize, number: usize| !gone.contains(&Entry { section, part, number });
        let mut less = self.clone();
        for section in LISTS {
            if let Some(items) = less.items_mut(section) {
                retain(items, |number| kept(section, 0, number));
            }
        }
        retain(&mut less.excerpts, |number| kept(Section::Excerpts, 0, number));
        retain(&mut less.names, |number| kept(Section::Names, 0, number));
        retain(&mut less.decisions, |number| kept(Section::Decisions, 0, number));
        for (part, section) in less.other.iter_mut().enumerate() {
            retain(&mut section.items, |number| kept(Section::Other, part, number));
        }
        // A heading over nothing tells nothing.
        less.other.retain(|section: &OtherSection| !section.items.is_empty());
        less
    }

    // Cuts goal and request to a length; whether that changed anything.
    fn cut_head(&mut self, most: usize) -> bool {
        let (goal, request) = (self.goal.as_ref(), self.request.as_ref());
        let goal = goal.and_then(|item| Item::new(&cut(item.text(), most)?, item.source()));
        let request = request.and_then(|said| Request::new(&cut(said.text(), most)?, said.source()));
        let changed = goal.is_some() || request.is_some();
        self.goal = goal.or(self.goal.take());
        self.request = request.or(self.request.take());
        changed
    }

    fn cut_to(&mut self, fits: &dyn Fn(&str) -> bool) -> bool {
        let lengths = [self.goal.as_ref().map(Item::text), self.request.as_ref().map(Request::text)];
        let longest =
            lengths.into_iter().flatten().map(|text| text.chars().count()).max().unwrap_or_default();
        let shortened = |less: usize| {
            let mut shorter = self.clone();
            shorter.cut_head(longest.saturating_sub(less).max(1));
            shorter
        };
        let least = fewest(longest, |less| fits(&shortened(less).render()));
        *self = shortened(least);
        least <= longest
    }
}

/// An entry by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    section: Section,
    part: usize,
    number: usize,
}

fn first(order: &[Entry], count: usize) -> &[Entry] {
    order.get(..count).unwrap_or(order)
}

fn retain<T>(list: &mut Vec<T>, kept: impl Fn(usize) -> bool) {
    let mut number = 0;
    list.retain(|_| {
        number += 1;
        kept(number - 1)
    });
}

// The smallest number up to `most` that is enough; one more than `most` where none is.
fn fewest(most: usize, enough: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most + 1);
    while low < high {
        let middle = (low + high) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

// The start of a text that is longer than `most`; `None` where it is not.
fn cut(text: &str, most: usize) -> Option<String> {
    const SIGN: &str = " […]";
    let end = |count: usize| text.char_indices().nth(count).map(|(at, _)| at);
    end(most)?;
    let kept = end(most.saturating_sub(SIGN.chars().count()).max(1))?;
    Some(format!("{}{SIGN}", text.get(..kept)?.trim_end()))
}
