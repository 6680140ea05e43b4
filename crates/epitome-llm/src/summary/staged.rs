//! A summary in stretches: each by itself, several at a time, then all of them merged.

use std::collections::HashSet;
use std::ops::Range;

use epitome_core::checkpoint::{Checkpoint, merge};
use epitome_core::compact::{Level, Summarizer, SummaryRequest};
use epitome_core::loss::Sources;
use epitome_core::{Block, ContentHash, Message, Tokens};
use tokio::task::{JoinError, JoinSet};

use super::check::{self, Judged, judge};
use super::conversation::{Conversation, piece};
use super::form::Form;
use super::job::{Job, Picked, Room};
use super::prompt::{Prompt, Task};
use super::run::{Asker, Trouble};
use super::stages::Parted;
use super::summarizer::Setup;
use super::written::Written;
use crate::call::{Answer, Call};

/// The least that a stretch may be told in.
const LEAST: Tokens = Tokens(200);
/// A token has no more characters than this in most texts.
const CHARS_PER_TOKEN: u64 = 5;

/// One stretch.
struct Chunk {
    /// Its messages, by their places in the request.
    range: Range<usize>,
    call: Call,
    key: ContentHash,
}

/// A summary in stretches.
pub(super) struct Staged<'a> {
    pub(super) setup: &'a Setup,
    pub(super) asker: &'a Asker,
    pub(super) job: &'a Job<'a>,
    pub(super) window: Tokens,
}

