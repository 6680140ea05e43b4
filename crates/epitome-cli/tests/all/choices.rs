//! `epitome compact` with choices of the user's: seals, parts shown again, cascades, prices; again and again; in folders.

use std::fs;

use serde_json::{Value, json};

use crate::run::{epitome, epitome_with, example};

fn filler(words: usize) -> String {
    "the quick brown fox jumps over the lazy dog ".repeat(words / 9)
}

// Questions and answers without any tool.
fn talk(turns: usize) -> Vec<Value> {
    let turn = |turn: usize| {
        [
            json!({"role": "user", "content": format!("Question {turn}: {}", filler(150))}),
            json!({"role": "assistant", "content": format!("Answer {turn}: {}", filler(150))}),
        ]
    };
    (0..turns).flat_map(turn).chain([json!({"role": "user", "content": "And now?"})]).collect()
}

fn segments(report: &Value) -> Vec<(String, u64, u64)> {
    let segment = |segment: &Value| {
        let end = |key: &str| segment["range"][key].as_u64().unwrap();
        (segment["kind"].as_str().unwrap().to_owned(), end("start"), end("end"))
    };
    report["history"]["segments"].as_array().unwrap().iter().map(segment).collect()
}

#[test]
fn a_topic_can_be_sealed_by_hand() {
    let input = json!({"messages": talk(8)}).to_string();
    let run = |extra: &[&str]| {
        let flags =
            ["compact", "-", "--preset", "friday", "--budget", "2500", "--set", "topic_token_threshold=1"];
        segments(&epitome_with(input.as_bytes(), &[&flags, extra].concat()).json()["report"])
    };
    let starts = |segments: &[(String, u64, u64)], at: u64| segments.iter().any(|(_, start, _)| *start == at);
    let (free, sealed) = (run(&[]), run(&["--seal", "6", "--seal", "10"]));
    assert!(!starts(&free, 6) || !starts(&free, 10), "{free:?}");
    assert!(starts(&sealed, 6) && starts(&sealed, 10), "{sealed:?}");
}

#[test]
fn a_part_can_be_shown_again() {
    let run = |extra: &[&str]| {
        let flags = ["compact", &example(), "--strategy", "checkpoint", "--budget", "5k"];
        epitome(&[&flags, extra].concat())
    };
    let (without, with) = (run(&[]), run(&["--expand", "16"]));
    let words = "leave src/ledgerline/payout.py alone. Add a test for JPY as well";
    assert!(with.text().matches(words).count() > without.text().matches(words).count());
    assert!(with.text().contains("## Goal"), "the summary stays");
    assert!(with.stderr.contains("shown again as they were: 16"), "{}", with.stderr);
    let report = run(&["--expand", "16", "--dry-run", "--json"]).json();
    assert!(segments(&report).contains(&("verbatim".to_owned(), 16, 17)), "{report}");
    let inspected = &epitome_with(&with.stdout, &["inspect", "--json", "-"]).json_lines()[0];
    assert_eq!(inspected["problems"], json!([]));

    let large = run(&["--expand", "10..13"]);
    assert!(large.stderr.contains("short:") && large.stderr.contains("--expand"), "{}", large.stderr);
}

#[test]
fn a_cascade_of_summaries_is_a_setting() {
    let input = json!({"messages": talk(120)}).to_string();
    for strategy in ["auto", "checkpoint", "rolling"] {
        let run = |cascade: &str| {
            let flags = ["compact", "-", "--strategy", strategy, "--budget", "6k", "--set"];
            epitome_with(input.as_bytes(), &[&flags[..], &[cascade]].concat()).json()
        };
        let count = |answer: &Value| {
            segments(&answer["report"]).iter().filter(|(kind, ..)| kind == "summary").count()
        };
        let answer = run("summary_cascade=true");
        assert!(count(&answer) > 1 && count(&run("summary_cascade=false")) == 1, "{strategy}: {answer}");
        assert_eq!(answer["report"]["shortfall"]["tokens"], 0, "{strategy}");
        assert_eq!(answer["report"]["problems_after"], 0, "{strategy}");
    }
}

#[test]
fn whether_it_pays_depends_on_the_cache_and_on_what_is_to_come() {
    let run = |extra: &[&str]| {
        let flags = ["compact", &example(), "--strategy", "auto", "--budget", "20k", "--json"];
        epitome(&[&flags, extra].concat()).json()["history"]["verdict"].clone()
    };
    let cold = run(&[]);
    assert_eq!(cold["pays"], true, "a file may have lain for days: {cold}");
    let few = run(&["--cache", "warm", "--turns", "1"]);
    assert_eq!((&few["pays"], &few["turns"]), (&json!(false), &json!(1)), "{few}");
    let many = run(&["--cache", "warm", "--turns", "100"]);
    assert_eq!(many["pays"], true, "{many}");
    let ran = epitome(&["compact", &example(), "--strategy", "auto", "--budget", "20k"]);
    assert!(ran.stderr.contains("it pays: "), "{}", ran.stderr);
    let body = json!({"messages": talk(4)}).to_string();
    let unknown =
        epitome_with(body.as_bytes(), &["compact", "-", "--strategy", "auto", "--budget", "1k"]).json();
    assert_eq!(unknown["report"]["history"]["verdict"], Value::Null, "nobody knows the price of no model");
}

