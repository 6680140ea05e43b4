//! A known request through the wire (scan, look up, decide, prune, encode) against a bare parse of it.

#![allow(missing_docs, clippy::unwrap_used)]

mod corpus;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use epitome_core::Tokens;
use epitome_wire::reply::read_answer;
use epitome_wire::{Body, Dialect, Piece, common_prefix};

fn request(criterion: &mut Criterion) {
    let text = corpus::body();
    let sketches = corpus::sketches();
    let prune = || corpus::prune(&text, &sketches);
    let parse = || corpus::parse(&text);

    let body = Body::scan(Dialect::Anthropic, &text).unwrap();
    let known = sketches.of(&body).unwrap();
    let tokens: Tokens = known.iter().map(|sketch| sketch.outline.tokens).sum();
    let pruned = prune();
    println!(
        "{} messages, {tokens} tokens, {} bytes; pruned: {} trimmed, {} cleared, {} bytes left",
        known.len(),
        text.len(),
        pruned.plan.soft,
        pruned.plan.hard,
        pruned.text.len(),
    );
    let kept: Vec<_> = (0..body.messages().len()).map(Piece::Keep).collect();

    criterion.bench_function("parse to serde_json::Value", |bench| bench.iter(|| black_box(parse())));
    criterion.bench_function("scan", |bench| {
        bench.iter(|| black_box(Body::scan(Dialect::Anthropic, black_box(&text)).unwrap()));
    });
    let before = body.scan_of();
    let last = before.messages().last().unwrap().end;
    let longer = format!("{},{{\"role\":\"user\",\"content\":\"go on\"}}{}", &text[..last], &text[last..]);
    criterion.bench_function("how far two bodies agree", |bench| {
        bench.iter(|| common_prefix(black_box(text.as_bytes()), black_box(longer.as_bytes())));
    });
    criterion.bench_function("scan from there", |bench| {
        bench.iter(|| black_box(Body::resume(&before, black_box(&longer), last + 1).unwrap()));
    });
    let stream = streamed(&text);
    println!("a streamed reply of {} bytes", stream.len());
    criterion.bench_function("read back a streamed reply", |bench| {
        let chunks = || black_box(&stream).as_bytes().chunks(1_400);
        bench.iter(|| black_box(read_answer(Dialect::Anthropic, true, chunks())));
    });
    criterion.bench_function("look up", |bench| bench.iter(|| black_box(sketches.of(&body).unwrap())));
    criterion
        .bench_function("encode unchanged", |bench| bench.iter(|| black_box(body.encode(&kept).unwrap())));
    criterion
        .bench_function("scan, look up, decide, prune, encode", |bench| bench.iter(|| black_box(prune())));
    println!("ratio to a bare parse, side by side in one run: {:.2}", ratio(prune, parse));
}

/// A reply that says some of `text`, a few characters an event.
fn streamed(text: &str) -> String {
    let characters: Vec<char> = text.chars().take(16_000).collect();
    let deltas = characters.chunks(8).map(|piece| {
        let piece = serde_json::Value::from(piece.iter().collect::<String>());
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{piece}}}}}\n\n"
        )
    });
    let start = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    start.to_owned() + &deltas.collect::<String>()
}

/// The time of `ours` as a share of the time of `theirs`, by their medians over turns taken in alternation.
fn ratio<A, B>(ours: impl Fn() -> A, theirs: impl Fn() -> B) -> f64 {
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..301 {
        times[0].push(time(&ours));
        times[1].push(time(&theirs));
    }
    let [ours, theirs] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64()
    });
    ours / theirs
}

fn time<T>(work: impl Fn() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    targets = request
}
criterion_main!(benches);
