//! `epitome compact` with strategies that summarise.

use std::fs;

use serde_json::{Value, json};

use crate::run::{epitome, epitome_with, example};

const STRATEGIES: [&str; 5] = ["auto", "checkpoint", "rolling", "narrative", "tiered"];
const PRESETS: [&str; 5] = ["nous", "nous-draft", "micro-agent", "nexus", "friday"];

fn choices() -> impl Iterator<Item = [&'static str; 2]> {
    let strategies = STRATEGIES.into_iter().map(|name| ["--strategy", name]);
    strategies.chain(PRESETS.into_iter().map(|name| ["--preset", name]))
}

#[test]
fn every_strategy_and_preset_meets_the_budget_and_stays_valid() {
    for [flag, name] in choices() {
        let ran = epitome(&["compact", &example(), flag, name, "--budget", "5k"]);
        let text = ran.text().to_owned();
        assert!(!ran.stderr.contains("bug:") && !ran.stderr.contains("short:"), "{name}: {}", ran.stderr);
        let levels = ["checkpoint: ", "rolling: ", "narrative: ", "topic: "];
        assert!(levels.iter().any(|level| ran.stderr.contains(level)), "{name}: {}", ran.stderr);
        let session = &epitome_with(text.as_bytes(), &["inspect", "--json", "-"]).json_lines()[0];
        assert!(session["tokens"].as_u64().unwrap() <= 5_000, "{name}: {}", session["tokens"]);
        assert_eq!(
            (session["format"].as_str(), &session["problems"]),
            (Some("claude-code"), &json!([])),
            "{name}"
        );
        let again = epitome_with(text.as_bytes(), &["compact", "-", flag, name, "--budget", "5k"]);
        assert_eq!(again.text(), text, "{name}: compacting again changes nothing");
    }
}

