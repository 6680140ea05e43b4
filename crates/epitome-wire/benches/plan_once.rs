//! One side of the planning benchmark, a given number of times, for `instructions.sh` to count.

#![allow(missing_docs, clippy::unwrap_used)]

// The request's way through the wire is another benchmark.
#[allow(dead_code)]
mod corpus;
// Parts of a decision are timed apart, but counted together.
#[allow(dead_code)]
mod planning;

use std::hint::black_box;

use epitome_core::Tokens;
use epitome_core::compact::StrategyName;
use epitome_wire::{Body, Dialect, Known};
use planning::{Session, messages, settings};

/// Where pruning alone is enough, and every tool result is looked at.
const BUDGET: Tokens = Tokens(50_000);

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(side), Some(times)) = (arguments.next(), arguments.next()) else {
        println!("usage: plan_once parse|STRATEGY TIMES (see instructions.sh)");
        return;
    };
    let times: usize = times.parse().unwrap();
    let text = corpus::body();
    let sketches = corpus::sketches();
    let body = Body::scan(Dialect::Anthropic, &text).unwrap();
    let known = Known::of(&body, &sketches).unwrap();
    let (path, messages) = (known.path(&[]), messages(&body));
    let session = Session { path: &path, messages: &messages, count: &known };
    let strategy = StrategyName::ALL.into_iter().find(|strategy| strategy.as_str() == side);
    for _ in 0..times {
        match strategy {
            Some(strategy) => drop(black_box(session.dry_run(&settings(strategy), BUDGET))),
            None => drop(black_box(corpus::parse(&text))),
        }
    }
}
