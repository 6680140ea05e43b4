//! Sessions of the ledger: what is told before anything is done, in which unit, and what is refused.

use std::fs;

use serde_json::{Value, json};

use super::Desk;
use super::live::imported;
use crate::run::{epitome, example};

const CHECKPOINT: [&str; 2] = ["--strategy", "checkpoint"];
const BY_CHECKPOINT: [&str; 2] = ["--set", "strategy=checkpoint"];

#[test]
fn a_summary_among_the_instructions_is_part_of_the_context() {
    let desk = Desk::new();
    let id = imported(&desk);
    let whole = desk.run(&["context", &id, "--json"]).json();
    assert!(whole["messages"].is_array() && whole.get("system").is_none(), "nothing is added yet");
    let asked = ["compact", &id, "--budget", "4k", "--set", "placement=system"];
    desk.run(&[&asked[..], &CHECKPOINT].concat()).text();
    let context = desk.run(&["context", &id, "--json"]).json();
    let system = context["system"].as_str().unwrap();
    let shown = desk.run(&["context", &id]);
    assert!(system.len() > 400 && shown.text().contains(system), "{system}");
}

#[test]
fn what_is_for_files_is_refused_and_a_report_is_written() {
    let desk = Desk::new();
    let id = imported(&desk);
    let refused: [&[&str]; 4] =
        [&["--turns", "3"], &["--cache", "warm"], &["--lenient"], &["--format", "chat"]];
    let elsewhere = desk.run(&["compact", &id, "--output", "small.jsonl"]);
    assert!(elsewhere.stderr.contains("hint: epitome context SESSION --json"), "{}", elsewhere.stderr);
    for flags in refused {
        let ran = desk.run(&[&["compact", &id, "--dry-run"], flags].concat());
        assert_eq!(ran.code, 2, "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(flags[0]) && ran.stderr.contains("hint:"), "{}", ran.stderr);
    }
    let report = desk.folder.path().join("report.json");
    let asked = ["compact", &id, "--budget", "4k", "--report", report.to_str().unwrap()];
    desk.run(&[&asked[..], &CHECKPOINT].concat()).text();
    let told: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert!(told["turn"].is_string() && told["report"]["tokens_after"].as_u64().unwrap() <= 4_000, "{told}");
}

#[test]
fn the_last_model_that_is_known_counts() {
    let desk = Desk::new();
    let said = |role: &str, text: &str, model: Option<&str>| {
        json!({"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}], "model": model}})
            .to_string()
    };
    let lines = [
        json!({"type": "session", "id": "two models", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/tmp"})
            .to_string(),
        said("user", "How deep is the harbour?", None),
        said("assistant", "Nine metres.", Some("claude-opus-4-5")),
        said("user", "Stop.", None),
        said("assistant", "Stopped.", Some("made-up")),
    ];
    desk.import_text(&(lines.join("\n") + "\n"));
    let id = desk.sessions()[0]["id"].as_str().unwrap().to_owned();
    let told = |more: &[&str]| desk.run(&[&["context", &id], more].concat()).stderr;
    assert_eq!(told(&[]), told(&["--model", "claude-opus-4-5"]));
    assert_ne!(told(&[]), told(&["--model", "made-up"]));
}

#[test]
fn budgets_are_in_tokens_of_the_model_as_they_are_for_files() {
    let desk = Desk::new();
    let id = imported(&desk);
    let example = example();
    for (model, is_known) in [("claude-opus-4-5", true), ("nobody-knows-it", false)] {
        let asked = ["--budget", "4k", "--model", model, "--dry-run", "--json"];
        let session = desk.run(&[&["compact", &id], &asked[..], &CHECKPOINT].concat()).json();
        let file = epitome(&[&["compact", &example], &asked[..], &CHECKPOINT].concat()).json();
        assert_eq!(session["report"]["budget"], file["budget"], "{model}");
        assert_eq!(file["budget"].as_u64().unwrap() < 4_000, is_known, "{model}");
        let asked = ["context", &id, "--max-tokens", "4k", "--model", model, "--dry-run", "--json"];
        let context = desk.run(&[&asked[..], &BY_CHECKPOINT].concat()).json();
        assert_eq!(context["report"]["budget"], file["budget"], "{model}");
    }
}

#[test]
fn a_budget_that_is_missed_exits_with_1() {
    let desk = Desk::new();
    let id = imported(&desk);
    desk.run(&["pin", &id, "0-20"]).text();
    for asked in [["compact", &id, "--budget", "300"], ["context", &id, "--max-tokens", "300"]] {
        for dry in [&["--dry-run"][..], &[]] {
            let ran = desk.run(&[&asked[..], &BY_CHECKPOINT, dry].concat());
            assert_eq!(ran.code, 1, "{asked:?} {dry:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("exceeds") && ran.stderr.contains("hint:"), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_context_says_what_comes_before_the_next_call() {
    let desk = Desk::new();
    let id = imported(&desk);
    let context = |more: &[&str]| desk.run(&[&["context", &id], &BY_CHECKPOINT[..], more].concat());
    let due = ["--set", "compaction_threshold=4k"];
    assert!(!context(&["--json"]).stderr.contains("before the next call"));
    assert!(context(&due).stderr.contains("note: before the next call this is compacted"));
    assert_eq!(context(&["--dry-run", "--json"]).json(), Value::Null);
    assert!(context(&["--max-tokens", "900k", "--dry-run"]).text().contains("nothing is due"));
    let planned = context(&["--dry-run", "--max-tokens", "4k", "--json"]).json();
    assert_eq!(planned["report"]["decision"], "compacted");
    assert_eq!(desk.sessions()[0]["compactions"], 0, "nothing was changed");
    context(&["--max-tokens", "4k"]).text();
    assert_eq!(desk.sessions()[0]["compactions"], 1);
    assert_eq!(context(&["--dry-run", "--max-tokens", "4k", "--json"]).json(), Value::Null, "it fits now");
}

#[test]
fn nothing_to_seal_is_told_before_it_is_tried() {
    let desk = Desk::new();
    let id = imported(&desk);
    desk.run(&["seal", &id]).text();
    let (dry, real) = (desk.run(&["seal", &id, "--dry-run"]), desk.run(&["seal", &id]));
    assert_eq!((dry.code, dry.stderr), (2, real.stderr));
}

#[test]
fn a_fork_is_told_as_it_would_be() {
    let desk = Desk::new();
    let id = imported(&desk);
    desk.run(&[&["compact", &id, "--budget", "4k"][..], &CHECKPOINT].concat()).text();
    let fork = |more: &[&str]| desk.run(&[&["fork", &id, "--json"], more].concat()).json();
    for sight in ["--whole", "--as-seen"] {
        let planned = fork(&[sight, "--dry-run"]);
        let made = fork(&[sight]);
        assert_eq!(planned["tokens"], made["tokens"], "{sight}");
        assert_eq!(planned["messages"], made["messages"], "{sight}");
    }
    let (whole, seen) = (fork(&["--whole", "--dry-run"]), fork(&["--dry-run"]));
    assert!(seen["tokens"].as_u64() < whole["tokens"].as_u64(), "{seen} {whole}");
    assert_eq!(whole["shown"], whole["messages"]);
    let summed = fork(&["--turn", "5", "--dry-run"]);
    assert_eq!(summed["compacted"], true, "the turn was summarised since: {summed}");
    let wrong = desk.run(&["fork", &id, "--turn", "9999"]);
    assert!(wrong.stderr.contains("numbered 0 to") && wrong.stderr.contains("epitome history"));
}

#[test]
fn events_and_what_was_learnt_have_dry_runs() {
    let desk = Desk::new();
    let event = |payload: &str, more: &[&str]| {
        let asked = ["events", "append", payload, "--platform", "chat", "--id", "7", "--json"];
        desk.run(&[&asked[..], more].concat()).json()
    };
    event("first", &[]);
    let told = |payload: &str| event(payload, &["--dry-run"])["novelty"].clone();
    assert_eq!((told("first"), told("second")), (json!("known"), json!("changed")));
    assert_eq!(event("second", &["--dry-run"])["version"], 2);
    assert_eq!(desk.run(&["events", "list", "--all-versions", "--json"]).json_lines().len(), 1);

    let filler = "The weather was looked at once more. ".repeat(80);
    let mut messages = vec![
        json!({"role": "user", "content": "I prefer tabs over spaces in all files."}),
        json!({"role": "assistant", "content": "Noted."}),
    ];
    for _ in 0..8 {
        messages.push(json!({"role": "user", "content": filler}));
        messages.push(json!({"role": "assistant", "content": filler}));
    }
    desk.import_text(&Value::from(messages).to_string());
    let id = desk.sessions()[0]["id"].as_str().unwrap().to_owned();
    desk.run(&[&["compact", &id, "--budget", "1k"][..], &CHECKPOINT].concat()).text();
    let recalled = desk.run(&["context", &id, "--recall", "tabs or spaces?", "--json"]).json_lines();
    let preference = recalled.iter().find(|memory| memory["what"] == "preference").unwrap();
    assert_eq!(preference["state"], "review", "{preference}");
    let little = ["context", &id, "--recall", "tabs or spaces?", "--max-tokens", "5", "--json"];
    assert!(desk.run(&little).text().is_empty(), "there is no room for it");
    let key = preference["id"].as_str().unwrap();
    let dry = desk.run(&["knowledge", "--confirm", key, "--dry-run", "--json"]);
    assert_eq!(dry.json()["state"], "review");
    assert!(dry.stderr.contains("nothing was changed"), "{}", dry.stderr);
    assert_eq!(desk.run(&["knowledge", "--session", &id, "--json"]).json_lines()[0]["state"], "review");
}

#[test]
fn a_watched_session_is_measured_by_the_window_of_the_model_that_is_asked_for() {
    let desk = Desk::new();
    let id = imported(&desk);
    let watch = |more: &[&str]| {
        let asked = ["watch", &id, "--last", "1", "--turns", "1", "--json"];
        desk.run(&[&asked[..], more].concat()).json()["window"].clone()
    };
    assert_eq!(watch(&["--model", "gpt-4o"]), 128_000);
    assert_ne!(watch(&[]), 128_000);
}
