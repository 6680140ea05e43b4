//! One summary to be written: what it is of, what is known beside it, how long it may be.

use std::ops::Range;
use std::sync::Arc;

use epitome_core::checkpoint::{Checkpoint, merge};
use epitome_core::compact::cuts::Cuts;
use epitome_core::compact::{Level, Summarizer, SummaryError, SummaryRequest};
use epitome_core::digest::Digest;
use epitome_core::loss::Sources;
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_core::{Block, Chars, Entry, Message, Outline, Role, Tokens};

use super::conversation::{Telling, pieces};

/// Counts as budgets do.
pub(crate) fn counter() -> Counter {
    Counter::new(Bpe::o200k(), ImagePricing::Anthropic)
}

/// How long a summary may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) tokens: Tokens,
    pub(super) chars: Option<Chars>,
}

impl Room {
    /// Whether a text is within it.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.chars.is_none_or(|most| Chars::of(text) <= most) && counter().text(text) <= self.tokens
    }
}

/// One summary to be written.
pub(super) struct Job<'a> {
    pub(super) request: &'a SummaryRequest<'a>,
    pub(super) beside: Vec<&'a str>,
    /// All messages that it is to stand for, where they are at hand.
    originals: Option<&'a [Message]>,
    /// The other messages that the model sees.
    seen: Vec<&'a Message>,
    /// The checkpoints that it replaces, as one, where they are checkpoints.
    pub(super) earlier: Option<Checkpoint>,
    pub(super) room: Room,
    /// What each message comes to when it is told.
    pub(super) sizes: Vec<Tokens>,
}

impl<'a> Job<'a> {
    pub(super) fn new(request: &'a SummaryRequest<'a>, telling: &Telling) -> Self {
        let count = counter();
        let told = (request.first..).zip(request.messages);
        let size = |(number, message): (usize, &Message)| {
            pieces(message, number, telling).iter().map(|text| count.text(text)).sum()
        };
        let beside: Vec<&str> = request.previous.iter().map(String::as_str).collect();
        // A summary that is no shorter than what it stands for is of no use.
        let messages: Tokens = request.messages.iter().map(|message| count.message(message)).sum();
        let before: Tokens = beside.iter().map(|text| count.text(text)).sum();
        let most = Tokens((messages + before).0.saturating_sub(1).max(1));
        let room = Room { tokens: request.max_tokens.min(most), chars: request.max_chars };
        let (seen, sizes) = (Vec::new(), told.map(size).collect());
        Self { request, earlier: earlier(request), beside, originals: None, seen, room, sizes }
    }

    /// The same where messages of the path are at hand; those that are not may be empty.
    pub(super) fn on(mut self, path: &'a [Message]) -> Self {
        let all = path.get(self.request.range.clone()).filter(|all| !all.is_empty());
        self.originals = all.filter(|all| all.iter().all(|message| !message.blocks.is_empty()));
        self
    }

    /// The same for a model that sees these messages, too.
    pub(super) fn knowing(mut self, others: &'a [Message]) -> Self {
        self.seen.extend(others);
        self
    }

    pub(super) fn sources(&self) -> Sources<'_> {
        Sources {
            messages: self.request.messages,
            first: self.request.first,
            beside: &self.beside,
            seen: &self.seen,
            shown: &[],
        }
    }

    /// What the summary stands for in the end: not only what is new, where the rest is at hand.
    pub(super) fn all(&self) -> Sources<'_> {
        match self.originals {
            Some(messages) => Sources { messages, first: self.request.range.start, ..self.sources() },
            None => self.sources(),
        }
    }

    /// What is quoted beside the conversation where the summary is written anew.
    pub(super) fn quotes(&self) -> Vec<(String, String)> {
        if let Some(earlier) = &self.earlier {
            return vec![("summary".to_owned(), earlier.render())];
        }
        let named = |(number, text): (usize, &String)| match self.request.previous {
            [_] => ("summary".to_owned(), text.clone()),
            _ => (format!("summary {number}"), text.clone()),
        };
        (1..).zip(self.request.previous).map(named).collect()
    }

    /// Whether the user asks for something in the messages, so that what was asked for before is no longer the latest.
    pub(super) fn has_request(&self) -> bool {
        let says = |block: &Block| matches!(block, Block::Text(text) if !text.text.trim().is_empty());
        let asks = |message: &Message| message.role == Role::User && message.blocks.iter().any(says);
        self.request.messages.iter().any(asks)
    }

    /// Whether the messages end within a task whose later steps are not among them.
    pub(super) fn is_split(&self) -> bool {
        let answers = |block: &Block| matches!(block, Block::ToolResult(_));
        let last = self.request.messages.last();
        last.is_some_and(|last| last.role == Role::Tool || last.blocks.iter().any(answers))
    }

    /// The messages that can only be told together, by their places.
    pub(super) fn atoms(&self) -> Vec<Range<usize>> {
        let path = path(self.request.messages, &counter());
        let cuts = Cuts::of(&path);
        let mut atoms: Vec<Range<usize>> = (0..cuts.leading()).map(|at| at..at + 1).collect();
        let mut at = cuts.leading();
        while at < path.len() {
            let end = cuts.atom(at).end.max(at + 1);
            atoms.push(at..end);
            at = end;
        }
        atoms
    }
}

// Several checkpoints are one by the rules of code; texts of another form are left to the model.
fn earlier(request: &SummaryRequest<'_>) -> Option<Checkpoint> {
    const FEWEST: usize = 2;
    if request.level != Level::Checkpoint {
        return None;
    }
    let parsed = request.previous.iter().map(|text| Checkpoint::parse(text));
    let known = parsed.map(|parsed| (parsed.known_headings >= FEWEST).then_some(parsed.checkpoint));
    known.collect::<Option<Vec<_>>>()?.into_iter().reduce(merge)
}

/// The outlines of messages.
fn path(messages: &[Message], counter: &Counter) -> Vec<Entry> {
    let entry = |message| Entry { outline: Arc::new(Outline::of(message, counter, 0)), time: None };
    messages.iter().map(entry).collect()
}

/// Picks summaries out of the messages of a request, where nobody has the whole path at hand.
pub(super) struct ByCode;

impl Summarizer for ByCode {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        picked(request)
    }

    fn is_mechanical(&self) -> bool {
        true
    }
}

fn picked(request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
    let count = counter();
    // Messages have the numbers that they have in the path, so what stands before them is taken for empty.
    let blank = std::iter::repeat_with(|| Message::new(Role::Assistant, Vec::new())).take(request.first);
    let messages: Vec<Message> = blank.chain(request.messages.iter().cloned()).collect();
    let path = path(&messages, &count);
    let text = |text: &str| count.text(text);
    let mut digest = Digest::new(&path, &messages, &text);
    digest.summarize(request)
}