#[test]
fn a_dry_run_shows_segments_and_writes_nothing() {
    let ran = epitome(&["compact", &example(), "--preset", "nous", "--budget", "20k", "--dry-run"]);
    assert_eq!(ran.stderr, "", "the plan is what was asked for");
    for part in
        ["checkpoint to be written", "before", "after", "safety margin", "16,000", "at most the budget"]
    {
        assert!(ran.text().contains(part), "{part}: {}", ran.text());
    }
    let report =
        epitome(&["compact", &example(), "--preset", "nous", "--budget", "20k", "--dry-run", "--json"])
            .json();
    let segments = report["history"]["segments"].as_array().unwrap();
    let (first, last) = (&segments[0], segments.last().unwrap());
    assert_eq!((first["range"]["start"].as_u64(), last["range"]["end"].as_u64()), (Some(0), Some(42)));
    assert!(report["tokens_after"].as_u64().unwrap() <= 20_000);
    assert_eq!(report["bytes_after"], Value::Null, "nothing was written that has a size");
    let components: Vec<&str> = report["history"]["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert_eq!(components, ["system", "summary", "recent", "tools", "output", "safety_margin"]);
}

#[test]
fn what_is_not_due_is_left_alone() {
    let ran = epitome(&["compact", &example(), "--preset", "nous"]);
    assert_eq!(ran.text(), fs::read_to_string(example()).unwrap());
    assert!(ran.stderr.contains("not due"), "{}", ran.stderr);
}

#[test]
fn losses_can_be_shown() {
    let arguments = ["compact", &example(), "--strategy", "checkpoint", "--budget", "5k"];
    let shown = epitome(&[&arguments[..], &["--show", "loss"]].concat());
    assert!(shown.text().contains("hidden    kept"), "{}", shown.text());
    assert!(shown.text().contains("Nothing is invented"), "{}", shown.text());
    assert!(shown.stderr.contains("of what is no longer shown: "), "{}", shown.stderr);
    let written = epitome(&[&arguments[..], &["--json", "-o", "/dev/null"]].concat());
    let report: Value = serde_json::from_str(written.text()).unwrap();
    assert_eq!(report["loss"]["invented"], serde_json::json!([]));
    assert!(report["loss"]["tallies"][0]["total"].as_u64() > Some(0), "{}", written.text());
}

#[test]
fn summaries_and_views_can_be_shown() {
    let summary = epitome(&[
        "compact",
        &example(),
        "--strategy",
        "checkpoint",
        "--budget",
        "5k",
        "--show",
        "checkpoint",
    ]);
    assert!(summary.text().contains("## Goal"), "{}", summary.text());
    let view =
        epitome(&["compact", &example(), "--strategy", "checkpoint", "--budget", "5k", "--show", "view"]);
    assert!(
        view.text().starts_with("── user\n") && view.text().contains("── assistant\n"),
        "{}",
        view.text()
    );
    assert!(view.text().contains(summary.text().trim()), "the model sees the summary");
}

#[test]
fn pinned_messages_stay_as_they_are() {
    let all = fs::read_to_string(example()).unwrap();
    let pinned: Value = serde_json::from_str(all.lines().nth(17).unwrap()).unwrap();
    let words = pinned["message"]["content"][0]["text"].as_str().unwrap();
    for pins in [&["--pin", "17"][..], &[]] {
        let ran =
            epitome(&[&["compact", &example(), "--strategy", "checkpoint", "--budget", "5k"], pins].concat());
        assert_eq!(ran.text().contains(words), !pins.is_empty(), "{pins:?}");
    }
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let cases = [
        (&["--strategy", "checkpoint", "--pin", "42"][..], "counted from 0"),
        (&["--strategy", "prune", "--pin", "42"], "counted from 0"),
        (&["--strategy", "prune", "--turns", "4"], "no meaning"),
        (&["--strategy", "auto", "--turns", "0"], "no number of turns"),
        (&["--strategy", "auto", "--dry-run", "-o", "/dev/null"], "-o has no meaning for a dry run"),
        (&["--preset", "friday", "--seal", "0"], "no topic could end there"),
        (&["--strategy", "prune", "--expand", "1-2"], "no meaning"),
        (&["--strategy", "checkpoint", "--expand", "40-42"], "counted from 0"),
        (&["--strategy", "checkpoint", "--pin", "5-3"], "no stretch of messages"),
        (&["--strategy", "checkpoint", "--seal", "4"], "tiered"),
        (&["--preset", "friday", "--seal", "42"], "counted from 0"),
        (&["--strategy", "none", "--turns", "4"], "no meaning"),
        (&["--strategy", "checkpoint", "--show", "view", "--dry-run"], "cannot be used with"),
    ];
    for (flags, expected) in cases {
        let ran = epitome(&[&["compact", &example(), "--budget", "5k"], flags].concat());
        assert_eq!((ran.code, ran.stdout.len()), (2, 0), "{flags:?}");
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn an_agents_first_call_may_be_empty() {
    for strategy in ["auto", "prune", "none"] {
        let answer = epitome_with(b"{\"messages\":[]}", &["compact", "-", "--strategy", strategy]).json();
        assert_eq!(
            (&answer["messages"], answer["report"]["messages_after"].as_u64()),
            (&json!([]), Some(0)),
            "{strategy}"
        );
    }
}

fn conversation(dialect: &str) -> Value {
    let filler = "the quick brown fox jumps over the lazy dog ".repeat(60);
    let part = if dialect == "responses" { "input_text" } else { "text" };
    let turns = (0..12).flat_map(|turn| {
        let said = |role: &str, words: String| {
            let kind = if dialect == "responses" && role == "assistant" { "output_text" } else { part };
            json!({"role": role, "content": [{"type": kind, "text": words}]})
        };
        [
            said("user", format!("Question {turn}: {filler}")),
            said("assistant", format!("Answer {turn}: {filler}")),
        ]
    });
    let mut messages: Vec<Value> = turns.collect();
    messages.push(json!({"role": "user", "content": "And now?"}));
    match dialect {
        "anthropic" => {
            json!({"model": "claude-opus-4-5", "max_tokens": 100, "system": "Be brief.", "messages": messages})
        }
        "chat" => {
            messages.insert(0, json!({"role": "system", "content": "Be brief."}));
            json!({"model": "gpt-4o", "messages": messages})
        }
        _ => json!({"model": "gpt-4o", "instructions": "Be brief.", "input": messages}),
    }
}

// A summary among the instructions stands where each dialect has them.
#[test]
fn a_system_summary_stands_where_the_dialect_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    for dialect in ["anthropic", "chat", "responses"] {
        let file = folder.path().join(format!("{dialect}.json"));
        fs::write(&file, conversation(dialect).to_string()).unwrap();
        let ran = epitome(&["compact", file.to_str().unwrap(), "--preset", "nexus", "--budget", "3000"]);
        let body = ran.json();
        let summary = match dialect {
            "anthropic" => body["system"][1]["text"].as_str().map(str::to_owned),
            "chat" => Some(body["messages"][1].to_string()).filter(|message| message.contains("\"system\"")),
            _ => Some(body["input"][0].to_string()).filter(|item| item.contains("\"developer\"")),
        };
        assert!(summary.is_some_and(|summary| summary.contains("Question 0")), "{dialect}: {body}");
        let list = if dialect == "responses" { "input" } else { "messages" };
        let last = body[list].as_array().unwrap().last().unwrap();
        assert_eq!(last["content"], "And now?", "{dialect}");
        let inspected =
            &epitome_with(body.to_string().as_bytes(), &["inspect", "--json", "-"]).json_lines()[0];
        assert_eq!(inspected["problems"], json!([]), "{dialect}");
    }
}
