//! Searching in a large ledger: rare and common words, several of them, within a session and across all.

use epitome_ledger::model::{NewSession, Order, Scope, Search, Session, TenantId};
use epitome_ledger::{Ledger, Paging};

use crate::words::{Words, word};
use crate::{Times, append, time};

const ME: TenantId = TenantId::LOCAL;

pub(crate) async fn run(ledger: &Ledger, large: &Session) {
    let mut small = ledger.create_session(ME, NewSession::of("other")).await.unwrap();
    let mut words = Words(11);
    for _ in 0..200 {
        append::one(ledger, &mut small, &mut words).await;
    }
    ledger.pack().await.unwrap();
    let scopes = [
        ("all", Scope::Tenant),
        ("large session", Scope::Session(large.id)),
        ("small session", Scope::Session(small.id)),
    ];
    let (mut newest, mut best) = (Vec::new(), Vec::new());
    for (name, scope) in scopes {
        for kind in ["rare word", "common word", "three words", "phrase", "prefix", "path"] {
            for order in [Order::Newest, Order::Best] {
                let mut times = Vec::new();
                for round in 0..40 {
                    let search = Search { query: query(kind, round), scope: scope.clone(), order };
                    let (took, page) = time(ledger.search(ME, search, Paging::first(20))).await;
                    page.unwrap();
                    times.push(took);
                }
                if order == Order::Newest { &mut newest } else { &mut best }.extend(times.clone());
                let times = Times::of(times);
                println!(
                    "search: {name}, {kind}, {order:?}: p50 {:.1} ms, p99 {:.1} ms",
                    times.p50() / 1e3,
                    times.p99() / 1e3
                );
            }
        }
    }
    for (order, times) in [("newest", newest), ("best", best)] {
        let times = Times::of(times);
        println!(
            "search: all together, {order} first: p50 {:.1} ms (goal ≤ 10), p99 {:.1} ms (goal ≤ 100)",
            times.p50() / 1e3,
            times.p99() / 1e3
        );
    }
}

fn query(kind: &str, round: u64) -> String {
    match kind {
        "rare word" => word(40_000 + round * 17),
        "common word" => word(1 + round % 5),
        "three words" => format!("{} {} {}", word(3 + round), word(30 + round), word(500 + round)),
        "phrase" => format!("\"{} {}\"", word(2 + round), word(40 + round)),
        "prefix" => format!("{}*", word(3_000 + round * 5)),
        _ => format!("{}/{}.{}", word(5 + round), word(50 + round), word(7)),
    }
}
