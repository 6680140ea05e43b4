//! A transcript: the messages of one session, and where they stand in its text.

use epitome_core::{Message, RawJson, Tokens};

use super::error::Damaged;
use super::format::Format;
use super::record::{Copy, Record};
use crate::json::Span;
use crate::{dialect::Dialect, layout::Layout};

/// One session or conversation as a file holds it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transcript {
    /// The id under which its tool knows it.
    pub id: Option<String>,
    /// The sub-agent whose conversation it is, where its tool keeps those in files of their own.
    pub agent: Option<String>,
    /// The kind of file it was read from.
    pub format: Format,
    /// The dialect whose rules its messages follow.
    ///
    /// Tools with a message format of their own are counted with the dialect of the same shape: pi and
    /// SWE-agent, which give each tool result a message of its own, with [`Dialect::Chat`].
    pub dialect: Dialect,
    /// The model that a request body asks for; sessions of other tools name theirs in each reply's meta data.
    pub model: Option<String>,
    /// The part of the file that is this transcript, byte for byte.
    pub text: String,
    /// The system prompt, where it stands outside the messages.
    pub system: Option<Message>,
    /// The tool definitions as written.
    pub tools: Option<RawJson>,
    /// Every message of every thread, in the order in which they begin in the file.
    pub messages: Vec<Message>,
    /// Where each message stands, in bytes of `text`.
    pub layouts: Vec<Layout>,
    /// The main thread first, then branches and sidechains.
    pub threads: Vec<Thread>,
    /// Compactions that the tool recorded, in file order.
    pub compactions: Vec<RecordedCompaction>,
    /// What could not be read.
    pub damage: Vec<Damaged>,
    pub(super) parents: Vec<Option<usize>>,
    pub(super) hidden: Vec<bool>,
    pub(super) open: Vec<bool>,
    pub(super) records: Vec<Record>,
    pub(super) copies: Vec<Copy>,
}

/// A line of conversation through a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The id of the sub-agent, or of the thread's last message.
    pub id: String,
    /// How it came to be.
    pub kind: ThreadKind,
    /// The message of another thread that it continues.
    pub after: Option<usize>,
    /// Its own messages, in order; of the main thread all of them.
    pub messages: Vec<usize>,
}

/// How a thread came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadKind {
    /// The path to the newest message.
    Main,
    /// A path that was left for another one.
    Branch,
    /// A conversation of a sub-agent.
    Sidechain,
}

/// A compaction that the tool did itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCompaction {
    /// The message that carries the summary; it stands where the compaction happened.
    pub position: usize,
    /// The summary; empty where only the provider can read it.
    pub summary: String,
    /// The oldest message that stayed visible beside the summary.
    pub first_kept: Option<usize>,
    /// How many tokens the context had.
    pub tokens_before: Option<Tokens>,
}

impl Transcript {
    /// The main thread's messages in order: the path to the newest message.
    pub fn main(&self) -> &[usize] {
        self.threads.first().map_or(&[], |thread| &thread.messages)
    }

    /// All messages from the first to the end of `thread`, those it shares with other threads included.
    ///
    /// Left out is what the tool itself leaves out of its requests, such as replies that broke off.
    pub fn path(&self, thread: &Thread) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = thread.messages.last().copied();
        // A file can be damaged so that its links run in a circle; no path is longer than the file.
        for _ in 0..self.messages.len() {
            let Some(message) = at else { break };
            if !self.hidden.get(message).copied().unwrap_or(false) {
                path.push(message);
            }
            at = self.parents.get(message).copied().flatten();
        }
        path.reverse();
        path
    }

    /// Whether more of a reply may come when the file grows: nothing in the file says that it ended.
    ///
    /// Replies that others follow on their path have ended, whatever this says.
    pub fn may_grow(&self, message: usize) -> bool {
        self.open.get(message).copied().unwrap_or(false)
    }

    /// What the model sees at the end of `thread`: the last summary, what was kept beside it, and what follows.
    pub fn context(&self, thread: &Thread) -> Vec<usize> {
        let path = self.path(thread);
        let last = path.iter().enumerate().rev().find_map(|(place, message)| {
            let compaction = self.compactions.iter().find(|compaction| compaction.position == *message)?;
            Some((place, compaction))
        });
        let Some((place, compaction)) = last else { return path };
        let (before, after) = path.split_at(place);
        let kept =
            compaction.first_kept.and_then(|first| before.iter().position(|message| *message == first));
        let kept = kept.and_then(|first| before.get(first..)).unwrap_or_default();
        let (summary, after) = after.split_at(1);
        [summary, kept, after].concat()
    }

    pub(super) fn block_span(&self, message: usize, block: usize) -> Option<Span> {
        Some(self.layouts.get(message)?.blocks.get(block)?.block)
    }
}
