//! An offline compaction against one BPE pass over the same text, by `tiktoken-rs` and by our own counter, which takes
//! short cuts; and how its cost grows with the session.

#![allow(missing_docs, clippy::unwrap_used)]

// The request's way through the wire is another benchmark.
#[allow(dead_code)]
mod corpus;
// Planning alone is another benchmark.
#[allow(dead_code)]
mod planning;

use std::hint::black_box;
use std::time::{Duration, Instant};

use epitome_core::compact::{Compacted, Request, StrategyName, compact};
use epitome_core::digest::Digest;
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_core::{Block, Entry, Message, Outline, Tokens};
use epitome_wire::files::{ReadOptions, read_all};
use epitome_wire::{Body, Dialect};

/// Turns that each side takes.
const ROUNDS: usize = 21;
/// What sessions are brought into.
const BUDGET: Tokens = Tokens(20_000);
/// How often the session of 195 k tokens is taken to show how the cost grows.
const COPIES: [usize; 5] = [1, 5, 10, 25, 51];

fn main() {
    let text = corpus::body();
    let messages = planning::messages(&Body::scan(Dialect::Anthropic, &text).unwrap());
    println!("medians of {ROUNDS} turns taken in alternation, budget {BUDGET}:");
    println!(
        "{:>16} {:>8} {:>10} {:>10} {:>10} {:>10}",
        "", "tokens", "BPE pass", "own pass", "counting", "cached"
    );
    compare("generated", &messages);
    for (name, messages) in recorded() {
        compare(&name, &messages);
    }
    println!("nanoseconds a token, counts cached:");
    for copies in COPIES {
        let messages = grown(&messages, copies);
        let session = Session::of(&messages);
        let took = median((0..3).map(|_| time(|| session.compacted(BUDGET))).collect());
        println!("{:>12} {:>8.1}", session.tokens().0, took * 1e9 / session.tokens().0 as f64);
    }
}

struct Session<'m> {
    messages: &'m [Message],
    counter: Counter,
    path: Vec<Entry>,
}

impl<'m> Session<'m> {
    fn of(messages: &'m [Message]) -> Self {
        let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
        let path = path(messages, &counter);
        Self { messages, counter, path }
    }

    fn tokens(&self) -> Tokens {
        self.path.iter().map(|entry| entry.outline.tokens).sum()
    }

    fn compacted(&self, budget: Tokens) -> Compacted {
        offline(&self.path, self.messages, &self.counter, budget)
    }
}

fn path(messages: &[Message], counter: &Counter) -> Vec<Entry> {
    messages
        .iter()
        .map(|message| Entry { outline: Outline::of(message, counter, 0).into(), time: None })
        .collect()
}

fn offline(path: &[Entry], messages: &[Message], counter: &Counter, budget: Tokens) -> Compacted {
    let settings = planning::settings(StrategyName::Auto);
    let count = |text: &str| counter.text(text);
    let request = Request { budget: Some(budget), ..Request::new(&settings) };
    compact(path, messages, &request, &mut Digest::new(path, messages, &count), &count)
}

fn compare(name: &str, messages: &[Message]) {
    let session = Session::of(messages);
    let texts: Vec<String> = messages.iter().flat_map(|message| &message.blocks).map(text).collect();
    let counter = &session.counter;
    let budget = Tokens(BUDGET.0.min(session.tokens().0 / 5));
    let plain = tiktoken_rs::o200k_base_singleton();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(time(|| texts.iter().map(|text| plain.encode_ordinary(text).len()).sum::<usize>()));
        times[1].push(time(|| texts.iter().map(|text| counter.text(text)).sum::<Tokens>()));
        times[2].push(time(|| offline(&path(messages, counter), messages, counter, budget)));
        times[3].push(time(|| session.compacted(budget)));
    }
    let [pass, own, counting, cached] = times.map(median);
    let [pass_ms, own_ms, counting_ms, cached_ms] =
        [pass, own, counting, cached].map(|seconds| format!("{:.1} ms", seconds * 1e3));
    println!(
        "{name:>16} {:>8} {pass_ms:>10} {own_ms:>10} {counting_ms:>10} {cached_ms:>10}",
        session.tokens().0
    );
    let ratios = [counting / pass, cached / pass, counting / own, cached / own];
    let [counting, cached, own_counting, own_cached] = ratios.map(|ratio| format!("{ratio:.2}"));
    println!(
        "{:>16} of a BPE pass: {counting} and {cached}; of our own: {own_counting} and {own_cached}",
        ""
    );
}

// All that counting a block counts.
fn text(block: &Block) -> String {
    match block {
        Block::Text(text) => text.text.clone(),
        Block::Thinking(thinking) => thinking.text.clone(),
        Block::ToolUse(call) => format!("{}{}", call.name, call.input),
        Block::ToolResult(result) => result.joined_text(),
        _ => String::new(),
    }
}

// The longest recorded conversation of each kind, where a folder of them is at hand.
fn recorded() -> Vec<(String, Vec<Message>)> {
    let Ok(folder) = std::env::var("EPITOME_TRANSCRIPTS") else { return Vec::new() };
    let mut longest = Vec::new();
    for kind in ["pi-sessions", "mini-swe-agent", "tau-bench"] {
        let bytes = std::fs::read(format!("{folder}/{kind}.jsonl.gz")).unwrap();
        let transcripts = read_all(&bytes, ReadOptions::default()).unwrap();
        let longest_of_all = transcripts.into_iter().max_by_key(|transcript| transcript.messages.len());
        longest.extend(longest_of_all.map(|transcript| (kind.to_owned(), transcript.messages)));
    }
    longest
}

// The same session again and again, about other things each time.
fn grown(messages: &[Message], copies: usize) -> Vec<Message> {
    let of = |copy: usize| messages.iter().map(move |message| renamed(message, copy));
    (0..copies).flat_map(of).collect()
}

fn renamed(message: &Message, copy: usize) -> Message {
    let mut message = message.clone();
    let rename = |text: &mut String| {
        for word in ["index", "result", "buffer", "config", "request", "error", "parser", "timeout"] {
            *text = text.replace(word, &format!("{word}_{copy}"));
        }
    };
    for block in &mut message.blocks {
        match block {
            Block::Text(text) => rename(&mut text.text),
            Block::ToolUse(call) => {
                call.id = format!("{}_{copy}", call.id);
                rename(&mut call.input);
            }
            Block::ToolResult(result) => {
                result.call_id = format!("{}_{copy}", result.call_id);
                for content in &mut result.content {
                    if let Block::Text(text) = content {
                        rename(&mut text.text);
                    }
                }
            }
            _ => {}
        }
    }
    message
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}
