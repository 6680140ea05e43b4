//! Summaries by a model: what it is asked, what becomes of its answers, good and bad.

mod alone;
mod bad_answers;
mod books;
mod carried;
mod deltas;
mod live;
mod means;
mod obeyed;
mod quoting;
mod ranks;
mod rebuilt;
mod schedules;
mod staged;
mod stages;
mod thinking;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use epitome_core::compact::{Level, SummaryRequest};
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_core::{Block, Chars, Fields, Message, RawJson, Role, Tokens, ToolResult, ToolUse};
use epitome_llm::summary::ModelSummarizer;
use epitome_llm::{Backoff, Models, Patience};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::support::client;
use crate::upstream::{Request, Upstream};

/// A runtime on a thread of its own, as summarisers wait on theirs.
pub(crate) struct Running {
    pub(crate) handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) fn runtime() -> Running {
    let (stop, stopped) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let thread = std::thread::spawn(move || drop(runtime.block_on(stopped)));
    Running { handle, stop: Some(stop), thread: Some(thread) }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join);
    }
}

/// A summariser that asks this server, and does not ask again what failed.
pub(super) fn summarizer(upstream: &Upstream, runtime: &Running) -> ModelSummarizer {
    let mut backoff = Backoff::default();
    backoff.attempts = 1;
    let models = Models::with(vec![client(upstream, "anthropic")], backoff, Patience::default());
    ModelSummarizer::new(Arc::new(models.within(Duration::from_secs(60))), runtime.handle.clone())
}

pub(crate) fn call(id: &str, input: &str) -> Message {
    let call =
        ToolUse { id: id.to_owned(), name: "bash".to_owned(), input: input.to_owned(), extra: Fields::new() };
    Message::new(Role::Assistant, vec![Block::ToolUse(call)])
}

pub(crate) fn result(id: &str, text: &str) -> Message {
    let result = ToolResult {
        call_id: id.to_owned(),
        name: None,
        content: vec![Block::text(text)],
        is_error: false,
        extra: vec![("details".to_owned(), RawJson::new(r#"{"hidden":"not for a model"}"#))],
    };
    Message::new(Role::User, vec![Block::ToolResult(result)])
}

/// A conversation with an order, decisions, paths and a failure, long enough to be worth a summary.
pub(super) fn conversation() -> Vec<Message> {
    let says = Message::text;
    let log =
        "test parser::reads_dates ... FAILED\nthread panicked at src/parser.rs:88: month out of range\n"
            .repeat(40);
    vec![
        says(
            Role::User,
            "Please fix the date parser of our importer. Never touch src/generated.rs, it is written by a tool.",
        ),
        says(Role::Assistant, "I will look at the parser and run its tests first."),
        call("c1", r#"{"command":"cargo test parser"}"#),
        result("c1", &log),
        says(
            Role::Assistant,
            "The month is read from the wrong group in src/parser.rs. We decided to use the chrono crate because it validates dates.",
        ),
        says(Role::User, "Good. The limit must stay at 4096 bytes per line."),
        call("c2", r#"{"command":"sed -i s/two/one/ src/parser.rs"}"#),
        result("c2", "done"),
        says(
            Role::Assistant,
            "The parser in src/parser.rs reads the month from group one now, and the line limit stays at 4096 bytes.",
        ),
        says(Role::User, "Now write tests/dates.rs with the leap years, please."),
    ]
}

/// A faithful checkpoint of it.
pub(super) const GOOD: &str = "## Goal
Fix the date parser of the importer.

## Constraints & Preferences
- Never touch src/generated.rs, it is written by a tool.
- The limit must stay at 4096 bytes per line.

## Progress
### Done
- [x] The parser in src/parser.rs reads the month from group one now.
### In Progress
- [ ] Write tests/dates.rs with the leap years.

## Key Decisions
- **Use the chrono crate**: it validates dates.

## Next Steps
1. Write tests/dates.rs with the leap years.

## Critical Context
- parser::reads_dates FAILED: thread panicked at src/parser.rs:88: month out of range";

pub(super) fn request<'a>(messages: &'a [Message], previous: &'a [String]) -> SummaryRequest<'a> {
    SummaryRequest {
        level: Level::Checkpoint,
        range: 0..messages.len(),
        messages,
        first: 0,
        previous,
        marks: &[],
        max_tokens: Tokens(600),
        max_chars: Some(Chars(6_000)),
        instructions: None,
    }
}

pub(crate) fn counter() -> Counter {
    Counter::new(Bpe::o200k(), ImagePricing::Anthropic)
}

pub(crate) fn tokens(text: &str) -> Tokens {
    counter().text(text)
}

/// What the model was asked in this request: the system prompt and the first message.
pub(super) fn asked(request: &Request) -> (String, String) {
    let texts = |value: &serde_json::Value| -> String {
        match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(blocks) => {
                blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    };
    (texts(&request.body["system"]), texts(&request.body["messages"][0]["content"]))
}
