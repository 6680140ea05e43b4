//! What the rules would prune after each message: the seed's literal state, kept up to date as a path grows.
//!
//! Spec 008.1 counts *tool-result messages* from the end, the newest being the first. The first
//! `keep_last_tool_results` are protected; those after the `tool_hard_clear_after`th are cleared, that is
//! those which at least `tool_hard_clear_after` newer ones follow; long ones in between are trimmed.
//!
//! The spec knows one dialect, where parallel results share a message. Others write each into a message of
//! its own, and so do some transcript files. What counts as one here is all the results that answer one
//! turn: tool-result messages with no assistant message between them.

use std::ops::Range;

use super::mark::{Mark, Marked, Rule, Size, Sizes, Subject};
use super::rules;
use super::settings::Settings;
use crate::message::{BlockKind, Role};
use crate::outline::Outline;
use crate::turn::{ToolNames, is_plain_user_message, is_tool_result_message};

/// How far the candidate reaches: all that its marks depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Groups of tool results seen.
    groups: usize,
    /// Long texts that belong to earlier exchanges.
    texts: usize,
}

/// What the candidate has over the adopted marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// What it would gain.
    pub(crate) gain: Size,
    /// The first message it would change.
    pub(crate) first: usize,
}

/// How old a group of tool results is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Protected,
    Recent,
    Old,
}

pub(crate) struct Candidates<'a> {
    settings: &'a Settings,
    names: ToolNames<'a>,
    results: Vec<Block<'a>>,
    groups: Vec<Range<usize>>,
    answering: bool,
    texts: Vec<Block<'a>>,
    earlier_texts: usize,
    pending: Option<Pending>,
}

// A block and the marks it has had so far, each smaller than the one before.
struct Block<'a> {
    subject: Subject<'a>,
    size: Size,
    capped: Option<Mark>,
    recent: Option<Mark>,
    old: Option<Mark>,
}

impl<'a> Block<'a> {
    fn new(subject: Subject<'a>) -> Self {
        Self { subject, size: subject.size(), capped: None, recent: None, old: None }
    }

    // Takes a mark if it makes the block smaller than it is by now.
    fn shrink(&mut self, mark: Mark, sizes: &mut dyn Sizes) -> Option<Size> {
        let after = sizes.after(&self.subject, mark);
        if !after.is_below(self.size) {
            return None;
        }
        let gain = self.size.minus(after);
        self.size = after;
        Some(gain)
    }
}

