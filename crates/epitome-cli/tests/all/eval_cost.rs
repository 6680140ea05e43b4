//! `epitome eval cost`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::run::{epitome, epitome_with, example};
use crate::upstream::{Act, Upstream};

// An agent that works through files: each turn reads one of so many lines and says a word about it.
fn session(turns: usize, lines: usize) -> String {
    let mut messages = vec![
        json!({"role": "system", "content": "You are careful. ".repeat(80)}),
        json!({"role": "user", "content": "You must never edit src/vendor/legacy_code.rs. Fix the rest."}),
    ];
    for turn in 0..turns {
        let arguments = json!({"command": format!("cat src/part_{turn}.rs")}).to_string();
        let id = format!("call_{turn}");
        let call =
            json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}});
        let line = |line: usize| format!("let value_{turn}_{line} = read(source, {line}, fallback);\n");
        let shown: String = (0..lines).map(line).collect();
        messages.push(
            json!({"role": "assistant", "content": format!("Part {turn} is next."), "tool_calls": [call]}),
        );
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": shown}));
    }
    messages.push(json!({"role": "assistant", "content": "All parts are fixed."}));
    json!({"messages": messages}).to_string()
}

fn cost(input: &str, more: &[&str]) -> Value {
    epitome_with(input.as_bytes(), &[&["eval", "cost", "--json"], more, &["-"]].concat()).json()
}

fn goal<'r>(report: &'r Value, words: &str) -> &'r Value {
    let goals = report["goals"].as_array().unwrap();
    goals.iter().find(|goal| goal["goal"].as_str().unwrap().contains(words)).unwrap()
}

#[test]
fn a_long_session_costs_half_with_auto() {
    let report = cost(&session(200, 40), &[]);
    let row = &report["sessions"][0];
    assert!(row["tokens"].as_u64().unwrap() > 50_000, "{row}");
    assert_eq!(row["model"], "claude-sonnet-4.5");
    let cells = row["contenders"].as_array().unwrap();
    let names: Vec<&str> = cells.iter().map(|cell| cell["contender"].as_str().unwrap()).collect();
    assert_eq!(names, ["full", "mask each turn", "batch mask", "threshold", "auto"]);
    for cell in cells {
        assert_eq!(cell["calls"], 201, "{cell}");
        // What is answered does not depend on what is sent.
        assert_eq!(cell["usage"]["output"], cells[0]["usage"]["output"], "{cell}");
        assert_eq!((cell["overflows"].as_u64(), cell["summaries"].as_f64()), (Some(0), Some(0.0)), "{cell}");
    }
    let auto = &cells[4];
    assert!(auto["changes"].as_u64().unwrap() > 0 && auto["of_full"].as_f64().unwrap() <= 0.5, "{auto}");
    // Somewhat more than the threshold: what comes with a turn is on top.
    assert!(auto["largest"].as_u64().unwrap() < 40_000, "{auto}");
    assert!(cells[0]["largest"].as_u64().unwrap() > 50_000, "{}", cells[0]);
    for words in ["exceeds the window", "at most half", "in no session"] {
        assert_eq!(goal(&report, words)["met"], true, "{}", goal(&report, words));
    }
}

// A conversation without tools: long questions, longer answers.
fn talk(turns: usize) -> String {
    let said = |turn: usize, times: usize| {
        let word =
            |at: usize| format!("thought {} of {turn} leads to {}", at * 7 + turn, (turn * 31 + at) % 97);
        (0..times).map(word).collect::<Vec<_>>().join(", ")
    };
    let turns = (0..turns).flat_map(|turn| {
        let user = json!({"role": "user", "content": format!("Question {turn}: {}?", said(turn, 12))});
        [user, json!({"role": "assistant", "content": format!("{}.", said(turn, 45))})]
    });
    json!({"messages": turns.collect::<Vec<_>>()}).to_string()
}

// What holds for every session of a folder, with the usual threshold of 32,000 tokens.
fn assert_goals(folder: &Path, more: &[&str]) -> Value {
    let report = epitome(&[&["eval", "cost", "--json", folder.to_str().unwrap()], more].concat()).json();
    assert_eq!((&report["threshold"], &report["overflows"]), (&32_000.into(), &0.into()));
    for words in ["exceeds the window", "in no session"] {
        assert_eq!(goal(&report, words)["met"], true, "{}", goal(&report, words));
    }
    for row in report["sessions"].as_array().unwrap() {
        assert!(row["contenders"][4]["of_full"].as_f64().unwrap() <= 1.0, "{row}");
    }
    report
}

#[test]
fn sessions_of_every_shape_cost_no_more_with_auto_and_long_ones_half() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = [
        ("beyond the threshold.json", session(80, 40)),
        ("large results.json", session(60, 160)),
        ("talk.json", talk(180)),
        ("short talk.json", talk(10)),
    ];
    for (name, text) in shapes {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for gap in ["10", "400"] {
        let report = assert_goals(folder.path(), &["--gap", gap]);
        assert_eq!(report["sessions"].as_array().unwrap().len(), 4);
        assert_eq!(goal(&report, "at most half")["met"], true, "{gap} {}", goal(&report, "at most half"));
    }
}