impl Staged<'_> {
    /// How the conversation is parted.
    pub(super) fn parted(&self) -> Parted {
        let stages = &self.setup.stages;
        let told = Tokens(self.setup.telling.options.most.0 as u64 / CHARS_PER_TOKEN);
        let most = stages.chunk(self.window, &self.job.sizes).min(told);
        stages.part(&self.job.sizes, &self.job.atoms(), most)
    }

    /// Writes it.
    pub(super) async fn write(&self, report: &mut Written) -> Result<Judged, Trouble> {
        let parted = self.parted();
        (report.chunks, report.left_out) = (parted.chunks.len(), parted.left_out.len());
        report.reused = 0;
        let each = self.each(parted.chunks.len());
        let chunks = self.chunks(&parted, each);
        let texts = self.texts(&chunks, each, report).await?;
        let quotes: Vec<(String, String)> = self
            .job
            .quotes()
            .into_iter()
            .chain((1..).zip(&texts).map(|(number, text)| (format!("part {number}"), text.clone())))
            .collect();
        if let ([_], [text]) = (quotes.as_slice(), texts.as_slice()) {
            return Ok(judge(text.clone(), &self.job.sources()));
        }
        match self.merged(&quotes, report).await {
            Err(Trouble::Cancelled) => Err(Trouble::Cancelled),
            Err(trouble) => {
                report.troubles.push(format!("the stretches were merged by code: {trouble}"));
                let texts: Vec<&str> = quotes.iter().map(|(_, text)| text.as_str()).collect();
                Ok(judge(by_code(self.job.request.level, &texts), &self.job.sources()))
            }
            merged => merged,
        }
    }

    // All of them and the summary of them have to be within one call.
    fn each(&self, chunks: usize) -> Tokens {
        let most = self.setup.stages.one_call(self.window).0 / (chunks as u64 + 1).max(1);
        Tokens(most).min(self.job.room.tokens).max(LEAST)
    }

    fn chunks(&self, parted: &Parted, each: Tokens) -> Vec<Chunk> {
        let request = self.job.request;
        let left_out: HashSet<usize> = parted.left_out.iter().copied().collect();
        let mut start = 0;
        let starts = parted.chunks.iter().skip(1).filter_map(|chunk| chunk.first().copied());
        let ends = starts.chain([request.messages.len()]);
        let mut chunks = Vec::new();
        for (_, end) in parted.chunks.iter().zip(ends) {
            let range = start..end;
            start = end;
            let pieces = range.clone().filter_map(|at| self.piece(at, left_out.contains(&at)));
            let conversation = Conversation { pieces: pieces.collect(), left_out: 0 };
            let conversation = conversation.within(self.setup.telling.options.most);
            let call = Prompt {
                task: Task::Partial(request.level),
                quotes: &[],
                conversation: &conversation,
                split_turn: end == request.messages.len() && self.job.is_split(),
                instructions: request.instructions,
                max_tokens: each,
            }
            .call();
            chunks.push(Chunk { range, key: key(&call), call });
        }
        chunks
    }

    fn piece(&self, at: usize, left_out: bool) -> Option<String> {
        let number = self.job.request.first + at;
        if left_out {
            let size = self.job.sizes.get(at).copied().unwrap_or_default();
            return Some(format!("[message #{number} is left out: about {size} tokens]"));
        }
        piece(self.job.request.messages.get(at)?, number, &self.setup.telling)
    }

    async fn texts(
        &self,
        chunks: &[Chunk],
        each: Tokens,
        report: &mut Written,
    ) -> Result<Vec<String>, Trouble> {
        let mut texts: Vec<Option<String>> =
            chunks.iter().map(|chunk| self.setup.kept.get(&chunk.key)).collect();
        report.reused = texts.iter().flatten().count();
        let missing: Vec<usize> =
            (0..).zip(&texts).filter(|(_, text)| text.is_none()).map(|(at, _)| at).collect();
        let mut waiting = missing.into_iter();
        let mut asked: JoinSet<(usize, Result<Answer, Trouble>)> = JoinSet::new();
        let mut failed = None;
        loop {
            while failed.is_none() && asked.len() < self.setup.stages.parallel.max(1) {
                let Some((at, chunk)) = waiting.next().and_then(|at| Some((at, chunks.get(at)?))) else {
                    break;
                };
                let (asker, call) = (self.asker.clone(), chunk.call.clone());
                asked.spawn(async move { (at, asker.ask(&call).await) });
            }
            let Some(done) = asked.join_next().await else { break };
            let stopped = |error: JoinError| Trouble::NoAnswer(error.to_string());
            // What is under way is waited for, as it need not be asked for again then.
            let (at, answer) = match done.map_err(stopped).and_then(|(at, answer)| Ok((at, answer?))) {
                Ok(answered) => answered,
                Err(trouble) => {
                    failed.get_or_insert(trouble);
                    continue;
                }
            };
            report.model = Some(answer.model.clone());
            if let (Some(chunk), Some(text)) = (chunks.get(at), texts.get_mut(at)) {
                *text = Some(self.read(chunk, &answer, each, report));
            }
        }
        match failed {
            Some(trouble) => Err(trouble),
            None => Ok(texts.into_iter().flatten().collect()),
        }
    }

    // What a stretch makes up would look like a source to all that comes after.
    fn read(&self, chunk: &Chunk, answer: &Answer, each: Tokens, report: &mut Written) -> String {
        let request = self.job.request;
        let messages = request.messages.get(chunk.range.clone()).unwrap_or_default();
        let first = request.first + chunk.range.start;
        // Something stands before it, so that what its first message wants is not taken for the goal.
        let sources = Sources { first, beside: &[""], ..Sources::new(messages) };
        let room = Room { tokens: each, chars: None };
        let fits = |text: &str| room.holds(text);
        match Form::of(request.level).read(answer) {
            Ok(text) => {
                let mended = check::mend(&judge(text, &sources), &sources, &fits);
                report.struck += mended.struck;
                self.setup.kept.put(&chunk.key, &mended.text);
                mended.text
            }
            Err(unfit) => {
                report.troubles.push(format!("a stretch is picked by code: {unfit}"));
                self.picked(messages, first, each)
            }
        }
    }

    fn picked(&self, messages: &[Message], first: usize, each: Tokens) -> String {
        let request = SummaryRequest {
            range: first..first + messages.len(),
            messages,
            first,
            previous: &[],
            max_tokens: each,
            ..self.job.request.clone()
        };
        Picked.summarize(&request).unwrap_or_default()
    }

    async fn merged(&self, quotes: &[(String, String)], report: &mut Written) -> Result<Judged, Trouble> {
        let request = self.job.request;
        let call = Prompt {
            task: Task::Merge(request.level),
            quotes,
            conversation: &Conversation::default(),
            split_turn: self.job.is_split(),
            instructions: request.instructions,
            max_tokens: self.job.room.tokens,
        }
        .call();
        self.asker.draft(call, &Form::of(request.level), &self.job.sources(), report).await
    }
}

fn by_code(level: Level, texts: &[&str]) -> String {
    match level {
        Level::Checkpoint => {
            let parsed = texts.iter().map(|text| Checkpoint::parse(text).checkpoint);
            // What a later stretch by itself calls the goal may be a step on the way.
            let joined = |earlier: Checkpoint, later: Checkpoint| {
                let goal = earlier.goal.clone();
                let both = merge(earlier, later);
                Checkpoint { goal: goal.or_else(|| both.goal.clone()), ..both }
            };
            parsed.reduce(joined).unwrap_or_default().render()
        }
        Level::Narrative | Level::Rolling | Level::Topic | Level::Bulk => {
            // A speaker who is named in one text has not said how the next one begins.
            let apart = |text: &&str| match text.trim_start().starts_with('-') {
                true => (*text).to_owned(),
                false => format!("- {}", text.trim_start()),
            };
            texts.iter().map(apart).collect::<Vec<_>>().join("\n")
        }
    }
}

// Everything that the answer depends on.
fn key(call: &Call) -> ContentHash {
    let mut text = call.system.clone();
    for block in call.messages.iter().flat_map(|message| &message.blocks) {
        if let Block::Text(said) = block {
            text.push('\n');
            text.push_str(&said.text);
        }
    }
    ContentHash::of(text.as_bytes())
}
