//! What all tests need: engines on both databases, and an agent that talks.

use std::future::Future;

use epitome::{Builder, Context, Engine, Reply, Session};
use epitome_core::{Block, Fields, Message, Role, Tokens, ToolResult, ToolUse};
use epitome_wire::{Dialect, check};
use tempfile::TempDir;

use crate::{log, server};

/// A database that a test has to itself.
pub(crate) struct Place {
    pub(crate) address: String,
    _folder: TempDir,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { address: format!("sqlite:{}", folder.path().join("engine.db").display()), _folder: folder }
    }

    pub(crate) fn postgres() -> Self {
        Self { address: server::shared(), _folder: tempfile::tempdir().unwrap() }
    }

    /// An engine with a small window.
    pub(crate) fn builder(&self) -> Builder {
        Engine::builder().db(self.address.as_str()).agent("tester").window(Tokens(32_000))
    }

    pub(crate) async fn engine(&self) -> Engine {
        self.builder().build().await.unwrap()
    }
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let join = log::of_one_test();
    join();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().on_thread_start(join).build().unwrap().block_on(work)
}

/// Makes of each function a test on SQLite and one on PostgreSQL.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                $crate::support::run(super::$name($crate::support::Place::sqlite()));
            })*
        }
        mod postgres {
            $(#[test]
            fn $name() {
                $crate::support::run(super::$name($crate::support::Place::postgres()));
            })*
        }
    };
}
pub(crate) use on_both;

pub(crate) fn call(id: &str, name: &str, input: &str) -> Message {
    let call = ToolUse { id: id.into(), name: name.into(), input: input.into(), extra: Fields::new() };
    Message::new(Role::Assistant, vec![Block::text("Let me look."), Block::ToolUse(call)])
}

pub(crate) fn result(id: &str, output: &str) -> Message {
    let result = ToolResult {
        call_id: id.into(),
        name: None,
        content: vec![Block::text(output)],
        is_error: false,
        extra: Fields::new(),
    };
    Message::new(Role::User, vec![Block::ToolResult(result)])
}

/// Text of about so many tokens, different for each seed.
pub(crate) fn prose(seed: usize, tokens: usize) -> String {
    let words = [
        "river", "lantern", "copper", "meadow", "signal", "harbour", "violet", "granite", "orchard", "ember",
    ];
    let word = |at: usize| words[(seed * 7 + at * 3 + at / 10) % words.len()];
    (0..tokens)
        .map(|at| if at % 17 == 16 { format!("{}{seed}.", word(at)) } else { word(at).to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

/// One exchange: the user asks, the model answers.
pub(crate) async fn exchange(session: &Session, number: usize, tokens: usize) {
    session.append(format!("Question {number}: {}", prose(number, tokens / 2)).as_str()).await.unwrap();
    session
        .reply(Reply::text(format!("Answer {number}: {}", prose(number + 1000, tokens / 2))))
        .await
        .unwrap();
}

/// The context is what the provider would accept, and inside the window.
pub(crate) fn assert_sendable(context: &Context, window: u64) {
    let violations = check::check(Dialect::Anthropic, None, &context.decoded().unwrap());
    let refused = violations.iter().any(|found| found.severity() == check::Severity::Error);
    assert!(!refused, "{violations:?}");
    assert!(context.pressure.tokens.0 <= window, "{} of {window}", context.pressure);
}
