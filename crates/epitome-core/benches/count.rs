//! Counting against `tiktoken-rs`, appended text against a recount, and the search for secrets against a count: as
//! ratios, in one run, on one core.
//!
//! `cargo bench -p epitome-core --bench count`. The corpus is generated; with `EPITOME_TRANSCRIPTS` set, the texts
//! of that folder's `*.jsonl` files (plain or gzipped) are measured as well.

// A benchmark that cannot start has nothing to recover.
#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use epitome_core::secrets;
use epitome_core::tokens::{Bpe, Running, Tokenizer};
use flate2::read::GzDecoder;
use tiktoken_rs::CoreBPE;

#[path = "count/corpus.rs"]
mod corpus;

/// Runs of which the fastest counts: noise only ever adds.
const RUNS: usize = 5;
/// Bytes of a text that is measured.
const SIZE: usize = 1 << 20;
/// Bytes that a stream appends at a time.
const DELTA: usize = 24;

fn main() {
    let generated = corpus::texts(SIZE);
    let texts = [generated.clone(), recorded()].concat();
    let reference = tiktoken_rs::o200k_base().unwrap();
    println!(
        "{:<16}{:>10}{:>10}{:>12}{:>12}{:>8}",
        "text", "bytes", "tokens", "ours", "tiktoken-rs", "ratio"
    );
    for (name, text) in &texts {
        compare(name, text, &reference);
    }
    println!("\n{:<16}{:>10}{:>12}{:>12}{:>8}", "appended text", "deltas", "running", "recount", "ratio");
    for (name, text) in &texts {
        compare_appending(name, text);
    }
    println!("\n{:<16}{:>10}{:>12}{:>12}{:>8}", "secrets", "bytes", "search", "count", "ratio");
    for (name, text) in &texts {
        compare_secrets(name, text);
    }
    println!();
    long_runs();

    let mut criterion = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(1));
    criterion = criterion.warm_up_time(Duration::from_millis(300)).configure_from_args();
    measure(&mut criterion, &generated, &reference);
    criterion.final_summary();
}

fn compare(name: &str, text: &str, reference: &CoreBPE) {
    let (ours, tokens) = fastest(|| Bpe::o200k().count(text).0 as usize);
    let (theirs, expected) = fastest(|| reference.encode_ordinary(text).len());
    assert_eq!(tokens, expected, "{name}: totals differ");
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    println!("{name:<16}{:>10}{tokens:>10}{ours:>12.1?}{theirs:>12.1?}{ratio:>7.1}x", text.len());
}

/// A reply that streams in, its exact count wanted after every delta.
fn compare_appending(name: &str, text: &str) {
    let reply: String = text.chars().take(4_000).collect();
    let deltas = split(&reply);
    let (running, last) = fastest(|| {
        let mut running = Running::new(Bpe::o200k());
        deltas.iter().fold(0, |_, delta| {
            running.push(delta);
            black_box(running.total().0 as usize)
        })
    });
    let (recount, expected) = fastest(|| {
        let mut whole = String::new();
        deltas.iter().fold(0, |_, delta| {
            whole.push_str(delta);
            black_box(Bpe::o200k().count(&whole).0 as usize)
        })
    });
    assert_eq!(last, expected, "{name}: totals differ");
    let ratio = recount.as_secs_f64() / running.as_secs_f64();
    println!("{name:<16}{:>10}{running:>12.1?}{recount:>12.1?}{ratio:>7.0}x", deltas.len());
}

/// The search for secrets runs over all that is summarised, so it must be small beside a count.
fn compare_secrets(name: &str, text: &str) {
    let (search, _) = fastest(|| secrets::find(text).len());
    let (count, _) = fastest(|| Bpe::o200k().count(text).0 as usize);
    let ratio = search.as_secs_f64() / count.as_secs_f64();
    println!("{name:<16}{:>10}{search:>12.1?}{count:>12.1?}{ratio:>8.2}", text.len());
}

/// Text without a boundary must cost linear time.
fn long_runs() {
    for (name, unit) in [("letters", "a"), ("spaces", " "), ("dashes", "-"), ("ideographs", "漢字")] {
        let time = |megabytes: usize| {
            let text = unit.repeat((megabytes << 20) / unit.len());
            let start = Instant::now();
            black_box(Bpe::o200k().count(&text));
            start.elapsed()
        };
        let (short, long) = (time(1), time(4));
        let growth = long.as_secs_f64() / short.as_secs_f64();
        println!("a run of {name:<12} 1 MiB {short:>9.1?}   4 MiB {long:>9.1?}   x{growth:.1}");
    }
}

fn measure(criterion: &mut Criterion, texts: &[(String, String)], reference: &CoreBPE) {
    let mut group = criterion.benchmark_group("count");
    for (name, text) in texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("ours/{name}"), |bench| bench.iter(|| Bpe::o200k().count(text)));
        group.bench_function(format!("tiktoken-rs/{name}"), |bench| {
            bench.iter(|| reference.encode_ordinary(text).len())
        });
    }
    group.finish();
}

fn fastest(mut run: impl FnMut() -> usize) -> (Duration, usize) {
    let timed = |_| {
        let start = Instant::now();
        let result = black_box(run());
        (start.elapsed(), result)
    };
    (0..RUNS).map(timed).min().unwrap_or_default()
}

fn split(text: &str) -> Vec<&str> {
    let mut deltas = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = (DELTA..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (delta, tail) = rest.split_at(end);
        deltas.push(delta);
        rest = tail;
    }
    deltas
}

/// All strings of the recorded conversations, a text for each file.
fn recorded() -> Vec<(String, String)> {
    let Some(root) = std::env::var_os("EPITOME_TRANSCRIPTS") else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(root).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
        .iter()
        .filter_map(|file| Some((file.file_name()?.to_str()?.split('.').next()?.to_owned(), strings(file)?)))
        .collect()
}

fn strings(file: &Path) -> Option<String> {
    let name = file.to_str()?;
    let mut bytes = std::fs::read(file).ok()?;
    if name.ends_with(".jsonl.gz") {
        let mut plain = Vec::new();
        GzDecoder::new(&bytes[..]).read_to_end(&mut plain).ok()?;
        bytes = plain;
    } else if !name.ends_with(".jsonl") {
        return None;
    }
    let mut text = String::new();
    for value in serde_json::Deserializer::from_slice(&bytes).into_iter::<serde_json::Value>().flatten() {
        gather(&value, &mut text);
    }
    let end = (0..=text.len().min(4 * SIZE)).rev().find(|at| text.is_char_boundary(*at))?;
    text.truncate(end);
    Some(text)
}

fn gather(value: &serde_json::Value, text: &mut String) {
    match value {
        serde_json::Value::String(string) => {
            text.push_str(string);
            text.push('\n');
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| gather(value, text)),
        _ => {}
    }
}
