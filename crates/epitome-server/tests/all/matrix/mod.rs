//! The matrix of fidelity: everything that a request may have, in each dialect, through a proxy that keeps sessions and compacts.
//!
//! Each feature is sent three times. In a short conversation nothing is due: the bytes of the request, its headers and those of the
//! answer must pass as they are. In a long one a compaction is due, with the feature both in what is old and in what is recent: of what is sent,
//! everything but a front that stands for the old part must be the client's own bytes. Then the conversation goes on: what was sent must be sent again.
//! In the end the ledger must hold every message as it was written.

mod anthropic;
mod case;
mod chat;
mod common;
mod desk;
mod judge;
mod responses;

use std::fmt::Write;

use epitome::Dialect;

use self::case::{Case, Fate};
use self::common::{assistant, exchange, user};
use self::desk::{Desk, Exchange, Place};
use crate::house::prose;

/// So many exchanges make a conversation too long, by these settings.
const LONG: usize = 36;
const NARROW: &[(&str, &str)] = &[
    ("strategy", "checkpoint"),
    ("compaction_threshold", "4k"),
    ("keep_recent_tokens", "1k"),
    ("summary_token_budget", "300"),
];

#[test]
fn every_feature_of_messages_reaches_the_upstream() {
    all(Dialect::Anthropic, Place::Sqlite, cases(Dialect::Anthropic));
}

#[test]
fn every_feature_of_chat_completions_reaches_the_upstream() {
    all(Dialect::Chat, Place::Sqlite, cases(Dialect::Chat));
}

#[test]
fn every_feature_of_responses_reaches_the_upstream() {
    all(Dialect::Responses, Place::Sqlite, cases(Dialect::Responses));
}

#[test]
fn features_reach_the_upstream_with_a_ledger_on_postgresql() {
    for dialect in Dialect::ALL {
        let is_told =
            |name: &str| ["compaction", "thinking", "tool", "shell"].iter().any(|word| name.contains(word));
        let chosen = cases(dialect).into_iter().enumerate();
        let chosen =
            chosen.filter(|(number, case)| number % 9 == 0 || is_told(case.name)).map(|(_, case)| case);
        all(dialect, Place::Postgres, chosen.collect());
    }
}

fn cases(dialect: Dialect) -> Vec<Case> {
    let own = match dialect {
        Dialect::Anthropic => anthropic::cases(),
        Dialect::Chat => chat::cases(),
        _ => responses::cases(),
    };
    let cases: Vec<Case> = common::cases(dialect).into_iter().chain(own).collect();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    cases
}

fn all(dialect: Dialect, place: Place, cases: Vec<Case>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (table, problems) = runtime.block_on(async {
        let mut roomy = Desk::open(dialect, place, &[]).await;
        let mut narrow = Desk::open(dialect, place, NARROW).await;
        let mut rows = Vec::new();
        for case in &cases {
            rows.push(Row::of(&mut roomy, &mut narrow, case).await);
        }
        roomy.recorded(&mut rows, |row| &row.short).await;
        narrow.recorded(&mut rows, |row| &row.long).await;
        told(dialect, &rows)
    });
    println!("{table}");
    assert!(problems.is_empty(), "{} of {}:\n{problems}", problems.lines().count(), cases.len());
}

/// What became of a feature.
pub(crate) struct Row {
    name: &'static str,
    plain: Result<(), String>,
    compacted: Result<&'static str, String>,
    recorded: Result<&'static str, String>,
    /// The exchanges whose messages must be in the ledger.
    short: Option<Exchange>,
    long: Option<Exchange>,
}

impl Row {
    async fn of(roomy: &mut Desk, narrow: &mut Desk, case: &Case) -> Self {
        let dialect = roomy.dialect();
        let short = roomy.call(case, opening(dialect, case, "s")).await;
        let plain = judge::unchanged(dialect, case, &short);
        let long = narrow.call(case, conversation(dialect, case)).await;
        let (compacted, long) = match case.fate {
            Fate::Kept => {
                let mut messages = long.sent.messages.clone();
                messages.push(desk::echo(dialect));
                messages.extend(case.said_at("c"));
                messages.push(user(dialect, r#""And now?""#));
                let next = narrow.call(case, messages).await;
                let continued = judge::continued(dialect, case, &long, &next);
                // One more picture or file is enough to make another compaction due.
                let again = |problem| match case.is_large() {
                    true => judge::compacted(dialect, case, &next),
                    false => Err(problem),
                };
                let judged = judge::compacted(dialect, case, &long).and_then(|()| continued.or_else(again));
                (judged.map(|()| "equal"), next)
            }
            _ => (judge::unchanged(dialect, case, &long).map(|()| "never"), long),
        };
        let is_kept = case.fate != Fate::Passed;
        let (short, long) = (is_kept.then_some(short), is_kept.then_some(long));
        Self { name: case.name, plain, compacted, recorded: Ok("no"), short, long }
    }
}

// The messages of the case, behind what tells its conversation from all others.
fn opening(dialect: Dialect, case: &Case, place: &str) -> Vec<String> {
    let mut messages = exchange(dialect, &format!("\"Case {} at {place}\"", case.name));
    messages.extend(case.said_at(place));
    messages.push(user(dialect, r#""Go on.""#));
    messages
}

// The same, then much else, then the messages of the case once more.
fn conversation(dialect: Dialect, case: &Case) -> Vec<String> {
    let mut messages = opening(dialect, case, "a");
    messages.push(assistant(dialect, r#""Going.""#));
    for number in 0..LONG {
        messages.extend(exchange(dialect, &format!("\"Step {number}. {}\"", prose(number, 110))));
    }
    messages.extend(case.said_at("b"));
    messages.push(user(dialect, r#""Go on.""#));
    messages
}

fn told(dialect: Dialect, rows: &[Row]) -> (String, String) {
    let mut table = format!("{dialect}: {} features\n", rows.len());
    let mut problems = String::new();
    for row in rows {
        let plain = if row.plain.is_ok() { "equal" } else { "CHANGED" };
        let (compacted, recorded) =
            (row.compacted.as_ref().unwrap_or(&"CHANGED"), row.recorded.as_ref().unwrap_or(&"LOST"));
        let _ =
            writeln!(table, "{:46} plain {plain:8} compacted {compacted:8} recorded {recorded}", row.name);
        let wrong = [row.plain.as_ref().err(), row.compacted.as_ref().err(), row.recorded.as_ref().err()];
        for problem in wrong.into_iter().flatten() {
            let _ = writeln!(problems, "{dialect}, {}: {problem}", row.name);
        }
    }
    (table, problems)
}
