//! Planning a compaction of a known session against a bare parse of it, and how its cost grows with the session.

#![allow(missing_docs, clippy::unwrap_used)]

// The request's way through the wire is another benchmark.
#[allow(dead_code)]
mod corpus;
mod grown;
mod planning;

use std::hint::black_box;
use std::time::{Duration, Instant};

use epitome_core::Tokens;
use epitome_core::compact::{Favours, Limits, Placement, Plan, Planned, Segment, StrategyName, Wording, fit};
use epitome_wire::{Body, Dialect, Known};
use grown::Grown;
use planning::{Session, messages, settings};

/// What a session of 195 k tokens is brought into: pruning is enough, a checkpoint is needed, little is left.
const BUDGETS: [u64; 4] = [100_000, 50_000, 20_000, 4_000];
/// Turns that each side takes.
const ROUNDS: usize = 301;
/// Messages of the sessions that show how the cost grows.
const LENGTHS: [usize; 4] = [1_000, 10_000, 100_000, MESSAGES];
/// Messages that are planned for in one measurement, in as many sessions as it takes.
const MESSAGES: usize = 1_000_000;

type Work<'w> = Box<dyn Fn() + 'w>;

fn main() {
    let text = corpus::body();
    let sketches = corpus::sketches();
    let body = Body::scan(Dialect::Anthropic, &text).unwrap();
    let known = Known::of(&body, &sketches).unwrap();
    let (path, messages) = (known.path(&[]), messages(&body));
    let session = Session { path: &path, messages: &messages, count: &known };
    println!("{} messages, {} tokens, {} bytes", path.len(), session.tokens(), text.len());
    println!("times of a bare parse, by the medians of {ROUNDS} turns taken in alternation:");
    ratios(&session, &text);
    println!("nanoseconds of processor time a message, the budget a quarter of the session:");
    growth();
}

fn ratios(session: &Session<'_>, text: &str) {
    let all = StrategyName::ALL.map(settings);
    let mut works: Vec<Work<'_>> = Vec::new();
    for settings in &all {
        for budget in BUDGETS.map(Tokens) {
            works.push(Box::new(move || drop(black_box(session.plan(settings, budget)))));
            works.push(Box::new(move || drop(black_box(session.dry_run(settings, budget)))));
        }
    }
    let mut ours = vec![Vec::new(); works.len()];
    let mut theirs = Vec::new();
    for _ in 0..ROUNDS {
        for (work, times) in works.iter().zip(&mut ours) {
            theirs.push(time(|| drop(black_box(corpus::parse(text)))));
            times.push(time(work));
        }
    }
    let parse = median(theirs);
    let ours: Vec<f64> = ours.into_iter().map(median).collect();
    println!("{:>24} {}", "plan, dry run in", BUDGETS.map(|budget| format!("{budget:>13}")).concat());
    for (name, row) in StrategyName::ALL.iter().zip(ours.chunks(2 * BUDGETS.len())) {
        let cells = row.chunks(2).map(|pair| format!("{:>7.2}{:>6.2}", pair[0] / parse, pair[1] / parse));
        println!("{:>24} {}", name.as_str(), cells.collect::<String>());
    }
    println!("{:>24} {:>7.2} ms", "bare parse", parse * 1e3);
}

fn growth() {
    let mut rows: Vec<(String, Vec<f64>)> = Vec::new();
    for length in LENGTHS {
        let grown = Grown::to(length);
        let session = Session { path: &grown.path, messages: &grown.messages, count: &grown };
        let budget = Tokens(session.tokens().0 / 4);
        let all = StrategyName::ALL.map(settings);
        let session = &session;
        // Touching every outline once is what memory alone costs, which leaves the caches on the way to a million.
        let mut works: Vec<(String, Work<'_>)> = vec![
            ("only read".to_owned(), Box::new(move || _ = black_box(read_all(session)))),
            ("fit".to_owned(), Box::new(move || drop(black_box(fit_all(session, budget))))),
        ];
        for settings in &all {
            let name = settings.compact.strategy.as_str();
            let plan = move || drop(black_box(session.plan(settings, budget)));
            let dry_run = move || drop(black_box(session.dry_run(settings, budget)));
            works.push((name.to_owned(), Box::new(plan)));
            works.push((format!("{name}, dry run"), Box::new(dry_run)));
        }
        rows.resize(works.len(), (String::new(), Vec::new()));
        for ((name, work), row) in works.into_iter().zip(&mut rows) {
            row.0 = name;
            row.1.push(nanoseconds(&work, MESSAGES / length) / MESSAGES as f64);
        }
    }
    println!("{:>24} {}", "messages", LENGTHS.map(|length| format!("{length:>9}")).concat());
    for (name, row) in rows {
        println!("{name:>24} {}", row.iter().map(|cost| format!("{cost:>9.0}")).collect::<String>());
    }
}

fn read_all(session: &Session<'_>) -> Tokens {
    let outlines = session.path.iter().map(|entry| &entry.outline);
    outlines.flat_map(|outline| &outline.blocks).map(|block| block.tokens).sum()
}

// A plan that leaves everything as it is, made to fit.
fn fit_all(session: &Session<'_>, budget: Tokens) -> Plan {
    let whole = Planned::Segment(Segment::Verbatim { range: 0..session.path.len() });
    let plan = Plan {
        parts: vec![whole],
        placement: Placement::Pair,
        wording: Wording::default(),
        favours: Favours::Recent,
    };
    let limits = Limits { budget, ..Limits::default() };
    fit(plan, session.path, session.messages, &limits, session.count).plan
}

// Processor time, as wall-clock time of long runs is that of others, too. What the first run counts, the rest know.
fn nanoseconds(work: impl Fn(), runs: usize) -> f64 {
    work();
    let start = processor_time();
    (0..runs).for_each(|_| work());
    processor_time() - start
}

fn processor_time() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn time(work: impl Fn()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