// A few of each file, not the longest ones. That long sessions cost half is a matter of all of them together, and measured by
// `scripts/bench cost`.
#[test]
fn a_sample_of_recorded_sessions_costs_no_more_with_auto() {
    const OF_EACH: usize = 2;
    const LONGEST: usize = 400_000;
    let (folder, mut used) = (tempfile::tempdir().unwrap(), 0);
    let recorded = std::env::var_os("EPITOME_TRANSCRIPTS").map(std::fs::read_dir);
    for path in recorded.into_iter().flat_map(Result::unwrap).map(|entry| entry.unwrap().path()) {
        if !path.to_string_lossy().ends_with(".jsonl.gz") {
            continue;
        }
        let reader = BufReader::new(flate2::read::GzDecoder::new(std::fs::File::open(&path).unwrap()));
        let lines = reader.lines().map(Result::unwrap).filter(|line| line.len() < LONGEST);
        for line in lines.take(OF_EACH) {
            std::fs::write(folder.path().join(format!("{used}.jsonl")), line).unwrap();
            used += 1;
        }
    }
    // Past the harness, which swallows what is printed.
    let line = format!("eval_cost: {used} recorded conversations used\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    if used > 0 {
        let report = assert_goals(folder.path(), &[]);
        assert_eq!(report["sessions"].as_array().unwrap().len(), used);
    }
}

#[test]
fn a_short_session_costs_the_same_and_is_billed_like_this() {
    let report = cost(&session(3, 40), &[]);
    let cells = report["sessions"][0]["contenders"].as_array().unwrap();
    for cell in cells {
        assert_eq!((cell["of_full"].as_f64(), &cell["usage"]), (Some(1.0), &cells[0]["usage"]), "{cell}");
    }
    let of = |name: &str| cells[0]["usage"][name].as_u64().unwrap() as f64;
    // Reads at 0.3, writes at 3.75, the rest at 3 micro-dollars.
    let expected = of("cache_read") * 0.3 + of("cache_write") * 3.75 + of("input") * 3.0;
    assert!((cells[0]["input"].as_f64().unwrap() - expected).abs() < 0.01, "{}", cells[0]);
    assert!(of("cache_read") > 0.0);
    assert_eq!(goal(&report, "at most half")["met"], Value::Null);
}

#[test]
fn a_pause_lets_the_cache_lapse() {
    let input = session(3, 40);
    let (quick, slow) = (cost(&input, &["--gap", "10"]), cost(&input, &["--gap", "300"]));
    let read = |report: &Value| report["all"][0]["usage"]["cache_read"].as_u64().unwrap();
    assert!(read(&quick) > 0);
    assert_eq!(read(&slow), 0);
}

#[test]
fn other_models_have_other_prices() {
    let report = cost(&session(3, 40), &["--model", "gpt-5"]);
    let full = &report["all"][0];
    assert_eq!(report["sessions"][0]["model"], "gpt-5");
    let of = |name: &str| full["usage"][name].as_u64().unwrap() as f64;
    // 1.25 dollars for a million, writes at the same price, reads at a tenth.
    let expected = of("cache_read") * 0.125 + (of("cache_write") + of("input")) * 1.25;
    assert!((full["input"].as_f64().unwrap() - expected).abs() < 0.01, "{full}");
}

#[test]
fn a_person_reads_a_table() {
    let input = session(60, 40);
    let table = epitome_with(input.as_bytes(), &["eval", "cost", "--threshold", "16k", "-"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    let expected = [
        "mask each turn  batch mask  threshold",
        "1 session",
        "output included",
        "compaction above 16,000 tokens",
        "yes  no call of threshold and auto exceeds the window: 0 of 122 calls",
        "auto costs more than sending everything in no session",
    ];
    for expected in expected {
        assert!(table.text().contains(expected), "{expected} is missing in\n{}", table.text());
    }
}

#[test]
fn a_call_beyond_the_window_is_a_failure() {
    // The instructions alone are larger than the window.
    let messages = json!({"messages": [
        {"role": "system", "content": "You are careful. ".repeat(2_000)},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
    ]});
    let run = epitome_with(messages.to_string().as_bytes(), &["eval", "cost", "--window", "4k", "-"]);
    assert_eq!(run.code, 1);
    let table = String::from_utf8(run.stdout).unwrap();
    assert!(table.contains("no   no call"), "{table}");
    assert!(run.stderr.contains("exceed the window") && run.stderr.contains("hint:"), "{}", run.stderr);
}

#[test]
fn files_without_calls_are_told() {
    let silent = json!({"messages": [{"role": "user", "content": "Is anybody there?"}]}).to_string();
    let run = epitome_with(silent.as_bytes(), &["eval", "cost", "-"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("no session holds a call") && run.stderr.contains("hint:"), "{}", run.stderr);
    let fine = epitome_with(b"", &["eval", "cost", "--json", &example()]);
    assert_eq!(fine.code, 0, "{}", fine.stderr);
}

#[test]
fn what_a_model_of_ones_own_price_is_asked_for_summaries_is_billed_used_or_not() {
    // What it says is of no use, and is paid for all the same.
    let upstream = Upstream::new(vec![Act::say("I cannot help with that.")]);
    let folder = tempfile::tempdir().unwrap();
    let (config, input) = (folder.path().join("epitome.toml"), folder.path().join("session.json"));
    let model = format!("openai:mine@{}/v1", upstream.url());
    let price = "[models.mine]\nwindow = 100000\nprice = { input = 3.0, output = 15.0 }\n";
    std::fs::write(&config, format!("summarizer = \"{model}\"\n{price}")).unwrap();
    std::fs::write(&input, session(80, 40)).unwrap();
    let arguments = ["eval", "cost", "--json", "--config", config.to_str().unwrap(), input.to_str().unwrap()];
    let report = epitome(&arguments).json();
    assert!(!upstream.requests().is_empty());
    let cells = report["sessions"][0]["contenders"].as_array().unwrap();
    // `threshold` gets by with pruning here, and asks nobody.
    for cell in cells {
        let asks = cell["contender"] == "auto";
        assert_eq!(cell["summaries"].as_f64().unwrap() > 0.0, asks, "{cell}");
    }
}
