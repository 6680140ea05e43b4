//! A durable append of a 2 KB turn, beside a bare write of 4 KB with fdatasync.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use epitome_ledger::model::{Expect, NewSession, Session, TenantId};
use epitome_ledger::{Ledger, Options};

use crate::words::Words;
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
    let start = Instant::now();
    let writers = (0..32).map(|number| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            let mut words = Words(100 + number);
            let mut session = ledger.create_session(ME, NewSession::of("agent")).await.unwrap();
            for _ in 0..200 {
                one(&ledger, &mut session, &mut words).await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let rate = 32.0 * 200.0 / start.elapsed().as_secs_f64();
    println!(
        "append: turns of 2 KB, 32 writers: {rate:.0} a second: {:.1} × the rate of bare writes (goal ≥ 5)",
        rate * bare.p50() / 1e6
    );
    ledger.close().await;
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
    let turn = words.turn(140);
    let head = turn.id;
    let expect = Expect { session: session.id, head: session.head, fence: None };
    let (took, receipt) = time(ledger.append(ME, expect, vec![turn])).await;
    receipt.unwrap();
    session.head = Some(head);
    took
}
