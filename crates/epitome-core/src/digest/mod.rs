//! The offline summary: what the work to come will need, picked out of what was said, word for word.
//!
//! Nothing is rephrased, so nothing can be invented. A stretch of conversation is taken apart into units (lines,
//! sentences, pieces of data) and the things they mention; each is weighed by how likely it is to be needed again
//! (`worth`); what is worth most for its tokens is packed into the room there is (`pack`): quotations where the exact
//! wording matters, bare names where knowing that something exists is enough; and the result is a
//! [`Checkpoint`] like any other (`page`).
//!
//! A summary is always made from the messages themselves, never from an earlier summary of them: however often a
//! conversation is compacted, nothing is copied from a copy.

mod basis;
mod carried;
mod pack;
mod page;
mod parts;
mod plain;
mod questions;
mod quick;
mod reading;
mod recent;
mod said;
mod units;
mod worth;

pub(crate) use self::basis::{AFTER, SOLVED};
pub(crate) use self::parts::written;
pub(crate) use self::plain::NAMES;

use crate::checkpoint::Checkpoint;
use crate::compact::{Level, Summarizer, SummaryError, SummaryRequest};
use crate::message::{Block, Message};
use crate::outline::Entry;
use crate::turn::Place;
use crate::units::{Chars, Tokens};

use self::basis::basis;
use self::pack::{Choice, Ranking, ranked};
use self::page::{page, with_an_end};
use self::parts::parts;
use self::plain::plain;
use self::quick::QuickSet;
use self::reading::Reading;
use self::recent::recent;
use self::worth::Worth;

/// Writes summaries without a model.
pub struct Digest<'a> {
    source: Talk<'a>,
    /// What was read already, as summaries of the same messages are asked for more than once.
    read: Option<Read<'a>>,
}

/// A conversation, and how it is to be read.
#[derive(Clone, Copy)]
struct Talk<'a> {
    path: &'a [Entry],
    messages: &'a [Message],
    count: &'a dyn Fn(&str) -> Tokens,
    masks: bool,
}

/// All that is known of the messages from one on.
struct Read<'a> {
    from: usize,
    reading: Reading<'a>,
    worth: Worth,
}

impl<'a> Digest<'a> {
    /// A summariser for this path.
    pub fn new(path: &'a [Entry], messages: &'a [Message], count: &'a dyn Fn(&str) -> Tokens) -> Self {
        Self { source: Talk { path, messages, count, masks: true }, read: None }
    }

    /// Whether secrets are masked before anything is picked; they are unless this says otherwise.
    pub fn masking(self, masks: bool) -> Self {
        Self { source: Talk { masks, ..self.source }, read: None }
    }

    /// The checkpoint that fits the request.
    pub fn checkpoint(&mut self, request: &SummaryRequest<'_>) -> Checkpoint {
        let talk = self.source;
        let Read { reading, worth, .. } = self.read_from(request.range.start);
        let is_shown = |place: Place| {
            let marked = request.marks.binary_search_by_key(&place, |marked| Place {
                message: marked.message,
                block: marked.block,
            });
            place.message >= request.range.end && marked.is_err()
        };
        reading.show(&is_shown);
        worth.begin(reading);
        let render = |checkpoint: &Checkpoint| rendered(checkpoint, request.level);
        let basis = basis(&talk, request, reading, worth);
        let room = request.max_tokens - (talk.count)(&render(&basis));
        // Costs are estimates: the ranking goes on a little further than they say.
        let ranking = ranked(reading, worth, room.0 as f32 * 1.25 + 16.0);
        let with = |choices: &[Choice]| page(reading, worth, choices, &basis);
        let size = |checkpoint: &Checkpoint| talk.size(&render(checkpoint), request);
        let fullest = fullest(&ranking, &with, &size);
        match request.level {
            Level::Checkpoint => with_an_end(fullest, reading, &size),
            _ => fullest,
        }
    }

