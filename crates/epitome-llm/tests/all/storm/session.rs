//! A session that grows, and honest summaries of its beginning.

use std::sync::LazyLock;

use epitome_core::{Block, Entry, Fields, Message, Outline, Role, ToolUse};

use crate::summary::{counter, result};

/// A session is compacted so often.
pub(super) const ROUNDS: usize = 3;
/// So many steps are taken before each time.
const STEPS: usize = 5;
/// So many messages there are before the first step.
const OPENING: usize = 9;

/// What the user wants and orders: it must be in every view.
pub(super) const MUST: [&str; 3] = ["date parser", "Never touch src/generated.rs", "must stay at 4096 bytes"];

/// What only bad answers say.
pub(super) const NEVER: [&str; 3] = ["timelord", "rm -rf", "/srv/backup"];

/// A faithful checkpoint of the beginning.
pub(super) const CHECKPOINT: &str = "## Goal
Fix the date parser of the importer.

## Constraints & Preferences
- Never touch src/generated.rs, it is written by a tool.
- The limit must stay at 4096 bytes per line.

## Progress
### Done
- [x] The parser in src/parser.rs reads the month from group one now.

## Key Decisions
- **Use the chrono crate**: it validates dates.

## Critical Context
- test parser::reads_dates ... FAILED
- thread panicked at src/parser.rs:88: month out of range";

/// The same as prose, sentence by sentence.
pub(super) const PROSE: [&str; 5] = [
    "Please fix the date parser of our importer.",
    "Never touch src/generated.rs, it is written by a tool.",
    "The limit must stay at 4096 bytes per line.",
    "We decided to use the chrono crate because it validates dates.",
    "The parser in src/parser.rs reads the month from group one now.",
];

fn calls(said: &str, id: &str, command: &str) -> Message {
    let call = ToolUse {
        id: id.to_owned(),
        name: "bash".to_owned(),
        input: format!(r#"{{"command":"{command}"}}"#),
        extra: Fields::new(),
    };
    Message::new(Role::Assistant, vec![Block::text(said), Block::ToolUse(call)])
}

fn opening() -> Vec<Message> {
    let log =
        "test parser::reads_dates ... FAILED\nthread panicked at src/parser.rs:88: month out of range\n";
    vec![
        Message::text(
            Role::User,
            "Please fix the date parser of our importer. Never touch src/generated.rs, it is written by a tool.",
        ),
        calls("I will run its tests first.", "c1", "cargo test parser"),
        result("c1", &log.repeat(6)),
        Message::text(
            Role::Assistant,
            "The month is read from the wrong group in src/parser.rs. We decided to use the chrono crate because it validates dates.",
        ),
        Message::text(Role::User, "Good. The limit must stay at 4096 bytes per line."),
        calls("I change the group.", "c2", "sed -i s/two/one/ src/parser.rs"),
        result("c2", "done"),
        Message::text(Role::Assistant, "The parser in src/parser.rs reads the month from group one now."),
        Message::text(Role::User, "Fine, go on."),
    ]
}

// The next steps of the work.
fn steps(messages: &mut Vec<Message>, count: usize) {
    for _ in 0..count {
        let step = messages.len();
        let id = format!("s{step}");
        messages.push(calls("I run it.", &id, &format!("run step {step}")));
        messages.push(result(&id, &format!("step {step} wrote out/{step}.txt ").repeat(8)));
        messages.push(Message::text(Role::Assistant, format!("Step {step} is done. ").repeat(6)));
        messages.push(Message::text(Role::User, format!("Then go on after step {step}.")));
    }
}

/// The session after each round: its messages and their outlines.
pub(super) fn after(round: usize) -> (&'static [Message], &'static [Entry]) {
    static WHOLE: LazyLock<(Vec<Message>, Vec<Entry>)> = LazyLock::new(|| {
        let mut messages = opening();
        steps(&mut messages, ROUNDS * STEPS);
        let count = counter();
        let entry = |message| Entry { outline: Outline::of(message, &count, 0).into(), time: None };
        let path = messages.iter().map(entry).collect();
        (messages, path)
    });
    let end = OPENING + (round + 1) * STEPS * 4;
    (&WHOLE.0[..end], &WHOLE.1[..end])
}
