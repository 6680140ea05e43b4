//! Steps that hide more: the cut moves forward, the last turn goes, everything but the pins goes.

use std::ops::Range;

use super::super::view::Wording;
use super::bound::{Caps, Words};
use super::draft::{Draft, Fate, Summary, Zone};
use super::shorten::Of;
use crate::turn::exchanges;
use crate::units::Tokens;

impl<'g> Draft<'g> {
    /// Written summaries become summaries to be written, so that they can be shortened.
    pub(super) fn loosen(&mut self) {
        for zone in &mut self.zones {
            if let Fate::Summary(summary) = &mut zone.fate
                && let Some((text, _)) = summary.written.take()
            {
                summary.previous = vec![text];
                summary.fresh = zone.range.end..zone.range.end;
            }
        }
    }

    /// Summaries that stand next to each other become one.
    pub(super) fn merge(&mut self) {
        let mut merged: Vec<Zone> = Vec::with_capacity(self.zones.len());
        let mut number = 0;
        for zone in std::mem::take(&mut self.zones) {
            match (merged.last_mut(), zone.fate) {
                (Some(Zone { range, fate: Fate::Summary(before) }), Fate::Summary(summary)) => {
                    before.absorb(summary, &zone.range);
                    range.end = zone.range.end;
                    number += 1;
                }
                (_, fate) => merged.push(Zone { range: zone.range, fate }),
            }
        }
        self.zones = merged;
        if number > 0 {
            self.notes.push(format!("summaries merged into their neighbours: {number}"));
        }
    }

    /// The first later cut that fits: before an exchange, or before a turn of an exchange that is too large by itself.
    pub(super) fn move_cut(&self) -> Option<Self> {
        let request = self.ground.request().unwrap_or(0);
        let candidates = self.candidates();
        let (earlier, later) = candidates.split_at(candidates.partition_point(|cut| *cut <= request));
        let found = self.first_fitting(earlier);
        let found = found.or_else(|| self.with_short_request().first_fitting(later));
        found.or_else(|| {
            let mut bare = self.with_short_request();
            bare.without_thinking = true;
            bare.notes.push("cut inside a tool loop that carries thinking, so all thinking goes".to_owned());
            bare.first_fitting(&self.cuts_in_thinking())
        })
    }

    /// The last turn and the request it serves, their largest items cut short.
    pub(super) fn last_turn(&self) -> Option<Self> {
        let ordinary = self.candidates().last().copied();
        let in_thinking = self.cuts_in_thinking().last().copied().filter(|cut| Some(*cut) > ordinary);
        let cut = in_thinking.or(ordinary).unwrap_or(self.tail());
        // A request before the turn leaves room for it; one that is all there is may have the whole budget.
        let is_alone = self.ground.request().is_some_and(|request| request + 1 == self.ground.path.len());
        let mut draft = if is_alone { self.cut_at(cut) } else { self.with_short_request().cut_at(cut) };
        draft.without_thinking = in_thinking.is_some();
        let whole = draft.clone().shortened_to(Of::Seen);
        whole.or_else(|| draft.shortened_to(Of::All))
    }

    /// What the user asked for last, cut short where it must be, and summaries of everything else.
    pub(super) fn request_alone(&self) -> Option<Self> {
        self.ground.request()?;
        let mut draft = self.cut_at(self.ground.path.len());
        draft.notes.push("kept nothing of the last turn but the user's request".to_owned());
        draft.shortened_to(Of::All)
    }

    fn shortened_to(mut self, of: Of) -> Option<Self> {
        self.shorten_largest(Caps::Floor, of).then_some(self)
    }

    /// Summaries of everything but the pins, as few and as short as it takes.
    pub(super) fn pins_alone(mut self) -> Self {
        let length = self.ground.path.len();
        self.zones = self.hiding(self.ground.cuts.leading()..length, None);
        self.merge();
        self.notes = vec!["summarised everything but what is pinned".to_owned()];
        for caps in [Caps::Floor, Caps::Shortest] {
            if self.fits(caps) {
                return self.with(caps);
            }
        }
        self.omit_all_but_largest();
        if !self.fits(Caps::Shortest) {
            self.wording = Wording::default();
            self.words = Words::of(&self.wording, self.ground.count);
            self.notes.push("the words around the summary are the default ones".to_owned());
        }
        self.with(Caps::Shortest)
    }

    fn first_fitting(&self, cuts: &[usize]) -> Option<Self> {
        let fits = |cut: usize| self.bound_of(&self.cut_zones(cut), Caps::Floor) <= self.ground.budget;
        let first = cuts.partition_point(|cut| !fits(*cut));
        let cut = cuts.get(first).copied().filter(|cut| fits(*cut))?;
        let mut draft = self.cut_at(cut);
        let kept = self.ground.path.len() - cut;
        let before = self.ground.path.len() - self.tail();
        draft.notes.push(format!("messages kept at the end: {kept} instead of {before}"));
        Some(draft)
    }

