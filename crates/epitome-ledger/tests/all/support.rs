//! What all tests need: ledgers on both databases, and short ways to say things.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use epitome_core::compact::{Compaction, Level, Placement, Segment, Wording};
use epitome_core::{Role, Tokens};
use epitome_ledger::model::{
    Expect, NewCompaction, NewMessage, NewReply, NewSession, NewTurn, Receipt, Session, TenantId, TurnId,
};
use epitome_ledger::{Ledger, Options};
use tempfile::TempDir;

use crate::server;

pub(crate) const ME: TenantId = TenantId::LOCAL;

/// A database that a test has to itself, and how to open it.
pub(crate) struct Place {
    pub(crate) address: String,
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { address: format!("sqlite:{}", folder.path().join("ledger.db").display()), folder }
    }

    pub(crate) fn postgres() -> Self {
        Self { address: server::shared(), folder: tempfile::tempdir().unwrap() }
    }

    /// The file of a SQLite database.
    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("ledger.db")
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.address.starts_with("sqlite:")
    }

    pub(crate) async fn open(&self) -> Ledger {
        Ledger::open(&self.address, Options::default()).await.unwrap()
    }
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
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

pub(crate) fn user(text: &str) -> NewMessage {
    say(Role::User, text)
}

pub(crate) fn assistant(text: &str) -> NewMessage {
    say(Role::Assistant, text)
}

pub(crate) fn say(role: Role, text: &str) -> NewMessage {
    let text = text.replace('"', "\\\"");
    NewMessage::new(role, format!(r#"{{"role":"{role}","content":"{text}"}}"#))
        .with_tokens(Tokens(text.split_whitespace().count() as u64))
}

pub(crate) fn call(ask: &str, answer: &str) -> NewTurn {
    let reply = NewReply { messages: vec![assistant(answer)], ..NewReply::default() };
    NewTurn { reply: Some(reply), ..NewTurn::of(vec![user(ask)]) }
}

pub(crate) fn expect(session: &Session) -> Expect {
    Expect { session: session.id, head: session.head, fence: None }
}

pub(crate) async fn open_session(ledger: &Ledger) -> Session {
    ledger.create_session(ME, NewSession::of("agent")).await.unwrap()
}

/// Appends a turn at the head, whatever that is.
pub(crate) async fn add(ledger: &Ledger, session: &Session, turn: NewTurn) -> Receipt {
    let now = ledger.session(ME, session.id).await.unwrap();
    ledger.append(ME, expect(&now), vec![turn]).await.unwrap()
}

pub(crate) async fn talk(ledger: &Ledger, session: &Session, turns: std::ops::Range<usize>) -> Vec<TurnId> {
    let mut ids = Vec::new();
    for number in turns {
        let turn = call(&format!("question {number}"), &format!("answer {number}"));
        ids.push(turn.id);
        add(ledger, session, turn).await;
    }
    ids
}

pub(crate) fn summary(range: std::ops::Range<usize>, text: &str) -> Segment {
    Segment::Summary { range, text: text.to_owned(), level: Level::Checkpoint }
}

pub(crate) fn verbatim(range: std::ops::Range<usize>) -> Segment {
    Segment::Verbatim { range }
}

pub(crate) fn compaction(segments: Vec<Segment>) -> NewCompaction {
    NewCompaction {
        id: TurnId::generate(),
        compaction: Compaction { segments, placement: Placement::default(), wording: Wording::default() },
        strategy: "checkpoint".to_owned(),
        trigger: "manual".to_owned(),
        tokens_before: Tokens(150_000),
        tokens_after: Tokens(45_000),
        report: None,
        model: None,
        time: None,
    }
}

pub(crate) async fn compact(ledger: &Ledger, session: &Session, segments: Vec<Segment>) -> TurnId {
    let now = ledger.session(ME, session.id).await.unwrap();
    let new = compaction(segments);
    let id = new.id;
    ledger.compact(ME, expect(&now), new).await.unwrap();
    id
}

pub(crate) fn texts(messages: &[epitome_ledger::model::StoredMessage]) -> Vec<String> {
    let text = |message: &epitome_ledger::model::StoredMessage| {
        let body: serde_json::Value = serde_json::from_slice(&message.body).unwrap();
        body["content"].as_str().unwrap().to_owned()
    };
    messages.iter().map(text).collect()
}

/// Asks and does not wait for the answer.
pub(crate) async fn give_up<T>(asked: impl Future<Output = T>) {
    let mut asked = pin!(asked);
    poll_fn(|context| {
        let _ = asked.as_mut().poll(context);
        Poll::Ready(())
    })
    .await;
}
