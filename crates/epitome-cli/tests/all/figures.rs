//! The figures of a report: what they count, what they are compared with, and where a limit comes from.

use std::fs;

use serde_json::{Value, json};

use crate::bodies::{claude_thread, words};
use crate::run::{epitome, epitome_with, example};

const STRATEGIES: [&str; 7] = ["auto", "checkpoint", "rolling", "narrative", "tiered", "prune", "none"];

fn filler(words: usize) -> String {
    "the quick brown fox jumps over the lazy dog ".repeat(words / 9)
}

// Questions and answers behind a system message of some thousand tokens.
fn chat(turns: usize) -> String {
    let turn = |turn: usize| {
        [
            json!({"role": "user", "content": format!("Question {turn}: {}", filler(150))}),
            json!({"role": "assistant", "content": format!("Answer {turn}: {}", filler(150))}),
        ]
    };
    let rules = json!({"role": "system", "content": format!("Rules: {}", filler(1_200))});
    let messages: Vec<Value> = [rules].into_iter().chain((0..turns).flat_map(turn)).collect();
    json!({"model": "gpt-4o", "messages": messages}).to_string()
}

fn number(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn the_budget_compares_with_what_is_said_of_the_conversation() {
    let input = chat(20);
    for (flag, name) in STRATEGIES.map(|name| ("--strategy", name)).into_iter().chain([("--preset", "nexus")])
    {
        let run = |extra: &[&str]| {
            let arguments = ["compact", "-", flag, name, "--budget", "2k"];
            epitome_with(input.as_bytes(), &[&arguments, extra].concat())
        };
        let (ran, planned) = (run(&[]), run(&["--dry-run", "--json"]).json());
        let report = &ran.json()["report"];
        let (before, after) = (number(report, "tokens_before"), number(report, "tokens_after"));
        assert_eq!(before, number(&planned, "tokens_before"), "{name}");
        assert_eq!(report["system_and_tools"], planned["system_and_tools"], "{name}");
        assert!(number(report, "system_and_tools") > 1_000, "{name}");
        assert_eq!(
            number(report, "file_tokens_before"),
            before + number(report, "system_and_tools"),
            "{name}"
        );
        assert!(number(&planned, "tokens_after") >= after, "{name}: {planned}");
        let short = report["shortfall"]["tokens"].as_u64().unwrap();
        assert_eq!(short, after.saturating_sub(number(report, "budget")), "{name}");
        assert!(["prune", "none"].contains(&name) || short == 0, "{name}: {report}");
        if let Some(history) = report.get("history") {
            assert_eq!(
                (before, after),
                (number(history, "tokens_before"), number(history, "tokens_after")),
                "{name}"
            );
        }
        assert!(ran.stderr.contains("tokens of system and tools"), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(", budget 2,000"), "{name}: {}", ran.stderr);
    }
}

#[test]
fn system_messages_are_counted_beside_the_conversation() {
    let counted = &epitome_with(chat(3).as_bytes(), &["count", "--json", "-"]).json_lines()[0];
    let report =
        epitome_with(chat(3).as_bytes(), &["compact", "-", "--strategy", "none"]).json()["report"].clone();
    assert_eq!(counted["system_and_tools"], report["system_and_tools"]);
    assert_eq!(counted["tokens"], report["tokens_before"]);
    assert!(number(counted, "system_and_tools") > 1_000);
}

#[test]
fn other_threads_are_not_in_the_figures() {
    let model = "claude-opus-4-5";
    let main = claude_thread("m", None, model, &words(10, "user"));
    let side = claude_thread("s", None, model, &words(80, "user"))
        .replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1\"");
    let alone = epitome_with(main.as_bytes(), &["compact", "-", "--strategy", "auto", "--json"]).json();
    let ran = epitome_with((side + &main).as_bytes(), &["compact", "-", "--strategy", "auto", "--json"]);
    let both = ran.json();
    for name in ["tokens_before", "tokens_after"] {
        assert_eq!(both[name], alone[name], "{name}");
    }
    assert!(number(&both, "file_tokens_before") > 5 * number(&both, "tokens_before"), "{both}");
    assert!(ran.stderr.contains("tokens in other threads"), "{}", ran.stderr);
}

