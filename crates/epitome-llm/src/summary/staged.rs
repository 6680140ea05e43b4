//! A summary in stretches: each by itself, several at a time, then all of them merged.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use epitome_core::checkpoint::{Checkpoint, merge};
use epitome_core::compact::{Level, Summarizer, SummaryRequest};
use epitome_core::loss::Sources;
use epitome_core::{Block, ContentHash, Message, Tokens};
use tokio::task::{JoinError, JoinSet};

use super::check::{self, Judged, faults, is_worth_another, judge};
use super::conversation::{Conversation, pieces};
use super::form::{Form, Unfit};
use super::job::{ByCode, Job, Room};
use super::prompt::{Prompt, Task, again};
use super::run::{Asker, Trouble};
use super::stages::Parted;
use super::stretches::Stretches;
use super::summarizer::Setup;
use super::written::Written;
use crate::call::{Answer, Call};
use crate::models::Models;

/// The least that a stretch may be told in.
const LEAST: Tokens = Tokens(200);
/// The calls that the merging needs.
const MERGING: usize = 1;
/// A token has no more characters than this in most texts.
const CHARS_PER_TOKEN: u64 = 5;

/// One stretch.
struct Chunk {
    /// Its messages, by their places in the request.
    range: Range<usize>,
    call: Call,
    key: ContentHash,
}

/// A question about a stretch.
struct Asked {
    at: usize,
    /// The endpoint that is asked first.
    place: usize,
    call: Call,
}

impl Asked {
    fn of(chunks: &[Chunk], at: usize, place: usize) -> Option<Self> {
        Some(Self { at, place, call: chunks.get(at)?.call.clone() })
    }

