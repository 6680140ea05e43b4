//! One side of the request benchmark, a given number of times, for `instructions.sh` to count.

#![allow(missing_docs, clippy::unwrap_used)]

mod corpus;

use std::hint::black_box;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(side), Some(times)) = (arguments.next(), arguments.next()) else {
        println!("usage: request_once parse|prune TIMES (see instructions.sh)");
        return;
    };
    let times: usize = times.parse().unwrap();
    let text = corpus::body();
    let sketches = corpus::sketches();
    for _ in 0..times {
        match side.as_str() {
            "parse" => drop(black_box(corpus::parse(&text))),
            _ => drop(black_box(corpus::prune(&text, &sketches))),
        }
    }
}
