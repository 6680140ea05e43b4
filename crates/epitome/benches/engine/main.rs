//! What the engine costs beside the ledger: `cargo bench -p epitome --bench engine -- [PART…]`.
//!
//! Parts: `turn`, `recall`, `sessions`; all of them where none is named. `EPITOME_SESSIONS` (default 100000) is how many sessions
//! are open at once; `recall` reads the conversations in `EPITOME_TRANSCRIPTS`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod recall;
mod sessions;
mod turn;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|part| !part.starts_with('-')).collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|it| it == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if wanted("turn") {
            turn::run().await;
        }
        if wanted("recall") {
            recall::run().await;
        }
        if wanted("sessions") {
            sessions::run().await;
        }
    });
}

/// Text of about a kilobyte, different for each seed.
fn kilobyte(seed: usize) -> String {
    let words = ["river", "lantern", "copper", "meadow", "signal", "harbour", "violet", "granite", "orchard"];
    let word =
        |at: usize| format!("{}{}", words[(seed * 7 + at * 5) % words.len()], (seed * 31 + at * 17) % 997);
    (0..100).map(word).collect::<Vec<_>>().join(" ")
}
