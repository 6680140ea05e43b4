//! A checkpoint without a model: what can be read off messages, put into the sections of spec 008.1 v4.
//!
//! It quotes and lists and understands nothing. The goal is the first thing that the user said, progress is what
//! replies open with, files and failures come from the tool calls, the latest request stands as it was written.

use super::segment::Level;
use super::summarizer::{LeadingSentences, Summarizer, SummaryError, SummaryRequest, leading_sentence};
use crate::artifacts::{self, Artifacts, Failed, Touched};
use crate::checkpoint::{Checkpoint, Files, Item, Request, Source, merge};
use crate::message::{Block, Message, Role};
use crate::outline::Entry;
use crate::turn::is_plain_user_message;
use crate::units::{Chars, Tokens};

/// Writes checkpoints from what messages say and tools did; summaries of other levels as [`LeadingSentences`] does.
#[derive(Clone, Copy)]
pub struct PlainCheckpoint<'a> {
    path: &'a [Entry],
    count: &'a dyn Fn(&str) -> Tokens,
}

impl<'a> PlainCheckpoint<'a> {
    /// A summariser for this path.
    pub fn new(path: &'a [Entry], count: &'a dyn Fn(&str) -> Tokens) -> Self {
        Self { path, count }
    }

    fn read(&self, request: &SummaryRequest<'_>) -> Checkpoint {
        let SummaryRequest { messages, first, .. } = *request;
        let path = self.path.get(first..first + messages.len()).unwrap_or_default();
        let source = |at: usize, role| Some(Source { message: first + at, role });
        let mut checkpoint = Checkpoint::default();
        for (at, message) in messages.iter().enumerate() {
            let Some(sentence) = leading_sentence(message) else { continue };
            let item = Item::new(sentence, source(at, message.role));
            match message.role {
                Role::Assistant => checkpoint.done.extend(item),
                _ if checkpoint.goal.is_none() && request.previous.is_empty() => checkpoint.goal = item,
                _ => checkpoint.context.extend(item),
            }
        }
        checkpoint.request =
            path.iter().zip(messages).enumerate().rev().find_map(|(at, (entry, message))| {
                let text = text_of(message).filter(|_| is_plain_user_message(&entry.outline))?;
                Request::new(&text, source(at, Role::User))
            });
        let Artifacts { read, created, modified, deleted, failed } = artifacts::of(path, messages);
        let files = |touched: Vec<Touched>| {
            let item = |file: &Touched| Item::new(&file.file, source(file.message, Role::Assistant));
            touched.iter().filter_map(item).collect()
        };
        checkpoint.files = Files {
            created: files(created),
            modified: files(modified),
            deleted: files(deleted),
            read: files(read),
        };
        let failure = |Failed { tool, input, error, message, .. }: &Failed| {
            Item::new(&format!("{tool} {input}: {error}"), source(*message, Role::Assistant))
        };
        checkpoint.failed = failed.iter().filter_map(failure).collect();
        checkpoint
    }
}

impl Summarizer for PlainCheckpoint<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        if request.level != Level::Checkpoint {
            return LeadingSentences.summarize(request);
        }
        let old = request.previous.iter().map(|text| Checkpoint::parse(text).checkpoint).reduce(merge);
        let new = self.read(request);
        let mut checkpoint = match old {
            Some(old) => merge(old, new),
            None => new,
        };
        let fits = |text: &str| {
            (self.count)(text) <= request.max_tokens
                && request.max_chars.is_none_or(|most| Chars::of(text) <= most)
        };
        checkpoint.shrink(&fits);
        Ok(checkpoint.render())
    }
}

fn text_of(message: &Message) -> Option<String> {
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text.trim()).filter(|text| !text.is_empty()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
