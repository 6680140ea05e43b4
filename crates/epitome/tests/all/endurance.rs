//! An agent of two thousand turns with tools that say too much, killed and resumed again and again.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use epitome::{Answer, Compacting, Engine, Hook, Input, Reply, Session, Told};
use epitome_core::{ContentHash, Tokens};
use epitome_ledger::model::TurnId;
use serde_json::json;

use crate::support::{Place, assert_sendable, prose, run};
use crate::worker::{Worker, acknowledge, random};

const WINDOW: u64 = 32_000;
/// Messages are read back so many at a time.
const CHUNK: u64 = 200;

/// What must be in view at all times: where it is said, how, and how it is recognised.
const ORDERS: [(u64, &str); 4] = [
    (0, "Goal: migrate the billing service to ledger-v9 and keep every invoice."),
    (0, "Never edit src/generated/schema_pb.rs."),
    (10, "You must always run scripts/check-all before a commit."),
    (20, "Do not use any port other than 7443."),
];

#[test]
fn two_thousand_turns_killed_and_resumed() {
    endure(&Place::sqlite(), 2_000, 25);
}

#[test]
fn a_shorter_life_on_postgres() {
    endure(&Place::postgres(), 400, 20);
}

fn endure(place: &Place, turns: u64, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("sent");
    let task = format!("endure {turns} {} {}", log.display(), place.address);
    let mut seed = 0x5eed | turns << 20;
    for kill in 0..kills {
        let mut worker = Worker::start(&task);
        // Every other one is killed in the midst of a compaction.
        let awaited = if kill % 2 == 0 { "compacting" } else { "turn" };
        let most = if kill % 2 == 0 { 1 } else { turns / kills / 2 };
        for _ in 0..=random(&mut seed) % most {
            while worker.next().expect("the agent ended by itself") != awaited {}
        }
        (0..random(&mut seed) % 2_000_000).for_each(|_| std::hint::spin_loop());
        worker.kill();
    }
    let said = Worker::start(&task).finish();
    assert_eq!(said.last().map(String::as_str), Some("done"));
    run(verify(place, turns, &log));
}

async fn verify(place: &Place, turns: u64, log: &Path) {
    let engine = place.engine().await;
    let session = engine.session("endurance").await.unwrap();
    let length = session.info().await.unwrap().messages;
    assert_eq!(length, turns * 2);
    for start in (0..length).step_by(CHUNK as usize) {
        let messages = session.messages(start..start + CHUNK).await.unwrap();
        assert_eq!(messages.len() as u64, CHUNK.min(length - start));
        for stored in messages {
            assert!(stored.body == said(stored.ordinal).as_bytes(), "message {} is another", stored.ordinal);
        }
    }
    let text = std::fs::read_to_string(log).unwrap();
    let sent: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    assert!(sent.len() as u64 >= turns);
    for (turn, hash) in sent {
        let turn: TurnId = turn.parse().unwrap();
        let view = session.view(turn).await.unwrap();
        assert_eq!(hash_of(&view.to_json(), view.system.as_deref()), hash, "view of {turn}");
    }
    let checkup = engine.ledger().doctor().await.unwrap();
    assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
    engine.close().await;
}

/// The agent: goes on where it was left, until it has had so many turns.
pub(crate) async fn agent(turns: u64, log: &str, address: &str) {
    let engine = Engine::builder().db(address).agent("tester").window(Tokens(WINDOW));
    let engine = engine.lease(Duration::from_secs(1)).hook("tell", Tell).build().await.unwrap();
    let session = engine.session("endurance").await.unwrap();
    let mut log = OpenOptions::new().create(true).append(true).open(log).unwrap();
    let mut at = session.info().await.unwrap().messages;
    while at < turns * 2 {
        if at % 2 == 0 {
            session.append(Input::json(said(at))).await.unwrap();
            at += 1;
        }
        send(&session, at, &mut log).await;
        session.reply(Reply::json(said(at))).await.unwrap();
        at += 1;
        acknowledge("turn");
    }
    engine.close().await;
    acknowledge("done");
}

// What is sent is in the log before the model can answer.
async fn send(session: &Session, at: u64, log: &mut File) {
    let context = session.context().await.unwrap();
    assert_sendable(&context, WINDOW);
    let (json, system) = (context.to_json(), context.system.as_deref());
    for (_, order) in ORDERS.iter().filter(|(said, _)| *said < at) {
        let in_view = json.contains(order) || system.is_some_and(|system| system.contains(order));
        assert!(in_view, "at message {at} nobody knows any longer: {order}");
    }
    // In one write, which no kill tears.
    let line = format!("{} {}\n", context.turn.unwrap(), hash_of(&json, system));
    log.write_all(line.as_bytes()).unwrap();
    log.sync_data().unwrap();
}

fn hash_of(json: &str, system: Option<&str>) -> String {
    ContentHash::of(format!("{json}\n{}", system.unwrap_or_default()).as_bytes()).to_string()
}

/// The one message that there can be at a place of the path.
fn said(ordinal: u64) -> String {
    let (turn, number) = (ordinal / 2, ordinal as usize);
    let orders: Vec<&str> = ORDERS.iter().filter(|(at, _)| *at == ordinal).map(|(_, order)| *order).collect();
    if ordinal % 2 == 1 {
        let file = format!("src/module{}.rs", turn % 97);
        let mut content = vec![json!({"type": "text", "text": prose(number, 30)})];
        if calls_a_tool(turn) {
            content.push(json!({"type": "tool_use", "id": format!("call{turn}"), "name": "read",
                "input": {"path": file}}));
        }
        return json!({"role": "assistant", "content": content}).to_string();
    }
    if turn > 0 && calls_a_tool(turn - 1) {
        let output = output(turn);
        return json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": format!("call{}", turn - 1), "content": output}]})
        .to_string();
    }
    json!({"role": "user", "content": format!("{} Step {turn}: {}", orders.join(" "), prose(number, 40))})
        .to_string()
}

fn calls_a_tool(turn: u64) -> bool {
    turn % 5 != 4
}

// Most outputs are short, some are long, and a few fill several windows.
fn output(turn: u64) -> String {
    let mut seed = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let bytes = match random(&mut seed) % 200 {
        0 => 200_000,
        1 => 30_000 + random(&mut seed) % 170_000,
        2..10 => 5_000 + random(&mut seed) % 20_000,
        _ => 100 + random(&mut seed) % 1_500,
    };
    let mut text = prose(turn as usize, bytes as usize / 6);
    text.truncate(200_000);
    text
}

/// Says when a compaction begins.
struct Tell;

impl Hook for Tell {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        acknowledge("compacting");
        Box::pin(async { Ok(Answer::default()) })
    }
}
