//! What the ledger costs, as ratios and curves: `cargo bench -p epitome-ledger --bench ledger -- [PART…]`.
//!
//! Parts: `append`, `growth`, `search`, `size`, `postgres`; all of them where none is named. `EPITOME_TURNS` (default 1000000)
//! is the largest session of `growth` and `search`; `size` reads the conversations in `EPITOME_TRANSCRIPTS`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod append;
mod growth;
mod postgres;
mod search;
#[allow(dead_code)]
#[path = "../../tests/all/server.rs"]
mod server;
mod size;
mod words;

use std::time::{Duration, Instant};

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|it| it == part);
    runtime.block_on(async {
        if wanted("append") {
            append::run().await;
        }
        if wanted("postgres") {
            postgres::run().await;
        }
        if wanted("size") {
            size::run().await;
        }
        if wanted("growth") || wanted("search") {
            growth::run(wanted("search")).await;
        }
    });
}

/// Times of many runs, sorted.
struct Times(Vec<Duration>);

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    fn at(&self, share: f64) -> f64 {
        let place = ((self.0.len() - 1) as f64 * share) as usize;
        self.0[place].as_secs_f64() * 1e6
    }

    fn p50(&self) -> f64 {
        self.at(0.5)
    }

    fn p99(&self) -> f64 {
        self.at(0.99)
    }
}

async fn time<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let start = Instant::now();
    let result = work.await;
    (start.elapsed(), result)
}