// An agent that keeps no record of compactions sends the summary back as a message.
#[test]
fn a_conversation_can_be_compacted_again_and_again() {
    let mut sent = talk(12);
    for round in 0..6 {
        let body = json!({"messages": sent, "budget": 3_000}).to_string();
        for strategy in ["checkpoint", "auto"] {
            let answer = epitome_with(body.as_bytes(), &["compact", "-", "--strategy", strategy]).json();
            let report = &answer["report"];
            assert!(
                report["tokens_after"].as_u64().unwrap() <= 3_000,
                "{strategy} in round {round}: {report}"
            );
            assert_eq!(report["problems_after"], 0, "{strategy} in round {round}");
            let text = answer["messages"].to_string();
            assert!(text.matches("[Previous conversation summary]").count() <= 1, "round {round}: {text}");
            assert!(strategy == "auto" || text.contains("## Goal\\nQuestion 0"), "round {round}: {text}");
            sent = answer["messages"].as_array().unwrap().clone();
        }
        sent.push(json!({"role": "assistant", "content": "Let me see."}));
        sent.extend(talk(12));
    }
}

// One request and a tool loop without end: the request must not get lost, and no summary passes for one.
#[test]
fn an_agents_request_outlives_any_number_of_compactions() {
    for strategy in ["auto", "checkpoint", "rolling", "tiered"] {
        let mut sent =
            vec![json!({"role": "user", "content": "Port src/parse.py to Rust and never touch vendor/."})];
        for step in 0..40 {
            let call = json!({"id": format!("c{step}"), "type": "function",
                "function": {"name": "read", "arguments": format!("{{\"path\":\"src/mod{step}.rs\"}}")}});
            sent.push(
                json!({"role": "assistant", "content": format!("Reading mod{step}."), "tool_calls": [call]}),
            );
            let output = format!("fn f{step}() {{}}\n").repeat(80);
            sent.push(json!({"role": "tool", "tool_call_id": format!("c{step}"), "content": output}));
            if step % 8 != 7 {
                continue;
            }
            let body = json!({"messages": sent, "budget": 3_000}).to_string();
            let answer = epitome_with(body.as_bytes(), &["compact", "-", "--strategy", strategy]).json();
            assert_eq!(answer["report"]["problems_after"], 0, "{strategy}, step {step}");
            assert_eq!(answer["report"]["shortfall"]["tokens"], 0, "{strategy}, step {step}");
            sent = answer["messages"].as_array().unwrap().clone();
            let text = Value::from(sent.clone()).to_string();
            assert!(text.contains("never touch vendor/."), "{strategy}, step {step}: {text}");
            let summaries = text.matches("[Previous conversation summary]").count();
            assert!(summaries <= 2, "{strategy}, step {step}: {summaries} summaries: {text}");
        }
    }
}

#[test]
fn a_folder_gives_a_line_a_session_and_a_total() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(&from).unwrap();
    fs::create_dir_all(&to).unwrap();
    for name in ["one.jsonl", "two.jsonl", "three.jsonl"] {
        fs::copy(example(), from.join(name)).unwrap();
    }
    let flags = ["--strategy", "checkpoint", "--budget", "5k", "-o", to.to_str().unwrap()];
    let ran = epitome(&[&["compact", from.to_str().unwrap()], &flags[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains(" → ")).collect();
    assert_eq!(lines.len(), 4, "{}", ran.stderr);
    assert!(lines[3].starts_with("3 sessions: 218,748 → "), "{}", ran.stderr);
}

#[test]
fn a_limit_in_bytes_holds_for_summaries_too() {
    for strategy in ["auto", "checkpoint", "tiered"] {
        let ran = epitome(&["compact", &example(), "--strategy", strategy, "--max-bytes", "20k"]);
        assert!(ran.text().len() <= 24_000 && !ran.stderr.contains("short:"), "{strategy}: {}", ran.stderr);
    }
}

#[test]
fn what_cannot_go_is_said_to_stay() {
    let ran =
        epitome(&["compact", &example(), "--strategy", "checkpoint", "--budget", "5k", "--pin", "0-41"]);
    assert_eq!((ran.code, ran.stdout), (1, fs::read(example()).unwrap()), "what there is is written");
    for said in
        ["all of it must stay", "short:", "exceeds its budget", "hint: the least that can be met here is"]
    {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
}
