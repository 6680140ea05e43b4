//! A checkpoint with an id before each entry, as a model is shown it.

use epitome_core::checkpoint::{Checkpoint, Decision, Item, Section};

use super::{Id, NAMES};

/// The entries that a model may change, each behind its id.
pub fn listing(checkpoint: &Checkpoint) -> String {
    let mut lines = Vec::new();
    for (_, section) in NAMES {
        let texts: Vec<String> = match section {
            Section::Goal => checkpoint.goal.iter().map(said).collect(),
            Section::Decisions => checkpoint.decisions.iter().map(statement).collect(),
            section => checkpoint.items(section).iter().map(said).collect(),
        };
        lines.extend((1..).zip(texts).map(|(number, text)| format!("{}: {text}", Id { section, number })));
    }
    lines.join("\n")
}

// Lines after the first are set in, so that none passes for an entry.
fn said(item: &Item) -> String {
    item.text().replace('\n', "\n    ")
}

fn statement(decision: &Decision) -> String {
    match decision.rationale() {
        "" => decision.subject().to_owned(),
        rationale => format!("{}: {}", decision.subject(), rationale.replace('\n', "\n    ")),
    }
}
