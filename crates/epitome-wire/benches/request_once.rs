//! One side of the request benchmark, a given number of times, for `instructions.sh` to count.

#![allow(missing_docs, clippy::unwrap_used)]

mod corpus;

use std::hint::black_box;

use epitome_core::prune::{Budget, Settings, ThinkingRule};
use epitome_core::tokens::{Bpe, Counter, ImagePricing};
use epitome_wire::{Body, Dialect, Pruning, Sketches};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(side), Some(times)) = (arguments.next(), arguments.next()) else {
        println!("usage: request_once parse|prune TIMES (see instructions.sh)");
        return;
    };
    let times: usize = times.parse().unwrap();
    let text = corpus::body();
    let settings = Settings::default();
    let sketches = Sketches::new(Counter::new(Bpe::o200k(), ImagePricing::Anthropic), 4_096);
    let pruning = Pruning {
        sketches: &sketches,
        settings: &settings,
        budget: Budget::default(),
        thinking: ThinkingRule::Free,
    };
    for _ in 0..times {
        match side.as_str() {
            "parse" => drop(black_box(serde_json::from_str::<serde_json::Value>(&text).unwrap())),
            _ => drop(black_box(pruning.of(&Body::scan(Dialect::Anthropic, &text).unwrap(), &[]).unwrap())),
        }
    }
}