#[test]
fn an_unknown_model_has_neither_tokens_nor_prices_of_its_own() {
    let run = |model: &str| {
        let arguments =
            ["compact", &example(), "--strategy", "auto", "--budget", "20k", "--json", "--model", model];
        let ran = epitome(&arguments);
        (ran.json(), ran.stderr)
    };
    let (known, said) = run("claude-opus-4-5");
    assert_eq!((number(&known, "budget"), known["warnings"].as_array().unwrap().len()), (16_666, 0));
    assert!(said.contains("budget: 20,000 tokens of claude-opus-4.5, about 16,666 of o200k"), "{said}");
    for (model, hint) in [("nosuch", "[models.NAME]"), ("clade-opus-4-5", "did you mean claude-opus-4.5")] {
        let (unknown, said) = run(model);
        assert_eq!(
            (number(&unknown, "budget"), &unknown["history"]["verdict"]),
            (20_000, &Value::Null),
            "{model}"
        );
        assert!(said.contains("warning: ") && said.contains("is unknown") && said.contains(hint), "{said}");
    }
}

#[test]
fn a_limit_in_bytes_is_come_near_to_and_explained() {
    for limit in [30_000, 60_000] {
        let text = limit.to_string();
        let arguments = ["compact", &example(), "--strategy", "checkpoint", "--max-bytes", &text];
        let ran = epitome(&arguments);
        let size = ran.text().len();
        assert!(size <= limit && size * 10 >= limit * 8, "{limit}: {size}");
        assert!(ran.stderr.contains("bytes for all that is sent, about "), "{}", ran.stderr);
        // A plan and what is shown of it are under the same limit.
        let planned = epitome(&[&arguments[..], &["--dry-run", "--json"]].concat()).json();
        assert!(number(&planned, "tokens_after") < 20_000, "{planned}");
    }
}

#[test]
fn a_limit_that_no_conversation_could_meet_is_no_reason_to_drop_it() {
    let body = json!({"system": filler(2_000), "messages": [{"role": "user", "content": filler(400)},
        {"role": "assistant", "content": filler(400)}, {"role": "user", "content": "And now?"}]});
    let arguments = ["compact", "-", "--strategy", "checkpoint", "--max-bytes", "5k"];
    let ran = epitome_with(body.to_string().as_bytes(), &arguments);
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.code, &answer["messages"]), (1, &body["messages"]));
    assert!(ran.stderr.contains("what stands beside the conversation alone has"), "{}", ran.stderr);
}

#[test]
fn the_turns_that_count_are_told() {
    let run = |turns: &str| {
        let arguments = ["compact", &example(), "--strategy", "auto", "--budget", "20k", "--turns", turns];
        epitome(&arguments).stderr
    };
    assert!(run("3").contains("over 3 expected turns"), "{}", run("3"));
    assert!(run("500").contains("turns until it is due anyway (of 500 expected)"), "{}", run("500"));
}

#[test]
fn a_missed_budget_fails_and_is_written_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small.jsonl");
    let run = |extra: &[&str]| {
        let flags = ["compact", &example(), "--budget", "3k", "-o", small.to_str().unwrap()];
        epitome(&[&flags, extra].concat())
    };
    let missed = run(&["--strategy", "checkpoint", "--pin", "12"]);
    assert_eq!(missed.code, 1, "{}", missed.stderr);
    assert!(missed.stderr.contains("hint: the least that can be met here is "), "{}", missed.stderr);
    assert!(fs::metadata(&small).unwrap().len() > 1_000);
    for fine in [
        &["--strategy", "prune"][..],
        &["--strategy", "none"],
        &["--strategy", "checkpoint", "--expand", "12"],
    ] {
        let ran = run(fine);
        assert!(ran.code == 0 && ran.stderr.contains("short:"), "{fine:?}: {}", ran.stderr);
    }
}
