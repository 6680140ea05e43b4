//! Bytes on the disk, index included, beside the JSON that was recorded.

use std::io::Read;
use std::path::Path;

use epitome_core::Role;
use epitome_ledger::model::{Expect, NewMessage, NewReply, NewSession, NewTurn, TenantId};
use epitome_ledger::{Ledger, Options};
use serde_json::value::RawValue;

const ME: TenantId = TenantId::LOCAL;

#[derive(serde::Deserialize)]
struct Conversation {
    messages: Vec<Box<RawValue>>,
}

#[derive(serde::Deserialize)]
struct Speaker {
    role: String,
}

pub(crate) async fn run() {
    let Ok(folder) = std::env::var("EPITOME_TRANSCRIPTS") else {
        println!("size: set EPITOME_TRANSCRIPTS to a folder of recorded conversations");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ledger.db");
    let ledger = Ledger::open(&format!("sqlite:{}", path.display()), Options::default()).await.unwrap();
    let (mut bytes, mut messages) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".jsonl.gz") {
            for line in read(&path).lines() {
                let conversation: Conversation = serde_json::from_str(line).unwrap();
                messages += conversation.messages.len();
                bytes += conversation.messages.iter().map(|message| message.get().len()).sum::<usize>();
                record(&ledger, conversation).await;
            }
        }
    }
    let raw = closed_size(&ledger, &path).await;
    let ledger = Ledger::open(&format!("sqlite:{}", path.display()), Options::default()).await.unwrap();
    ledger.pack().await.unwrap();
    let packed = closed_size(&ledger, &path).await;
    println!("size: {messages} messages, {bytes} bytes of JSON");
    println!("size: as appended {raw} bytes, {:.2} × the JSON", raw as f64 / bytes as f64);
    println!("size: packed {packed} bytes, {:.2} × the JSON (goal ≤ 0.5)", packed as f64 / bytes as f64);
    parts(&path);
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

// A turn is what went in since the last reply, and the reply.
async fn record(ledger: &Ledger, conversation: Conversation) {
    let session = ledger.create_session(ME, NewSession::of("agent")).await.unwrap();
    let mut turns = vec![NewTurn::of(Vec::new())];
    for raw in &conversation.messages {
        let role: Speaker = serde_json::from_str(raw.get()).unwrap();
        let message = |role| NewMessage::new(role, raw.get().as_bytes());
        if turns.last().unwrap().reply.is_some() {
            turns.push(NewTurn::of(Vec::new()));
        }
        let turn = turns.last_mut().unwrap();
        if role.role == "assistant" {
            turn.reply = Some(NewReply { messages: vec![message(Role::Assistant)], ..NewReply::default() });
        } else {
            turn.input.push(message(Role::User));
        }
    }
    let expect = Expect { session: session.id, head: None, fence: None };
    ledger.append(ME, expect, turns).await.unwrap();
}

async fn closed_size(ledger: &Ledger, path: &Path) -> u64 {
    ledger.close().await;
    std::fs::metadata(path).unwrap().len()
}

// What takes the room, by table and index.
fn parts(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let free: i64 = connection.query_row("PRAGMA freelist_count", [], |row| row.get(0)).unwrap();
    println!("size: free pages {free}");
    let Ok(mut statement) =
        connection.prepare("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 12")
    else {
        return;
    };
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))).unwrap();
    for (name, size) in rows.map(Result::unwrap) {
        println!("size:   {name} {size}");
    }
}