    // Cuts behind the present one. Those inside an exchange only where it has more than half the budget, or is the last.
    fn candidates(&self) -> Vec<usize> {
        let half = Tokens(self.ground.budget.0 / 2);
        let cuts = &self.ground.cuts;
        let tail = self.tail();
        let length = self.ground.path.len();
        let starts = exchanges(self.ground.path.iter().map(|entry| entry.outline.as_ref()));
        let before_first = cuts.leading()..starts.first().map_or(length, |first| first.start);
        let mut found = Vec::new();
        for exchange in std::iter::once(before_first).chain(starts) {
            if exchange.end <= tail {
                continue;
            }
            let open = exchange.end == length || self.cost_of(exchange.clone()) > half;
            let mut at = exchange.start.max(tail + 1);
            let end = if open { exchange.end } else { exchange.start + 1 };
            while let Some(cut) = cuts.next_turn(at).filter(|cut| *cut < end) {
                found.push(cut);
                at = cut + 1;
            }
        }
        found
    }

    fn cuts_in_thinking(&self) -> Vec<usize> {
        let from = self.ground.request().map_or(0, |request| request + 1).max(self.tail() + 1);
        (from..self.ground.path.len()).filter(|at| self.ground.cuts.only_thinking_forbids(*at)).collect()
    }

    fn cut_at(&self, cut: usize) -> Self {
        let mut draft = self.clone();
        draft.zones = self.cut_zones(cut);
        draft
    }

    // The zones with the cut moved here. Behind the user's last request it leaves the request standing.
    fn cut_zones(&self, cut: usize) -> Vec<Zone> {
        let tail = self.tail();
        let request = self.ground.request().filter(|request| (tail..cut).contains(request));
        self.hiding(tail..cut, request)
    }

    fn hiding(&self, hide: Range<usize>, request: Option<usize>) -> Vec<Zone> {
        let mut zones = Zones { draft: self, zones: Vec::with_capacity(self.zones.len() + 2) };
        for zone in &self.zones {
            let hidden = hide.start.max(zone.range.start)..hide.end.min(zone.range.end);
            if zone.is_hidden() || hidden.is_empty() {
                zones.push(zone.clone());
                continue;
            }
            zones.show(zone.range.start..hidden.start);
            let mut at = hidden.start;
            while at < hidden.end {
                let pinned = self.ground.pinned_from(at).next().cloned();
                let request = request.filter(|request| *request >= at).map(|request| request..request + 1);
                let kept = pinned.into_iter().chain(request).min_by_key(|kept| kept.start);
                let kept = kept.unwrap_or(hidden.end..hidden.end);
                zones.hide(at..kept.start.clamp(at, hidden.end));
                zones.show(kept.start.clamp(at, hidden.end)..kept.end.clamp(at, hidden.end));
                at = kept.end.max(at + 1);
            }
            zones.show(hidden.end..zone.range.end);
        }
        zones.zones
    }

    fn with_short_request(&self) -> Self {
        let mut draft = self.clone();
        if let Some(request) = self.ground.request() {
            draft.shorten_message(request, Tokens(self.ground.budget.0 / 3));
        }
        draft
    }

    fn omit_all_but_largest(&mut self) {
        let costs: Vec<Tokens> = self.zones.iter().map(|zone| self.cost_of(zone.range.clone())).collect();
        let summaries =
            self.zones.iter().enumerate().filter(|(_, zone)| matches!(zone.fate, Fate::Summary(_)));
        let largest = summaries.map(|(number, _)| number).max_by_key(|number| costs.get(*number).copied());
        for (number, zone) in self.zones.iter_mut().enumerate() {
            if matches!(zone.fate, Fate::Summary(_)) && Some(number) != largest {
                zone.fate = Fate::Omitted("no room for a summary between what is pinned".to_owned());
            }
        }
    }
}

/// Zones in the making: neighbours of one kind become one.
struct Zones<'d, 'g> {
    draft: &'d Draft<'g>,
    zones: Vec<Zone>,
}

impl Zones<'_, '_> {
    fn push(&mut self, zone: Zone) {
        self.zones.push(zone);
    }

    fn show(&mut self, range: Range<usize>) {
        match self.zones.last_mut() {
            _ if range.is_empty() => {}
            Some(Zone { range: before, fate: Fate::Shown }) => before.end = range.end,
            _ => self.zones.push(Zone { range, fate: Fate::Shown }),
        }
    }

    fn hide(&mut self, range: Range<usize>) {
        match self.zones.last_mut() {
            _ if range.is_empty() => {}
            Some(Zone { range: before, fate: Fate::Summary(summary) }) if summary.written.is_none() => {
                let from = if summary.fresh.is_empty() { before.end } else { summary.fresh.start };
                summary.fresh = from..range.end;
                before.end = range.end;
            }
            _ => {
                // A summary of a little is shorter than a summary of much.
                let most = (self.draft.ground.budget.0 / 4).min(self.draft.cost_of(range.clone()).0 / 2);
                let wanted = Tokens(most.clamp(64, 2_000));
                let fate = Fate::Summary(self.draft.summary_over(range.clone(), wanted));
                self.zones.push(Zone { range, fate });
            }
        }
    }
}

impl Summary {
    // Takes over what the next summary stands for. Its earlier summaries are of use only behind nothing new.
    fn absorb(&mut self, next: Summary, range: &Range<usize>) {
        if self.fresh.is_empty() {
            self.previous.extend(next.previous);
            self.fresh = next.fresh;
        } else {
            self.fresh.end = range.end;
        }
        self.level = next.level;
        self.wanted += next.wanted;
        self.max_chars = self.max_chars.zip(next.max_chars).map(|(left, right)| left + right);
    }
}