    // The same once more, behind an answer that has faults; nothing where there is nothing to mend.
    fn again(chunk: &Chunk, at: usize, place: usize, (answer, judged): (&Answer, &Judged)) -> Option<Self> {
        let wrong = faults(&judged.loss);
        let call = || again(chunk.call.clone(), &answer.text, &wrong);
        (is_worth_another(judged) && !wrong.is_empty()).then(|| Self { at, place, call: call() })
    }
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
        let (texts, first) = self.texts(&chunks, each, report).await?;
        let quotes: Vec<(String, String)> = self
            .job
            .quotes()
            .into_iter()
            .chain((1..).zip(&texts).map(|(number, text)| (format!("part {number}"), text.clone())))
            .collect();
        if let ([_], [text]) = (quotes.as_slice(), texts.as_slice()) {
            return Ok(judge(text.clone(), &self.job.sources()));
        }
        match self.merged(&quotes, first, report).await {
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
        steady(Tokens(most).min(self.job.room.tokens)).max(LEAST)
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
            let pieces = range.clone().flat_map(|at| self.pieces(at, left_out.contains(&at)));
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
            chunks.push(Chunk { range, key: key(&self.asker.models, &call), call });
        }
        chunks
    }

    fn pieces(&self, at: usize, left_out: bool) -> Vec<String> {
        let number = self.job.request.first + at;
        if left_out {
            let size = self.job.sizes.get(at).copied().unwrap_or_default();
            return vec![format!("[message #{number} is left out: about {size} tokens]")];
        }
        let message = self.job.request.messages.get(at);
        message.map_or_else(Vec::new, |message| pieces(message, number, &self.setup.telling))
    }

    // What every stretch is told in, and the endpoint that proved to be of use.
    async fn texts(
        &self,
        chunks: &[Chunk],
        each: Tokens,
        report: &mut Written,
    ) -> Result<(Vec<String>, usize), Trouble> {
        let kept = chunks.iter().map(|chunk| self.setup.kept.get(&chunk.key));
        let mut stretches = Stretches::new(kept.collect());
        report.reused = stretches.told();
        // Those that have faults, until they are told again; and the questions for that, which wait until all were asked once.
        let mut faulty: HashMap<usize, Judged> = HashMap::new();
        let mut again: VecDeque<Asked> = VecDeque::new();
        let mut asked = JoinSet::new();
        let mut failed = None;
        loop {
            while failed.is_none() && asked.len() < self.setup.stages.parallel.max(1) {
                let fresh = stretches.next().and_then(|(at, place)| Asked::of(chunks, at, place));
                // Nobody is asked again with the call that the merging needs; those under way may not have taken theirs yet.
                let may_repeat = self.asker.calls_left() > MERGING + asked.len();
                let repeated = || may_repeat.then(|| again.pop_front()).flatten();
                let Some(next) = fresh.or_else(repeated) else { break };
                report.retries += usize::from(faulty.contains_key(&next.at));
                let asker = self.asker.clone();
                asked.spawn(async move { (next.at, asker.ask_from(next.place, &next.call).await) });
            }
            let Some(done) = asked.join_next().await else { break };
            let stopped = |error: JoinError| (None, Trouble::NoAnswer(error.to_string()));
            let told = done.map_err(stopped).and_then(|(at, asked)| match asked {
                Ok(answered) => Ok((at, answered)),
                Err(trouble) => Err((Some(at), trouble)),
            });
            let (at, (answer, place)) = match told {
                Ok(answered) => answered,
                // What is told already, with its faults, need not be told again.
                Err((Some(at), trouble)) if faulty.contains_key(&at) && trouble != Trouble::Cancelled => {
                    report.troubles.push(trouble.to_string());
                    continue;
                }
                // What is under way is waited for, as it need not be asked for again then.
                Err((_, trouble)) => {
                    failed.get_or_insert(trouble);
                    continue;
                }
            };
            report.model = Some(answer.model.clone());
            let Some(chunk) = chunks.get(at) else { continue };
            match (self.read(chunk, &answer), faulty.remove(&at)) {
                (Ok(judged), None) => {
                    stretches.heard();
                    match Asked::again(chunk, at, place, (&answer, &judged)) {
                        Some(question) => {
                            again.push_back(question);
                            faulty.insert(at, judged);
                        }
                        None => stretches.tell(at, self.mended(chunk, &judged, each, report)),
                    }
                }
                (second, Some(first)) => {
                    let better = match second {
                        Ok(second) if second.score > first.score => second,
                        Ok(_) => first,
                        Err(unfit) => {
                            report.troubles.push(unfit.to_string());
                            first
                        }
                    };
                    stretches.tell(at, self.mended(chunk, &better, each, report));
                }
                (Err(unfit), None) => {
                    let said = unfit.to_string();
                    if stretches.refuse(at, place, unfit, self.asker.behind_place(place)) {
                        report.troubles.push(said);
                    }
                }
            }
        }
        for (at, judged) in faulty {
            let Some(chunk) = chunks.get(at) else { continue };
            stretches.tell(at, self.mended(chunk, &judged, each, report));
        }
        match failed {
            Some(trouble) => Err(trouble),
            None => self.filled(stretches, chunks, each, report),
        }
    }

    // What the model has not told is picked by code, unless it has told nothing at all.
    fn filled(
        &self,
        stretches: Stretches,
        chunks: &[Chunk],
        each: Tokens,
        report: &mut Written,
    ) -> Result<(Vec<String>, usize), Trouble> {
        let (first, told) = (stretches.first(), stretches.told());
        let (texts, unfit) = stretches.end()?;
        if let Some(unfit) = unfit.filter(|_| told < chunks.len()) {
            let missing = chunks.len() - told;
            report.troubles.push(format!("{missing} of {} stretches picked by code: {unfit}", chunks.len()));
        }
        let text = |(chunk, text): (&Chunk, Option<String>)| {
            text.unwrap_or_else(|| {
                let (messages, first) = self.messages(chunk);
                self.picked(messages, first, each)
            })
        };
        Ok((chunks.iter().zip(texts).map(text).collect(), first))
    }

    // The messages of a stretch, and the number of the first one.
    fn messages(&self, chunk: &Chunk) -> (&[Message], usize) {
        let request = self.job.request;
        let messages = request.messages.get(chunk.range.clone()).unwrap_or_default();
        (messages, request.first + chunk.range.start)
    }

    fn sources(&self, chunk: &Chunk) -> Sources<'_> {
        let (messages, first) = self.messages(chunk);
        // Something stands before it, so that what its first message wants is not taken for the goal.
        Sources { first, beside: &[""], ..Sources::new(messages) }
    }

    fn read(&self, chunk: &Chunk, answer: &Answer) -> Result<Judged, Unfit> {
        let text = Form::of(self.job.request.level).read(answer)?;
        Ok(judge(text, &self.sources(chunk)))
    }

    // What a stretch makes up would look like a source to all that comes after.
    fn mended(&self, chunk: &Chunk, judged: &Judged, each: Tokens, report: &mut Written) -> String {
        let room = Room { tokens: each, chars: None };
        let mended = check::mend(judged, &self.sources(chunk), &|text: &str| room.holds(text));
        report.struck += mended.struck;
        self.setup.kept.put(&chunk.key, &mended.text);
        mended.text
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
        ByCode.summarize(&request).unwrap_or_default()
    }

    async fn merged(
        &self,
        quotes: &[(String, String)],
        first: usize,
        report: &mut Written,
    ) -> Result<Judged, Trouble> {
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
        let asker = self.asker.from(first);
        asker.draft(call, &Form::of(request.level), &self.job.sources(), report).await
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

// The largest of 1, 1.5, 2, 3, 4, 6, 8 and so on that is no more: one stretch more or less seldom asks for another length then,
// and stretches that are finished can be used again.
fn steady(most: Tokens) -> Tokens {
    let power = 1 << most.0.max(1).ilog2();
    let between = power + power / 2;
    Tokens(if most.0 >= between { between } else { power })
}

// Everything that the answer depends on, and who is asked for it.
fn key(models: &Models, call: &Call) -> ContentHash {
    let mut text = models.names().collect::<Vec<_>>().join(" ");
    text.push('\n');
    text.push_str(&call.system);
    for block in call.messages.iter().flat_map(|message| &message.blocks) {
        if let Block::Text(said) = block {
            text.push('\n');
            text.push_str(&said.text);
        }
    }
    ContentHash::of(text.as_bytes())
}