    fn read_from(&mut self, from: usize) -> &mut Read<'a> {
        let talk = self.source;
        let read = self.read.take().filter(|read| read.from == from);
        self.read.insert(read.unwrap_or_else(|| talk.read(from)))
    }
}

impl<'a> Talk<'a> {
    fn read(&self, from: usize) -> Read<'a> {
        let parts = parts(self.path, self.messages, from..self.path.len(), self.masks);
        let reading = Reading::of(parts, &self.supplied());
        let after = self.tokens_after();
        let tokens_after = |message: usize| after.get(message).copied().unwrap_or(0);
        let worth = Worth::of(&reading, &tokens_after);
        Read { from, reading, worth }
    }

    // How much of what it may have a text takes, by the stricter of the two caps.
    fn size(&self, text: &str, request: &SummaryRequest<'_>) -> f32 {
        let tokens = (self.count)(text).0 as f32 / request.max_tokens.0.max(1) as f32;
        let chars = request.max_chars.map_or(0.0, |most| Chars::of(text).0 as f32 / most.0.max(1) as f32);
        tokens.max(chars)
    }

    // What the operator says stays at hand whatever is summarised, and so do the names of the tools.
    fn supplied(&self) -> Vec<&'a str> {
        let leading = crate::compact::cuts::leading(self.path);
        let blocks = self.messages.iter().take(leading).flat_map(|message| &message.blocks);
        let text = |block: &'a Block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        };
        let calls = self.path.iter().flat_map(|entry| &entry.outline.blocks);
        let tools = calls.filter_map(|block| block.tool.as_ref()?.name.as_deref()).collect::<QuickSet<_>>();
        blocks.filter_map(text).chain(tools).collect()
    }

    fn tokens_after(&self) -> Vec<u64> {
        let mut after = vec![0; self.path.len()];
        let mut sum = 0;
        for (after, entry) in after.iter_mut().zip(self.path).rev() {
            *after = sum;
            sum += entry.outline.tokens.0;
        }
        after
    }
}

impl Summarizer for Digest<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        Ok(rendered(&self.checkpoint(request), request.level))
    }

    fn is_mechanical(&self) -> bool {
        true
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        let path = self.source.path;
        let Read { reading, worth, .. } = self.read_from(from);
        Some(recent(reading, worth, path, budget))
    }
}

fn rendered(checkpoint: &Checkpoint, level: Level) -> String {
    match level {
        Level::Checkpoint => checkpoint.render(),
        Level::Narrative | Level::Rolling | Level::Topic | Level::Bulk => plain(checkpoint),
    }
}

// As many choices as fit. What the first ones cost tells how far off the estimates are, so few attempts are needed.
fn fullest(
    ranking: &Ranking,
    with: &dyn Fn(&[Choice]) -> Checkpoint,
    size: &dyn Fn(&Checkpoint) -> f32,
) -> Checkpoint {
    const ATTEMPTS: usize = 5;
    const FULL: f32 = 0.994;
    let all = ranking.choices.len();
    if all == 0 {
        return with(&[]);
    }
    let start = |count: usize| with(ranking.choices.get(..count).unwrap_or_default());
    let mut best = start(0);
    let empty = size(&best);
    let (mut low, mut high) = (0, all + 1);
    // The ranking is only a little longer than what fits.
    let mut count = ranking.within(ranking.cost(all) * 0.8);
    for _ in 0..ATTEMPTS {
        count = count.clamp(low + 1, high - 1);
        let page = start(count);
        let taken = size(&page);
        if taken <= 1.0 {
            (low, best) = (count, page);
        } else {
            high = count;
        }
        if low + 1 >= high || (FULL..=1.0).contains(&taken) {
            break;
        }
        let rate = ranking.cost(count) / (taken - empty).max(f32::EPSILON);
        count = ranking.within(rate * (0.998 - empty).max(0.0));
    }
    best
}
