//! The command as people run it: real processes, real files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod bodies;
mod checkup;
mod choices;
mod compact;
mod count_and_eval;
mod documents;
mod eval_cost;
mod eval_fidelity;
mod figures;
mod history;
mod inspect;
mod output;
mod piped;
mod run;
mod serve;
mod settings;
mod shelf;
mod shown;
mod threads;
mod workspace;
mod writers;

/// A server that speaks the APIs of models, as the tests of that crate have it.
#[path = "../../../epitome-llm/tests/all/upstream/mod.rs"]
mod upstream;