impl<'a> Candidates<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            names: ToolNames::default(),
            results: Vec::new(),
            groups: Vec::new(),
            answering: false,
            texts: Vec::new(),
            earlier_texts: 0,
            pending: None,
        }
    }

    /// Takes in the next message; what its caps gain, which hold at once.
    pub(crate) fn message(&mut self, at: usize, outline: &'a Outline, sizes: &mut dyn Sizes) -> Size {
        self.names.learn(outline);
        if is_plain_user_message(outline) {
            self.age_texts(sizes);
        }
        let mut capped = Size::default();
        if is_tool_result_message(outline) {
            capped = self.take_results(at, outline, sizes);
        }
        if outline.role == Role::Assistant {
            self.answering = false;
        }
        self.take_texts(at, outline);
        capped
    }

    /// What the candidate has over the adopted marks; `None` where the two are the same.
    pub(crate) fn pending(&self) -> Option<Pending> {
        self.pending
    }

    /// How far the candidate reaches now.
    pub(crate) fn reach(&self) -> Reach {
        Reach { groups: self.groups.len(), texts: self.earlier_texts }
    }

    /// Makes the candidate the adopted state.
    pub(crate) fn adopt(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// The marks of a candidate that reached this far.
    pub(crate) fn marks(&self, reach: Reach) -> Vec<Marked> {
        let mut marks = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let age = self.age(reach.groups.saturating_sub(number));
            for block in self.results.get(group.clone()).unwrap_or_default() {
                let old = block.old.filter(|_| age == Age::Old).map(|mark| (mark, Rule::HardClear));
                let recent =
                    block.recent.filter(|_| age != Age::Protected).map(|mark| (mark, Rule::SoftTrim));
                let capped = block.capped.map(|mark| (mark, Rule::Cap));
                marks.extend(old.or(recent).or(capped).map(|(mark, rule)| block.subject.marked(mark, rule)));
            }
        }
        let texts = self.texts.iter().take(reach.texts);
        marks.extend(texts.filter_map(|text| Some(text.subject.marked(text.old?, Rule::LongText))));
        marks
    }

    // The age of the group at this place from the end, the newest being at 1.
    fn age(&self, place: usize) -> Age {
        if place <= self.settings.keep_last_tool_results {
            Age::Protected
        } else if place <= self.settings.tool_hard_clear_after {
            Age::Recent
        } else {
            Age::Old
        }
    }

    fn take_results(&mut self, at: usize, outline: &'a Outline, sizes: &mut dyn Sizes) -> Size {
        let from = self.results.len();
        if !self.answering {
            self.answering = true;
            self.groups.push(from..from);
            self.age_results(sizes);
        }
        let mut gained = Size::default();
        for (block, content) in outline.blocks.iter().enumerate() {
            let speaker = self.names.of(content).unwrap_or("tool");
            if !rules::is_prunable_result(content, speaker, self.settings) {
                continue;
            }
            let subject = Subject { message: at, block, speaker, outline: content };
            let mut result = Block::new(subject);
            if let Some(mark) = rules::cap(content, speaker, self.settings)
                && let Some(gain) = result.shrink(mark, sizes)
            {
                result.capped = Some(mark);
                gained = gained.plus(gain);
            }
            self.results.push(result);
        }
        if let Some(group) = self.groups.last_mut() {
            group.end = self.results.len();
        }
        gained
    }

    // A new group makes one other leave the protected zone, and one other old.
    fn age_results(&mut self, sizes: &mut dyn Sizes) {
        if !self.settings.tool_pruning_enabled {
            return;
        }
        let leaving = |place: usize| self.groups.len().checked_sub(place + 1);
        let recent = leaving(self.settings.keep_last_tool_results);
        let old = leaving(self.settings.tool_hard_clear_after);
        for block in group_of(&mut self.results, &self.groups, recent) {
            if let Some(mark) = rules::soft_trim(block.subject.outline, block.capped, self.settings)
                && let Some(gain) = block.shrink(mark, sizes)
            {
                block.recent = Some(mark);
                add(&mut self.pending, gain, block.subject.message);
            }
        }
        for block in group_of(&mut self.results, &self.groups, old) {
            let mark = rules::hard_clear(block.subject.outline, block.capped, self.settings);
            if let Some(gain) = block.shrink(mark, sizes) {
                block.old = Some(mark);
                add(&mut self.pending, gain, block.subject.message);
            }
        }
    }

    fn take_texts(&mut self, at: usize, outline: &'a Outline) {
        let speaker = match outline.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            _ => return,
        };
        if self.settings.max_message_chars.is_none() {
            return;
        }
        for (block, content) in outline.blocks.iter().enumerate() {
            if content.kind == BlockKind::Text && rules::long_text(content, self.settings).is_some() {
                let subject = Subject { message: at, block, speaker, outline: content };
                self.texts.push(Block::new(subject));
            }
        }
    }

    // A person speaks: what was said before belongs to earlier exchanges.
    fn age_texts(&mut self, sizes: &mut dyn Sizes) {
        for text in self.texts.iter_mut().skip(self.earlier_texts) {
            if let Some(mark) = rules::long_text(text.subject.outline, self.settings)
                && let Some(gain) = text.shrink(mark, sizes)
            {
                text.old = Some(mark);
                add(&mut self.pending, gain, text.subject.message);
            }
        }
        self.earlier_texts = self.texts.len();
    }
}

fn group_of<'b, 'a>(
    results: &'b mut [Block<'a>],
    groups: &[Range<usize>],
    number: Option<usize>,
) -> &'b mut [Block<'a>] {
    let group = number.and_then(|number| groups.get(number)).cloned().unwrap_or(0..0);
    results.get_mut(group).unwrap_or_default()
}

fn add(pending: &mut Option<Pending>, gain: Size, message: usize) {
    let sum = pending.get_or_insert(Pending { gain: Size::default(), first: message });
    sum.gain = sum.gain.plus(gain);
    sum.first = sum.first.min(message);
}
