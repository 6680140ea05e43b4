//! What a view and an append cost as a session grows.

use std::path::Path;
use std::time::Instant;

use epitome_core::Tokens;
use epitome_core::compact::{Compaction, Level, Placement, Segment, Wording};
use epitome_ledger::model::{Expect, NewCompaction, NewSession, Session, TenantId, TurnId, Until};
use epitome_ledger::{Ledger, Options};

use crate::words::Words;
use crate::{Times, append, search, time};

const ME: TenantId = TenantId::LOCAL;

pub(crate) async fn run(and_search: bool) {
    let largest: u64 = std::env::var("EPITOME_TURNS").ok().map_or(1_000_000, |turns| turns.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let ledger = Ledger::open(&format!("sqlite:{}", path.display()), Options::default()).await.unwrap();
    let mut session = ledger.create_session(ME, NewSession::of("agent")).await.unwrap();
    let mut words = Words(3);
    let start = Instant::now();
    let mut first: Option<(f64, f64)> = None;
    for turns in [1_000, 10_000, 100_000, largest] {
        grow(&ledger, &mut session, &mut words, turns).await;
        let (view, append) = measure(folder.path(), &ledger, &mut session, &mut words).await;
        let (v, a) = *first.get_or_insert((view, append));
        println!(
            "growth: {turns} turns: view at the head p50 {view:.0} µs ({:.2} ×, goal ≤ 2), append {append:.2} bare writes ({:.2} ×, goal ≤ 1.5)",
            view / v,
            append / a
        );
    }
    let size = std::fs::metadata(&path).unwrap().len();
    println!("growth: built in {:.0} s, file of {} MB", start.elapsed().as_secs_f64(), size >> 20);
    if and_search {
        search::run(&ledger, &session).await;
    }
    ledger.close().await;
}

async fn grow(ledger: &Ledger, session: &mut Session, words: &mut Words, turns: u64) {
    *session = ledger.session(ME, session.id).await.unwrap();
    while session.turns < turns {
        let batch = (turns - session.turns).min(500);
        // Other sessions grow beside it, so that searching within one is not searching everything.
        let own: Vec<_> = (0..batch).map(|_| words.turn(40)).collect();
        let expect = Expect { session: session.id, head: session.head, fence: None };
        let receipt = ledger.append(ME, expect, own).await.unwrap();
        (session.head, session.turns, session.messages) = (receipt.head, receipt.turns, receipt.messages);
    }
}

async fn measure(folder: &Path, ledger: &Ledger, session: &mut Session, words: &mut Words) -> (f64, f64) {
    // What was written just now is not what is measured.
    ledger.pack().await.unwrap();
    let length = session.messages as usize;
    let summary = Segment::Summary { range: 0..length - 40, text: words.text(800), level: Level::Checkpoint };
    let segments = vec![summary, Segment::Verbatim { range: length - 40..length }];
    let new = NewCompaction {
        id: TurnId::generate(),
        compaction: Compaction { segments, placement: Placement::default(), wording: Wording::default() },
        strategy: "checkpoint".to_owned(),
        trigger: "manual".to_owned(),
        tokens_before: Tokens(0),
        tokens_after: Tokens(0),
        report: None,
        model: None,
        time: None,
    };
    let expect = Expect { session: session.id, head: session.head, fence: None };
    let head = ledger.compact(ME, expect, new).await.unwrap().head.unwrap();
    session.head = Some(head);
    let mut views = Vec::new();
    for _ in 0..500 {
        let (took, view) = time(ledger.view(ME, head, Until::Reply)).await;
        assert_eq!(view.unwrap().messages.len(), 40);
        views.push(took);
    }
    // Disks have moods; what an append costs is told in bare writes of the same moment.
    let (bare, ours) = append::beside_bare(folder, ledger, session, words, 500).await;
    *session = ledger.session(ME, session.id).await.unwrap();
    (Times::of(views).p50(), ours.p50() / bare.p50())
}
