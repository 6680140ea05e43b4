//! What can be looked at instead of a session: plans, views, summaries, losses; and what pins do to them.

use std::fs;

use serde_json::{Value, json};

use crate::run::{Ran, epitome, example};

const ALL: [&str; 7] = ["auto", "checkpoint", "rolling", "narrative", "tiered", "prune", "none"];

fn compact(flags: &[&str]) -> Ran {
    epitome(&[&["compact", &example()], flags].concat())
}

#[test]
fn nothing_compacted_can_be_shown_too() {
    for strategy in ["auto", "checkpoint", "prune", "none"] {
        let show = |what: &str| {
            let flags = [
                "--strategy",
                strategy,
                "--budget",
                "100k",
                "--set",
                "tool_pruning_enabled=false",
                "--show",
                what,
            ];
            compact(&flags)
        };
        let view = show("view");
        assert!(view.text().starts_with("── user\n"), "{strategy}: {}", &view.text()[..100]);
        assert_eq!(view.text().matches("── ").count(), 42, "{strategy}: every message is shown");
        let summary = show("checkpoint");
        assert_eq!(summary.text(), "", "{strategy}");
        assert!(summary.stderr.contains("there is no summary to show"), "{strategy}: {}", summary.stderr);
        assert!(show("loss").text().starts_with("Nothing is lost"), "{strategy}");
    }
    let flags = ["--strategy", "checkpoint", "--budget", "100k", "--show", "loss", "--json"];
    let report = compact(&flags).json();
    assert_eq!(report["loss"]["missing"], json!([]));
    assert!(
        compact(&flags).stderr.contains("not due: 72,916 tokens of conversation, and the budget is 100,000")
    );
}

#[test]
fn every_strategy_has_a_plan() {
    for strategy in ALL {
        let flags =
            ["--strategy", strategy, "--budget", "5k", "--dry-run", "--set", "max_conversation_messages=10"];
        let ran = compact(&flags);
        for part in ["messages  before", "as it was", ", budget 5,000"] {
            assert!(ran.text().contains(part), "{strategy}: {part} in {}", ran.text());
        }
        assert_eq!(ran.stderr, "", "{strategy}");
    }
}

#[test]
fn a_plan_can_be_kept_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.json");
    let ran =
        compact(&["--strategy", "auto", "--budget", "5k", "--dry-run", "--report", file.to_str().unwrap()]);
    assert!(ran.text().contains("messages  before"), "{}", ran.text());
    let plan: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&plan["budget"], &plan["bytes_after"]), (&json!(5_000), &Value::Null));
    let printed = compact(&["--strategy", "auto", "--budget", "5k", "--dry-run", "--report", "-"]);
    assert_eq!(printed.json()["budget"], 5_000);
}

// The words of a message, as they stand in a line of the file.
fn said(message: usize) -> String {
    let all = fs::read_to_string(example()).unwrap();
    let line: Value = serde_json::from_str(all.lines().nth(message).unwrap()).unwrap();
    line["message"]["content"].to_string()
}

#[test]
fn what_is_pinned_is_neither_pruned_nor_dropped() {
    for strategy in ["prune", "none"] {
        let flags = [
            "--strategy",
            strategy,
            "--set",
            "max_conversation_messages=4",
            "--set",
            "prune_mode=every-call",
        ];
        let has = |extra: &[&str]| compact(&[&flags, extra].concat()).text().contains(&said(12));
        assert!(has(&["--pin", "12"]) && !has(&[]), "{strategy}");
    }
    // All of the exchange stays, so that what is left is whole.
    let flags = ["--strategy", "none", "--set", "max_conversation_messages=4", "--pin", "12"];
    let ran = compact(&flags);
    assert_eq!(ran.text().lines().count(), 20, "messages 0 to 15 and the last four");
    let report = compact(&[&flags[..], &["--json"]].concat()).json();
    assert_eq!((&report["problems_after"], &report["dropped"]), (&json!(0), &json!(22)));
}

#[test]
fn what_pruning_costs_can_be_shown() {
    let flags = ["--strategy", "prune", "--show"];
    let view = compact(&[&flags[..], &["view"]].concat());
    assert!(view.text().contains("[Tool output cleared"), "{}", view.text());
    let loss = compact(&[&flags[..], &["loss"]].concat());
    assert!(
        loss.text().contains("hidden") && loss.text().contains("in the original file"),
        "{}",
        loss.text()
    );
}

#[test]
fn a_seal_says_where_it_takes_effect() {
    let run = |seal: &str| compact(&["--preset", "friday", "--budget", "8k", "--seal", seal]).stderr;
    assert!(
        run("5").contains("--seal 5 is inside an exchange: the topic ends before message 16"),
        "{}",
        run("5")
    );
    assert!(!run("16").contains("--seal"), "{}", run("16"));
    assert!(run("40").contains("--seal 40 has no effect"), "{}", run("40"));
}

#[test]
fn strategies_have_their_other_names_on_the_command_line() {
    let run = |name: &str| compact(&["--strategy", name, "--budget", "5k"]).stdout;
    assert_eq!(run("summarize"), run("narrative"));
    assert_eq!(run("Checkpoint"), run("checkpoint"));
}
