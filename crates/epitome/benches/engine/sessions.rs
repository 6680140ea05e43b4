//! What a session costs that is open and rests: many of them in one process, each used once.

use std::time::Instant;

use epitome::{Engine, Reply, Session};
use epitome_core::Tokens;

use crate::kilobyte;

/// So many are opened at the same time.
const TOGETHER: usize = 64;

pub(crate) async fn run() {
    let count = std::env::var("EPITOME_SESSIONS").map_or(100_000, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("engine.db").display());
    let engine = Engine::builder().db(address).window(Tokens(200_000)).build().await.unwrap();
    // What the process needs whatever it does, as the table of the tokenizer, is there before anything is measured.
    let mut open = opened(&engine, 0..TOGETHER * 16).await;
    let (before, first, start) = (resident(), open.len(), Instant::now());
    for from in (first..count).step_by(TOGETHER) {
        open.extend(opened(&engine, from..(from + TOGETHER).min(count)).await);
    }
    let took = start.elapsed().as_secs_f64();
    let each = (resident() - before) as f64 / (open.len() - first) as f64 / 1024.0;
    println!("sessions: {} opened and used once, all open, after {took:.0} s", open.len());
    println!("sessions: {} MB are resident, {each:.1} KB a session (goal ≤ 10)", resident() >> 20);
    engine.close().await;
    println!("sessions: {} MB after closing", resident() >> 20);
}

async fn opened(engine: &Engine, numbers: std::ops::Range<usize>) -> Vec<Session> {
    let open = |number: usize| {
        let engine = engine.clone();
        tokio::spawn(async move {
            let session = engine.session(format!("session {number}")).await.unwrap();
            session.append(kilobyte(number)).await.unwrap();
            session.context().await.unwrap();
            session.reply(Reply::text(kilobyte(number + 1))).await.unwrap();
            session
        })
    };
    let mut sessions = Vec::new();
    for task in numbers.map(open).collect::<Vec<_>>() {
        sessions.push(task.await.unwrap());
    }
    sessions
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}
