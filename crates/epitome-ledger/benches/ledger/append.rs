//! A durable append of a 2 KB turn, beside a bare write of 4 KB with fdatasync.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use epitome_ledger::model::{Expect, NewSession, NewTurn, Search, Session, TenantId};
use epitome_ledger::{Ledger, Options, Paging};

use crate::words::{Words, word};
use crate::{Times, time};

const ME: TenantId = TenantId::LOCAL;

pub(crate) async fn run() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let mut session = ledger.create_session(ME, NewSession::of("agent")).await.unwrap();
    let mut words = Words(7);
    let (bare, ours) = beside_bare(folder.path(), &ledger, &mut session, &mut words, 1000).await;
    println!("append: bare write of 4 KB + fdatasync: p50 {:.0} µs, p99 {:.0} µs", bare.p50(), bare.p99());
    println!(
        "append: turn of 2 KB, one writer: p50 {:.0} µs, p99 {:.0} µs: {:.2} × bare (goal ≤ 1.5)",
        ours.p50(),
        ours.p99(),
        ours.p50() / bare.p50()
    );
    for turns in [200, 2000] {
        let rate = many(&ledger, turns).await;
        println!(
            "append: turns of 2 KB, 32 writers, {turns} each: {rate:.0} a second: {:.1} × the rate of bare writes (goal ≥ 5)",
            rate * bare.p50() / 1e6
        );
        let search = Search { query: word(3), ..Search::default() };
        let (took, found) = time(ledger.search(ME, search, Paging::first(20))).await;
        assert_eq!(found.unwrap().items.len(), 20);
        println!("append: the search right behind them: {:.0} ms", took.as_secs_f64() * 1e3);
        let (took, packed) = time(ledger.pack()).await;
        packed.unwrap();
        println!("append: all sorted in, packed and indexed after {:.1} s", took.as_secs_f64());
    }
    ledger.close().await;
}

/// Turns a second of 32 writers, each with a session of its own and so many turns that lie ready.
async fn many(ledger: &Ledger, turns: usize) -> f64 {
    let mut ready = Vec::new();
    for number in 0..32 {
        let session = ledger.create_session(ME, NewSession::of("agent")).await.unwrap();
        let mut words = Words(100 + number);
        ready.push((session, (0..turns).map(|_| words.turn(140)).collect::<Vec<_>>()));
    }
    let start = Instant::now();
    let write = |(mut session, turns): (Session, Vec<NewTurn>)| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            for turn in turns {
                append(&ledger, &mut session, turn).await;
            }
        })
    };
    for writer in ready.into_iter().map(write).collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    32.0 * turns as f64 / start.elapsed().as_secs_f64()
}

/// Times of bare writes and of appends, taken in turn, so that both meet the same disk.
pub(crate) async fn beside_bare(
    folder: &Path,
    ledger: &Ledger,
    session: &mut Session,
    words: &mut Words,
    count: usize,
) -> (Times, Times) {
    let mut file = OpenOptions::new().create(true).append(true).open(folder.join("bare")).unwrap();
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let start = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        bare.push(start.elapsed());
        ours.push(one(ledger, session, words).await);
    }
    (Times::of(bare), Times::of(ours))
}

/// Appends a turn of about 2 KB and says how long it took.
pub(crate) async fn one(ledger: &Ledger, session: &mut Session, words: &mut Words) -> std::time::Duration {
    append(ledger, session, words.turn(140)).await
}

async fn append(ledger: &Ledger, session: &mut Session, turn: NewTurn) -> std::time::Duration {
    let head = turn.id;
    let expect = Expect { session: session.id, head: session.head, fence: None };
    let (took, receipt) = time(ledger.append(ME, expect, vec![turn])).await;
    receipt.unwrap();
    session.head = Some(head);
    took
}
