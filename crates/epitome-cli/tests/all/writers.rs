//! Summaries by a model at the command line: asked over real HTTP, checked, told with what they cost.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::{Ran, command, epitome, example, ran};
use crate::upstream::{Act, Upstream};

const KEY: &str = "sk-proj-4e8c1f90aa7d42c3b5e6";

/// What is done to the example so that a summary is needed.
const SMALL: [&str; 4] = ["--strategy", "checkpoint", "--budget", "4k"];

/// What the command makes of the example without a model.
fn offline(more: &[&str]) -> Ran {
    epitome(&[&["compact", &example()], &SMALL[..], more].concat())
}

/// A server that writes what code would pick: a summary that the check has nothing against.
fn good() -> Upstream {
    Upstream::new(vec![Act::say(offline(&["--show", "checkpoint"]).text())])
}

fn model(upstream: &Upstream) -> String {
    format!("openai:some-model@{}/v1", upstream.url())
}

/// The command with a model for its summaries, far from the keys of whoever runs the tests.
fn asking(summarizer: &str, arguments: &[&str]) -> Command {
    let mut command = command(&[arguments, &["--summarizer", summarizer]].concat());
    command.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY");
    command
}

fn compacted(summarizer: &str, more: &[&str]) -> Ran {
    ran(&mut asking(summarizer, &[&["compact", &example()], &SMALL[..], more].concat()))
}

fn written(report: &Value) -> &Value {
    &report["summaries"]["written"][0]
}

#[test]
fn a_good_summary_is_used_and_told_with_what_it_cost() {
    let upstream = good();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("small.jsonl");
    let report = compacted(&model(&upstream), &["--json", "-o", output.to_str().unwrap()]);
    let told = report.json();
    assert_eq!(written(&told)["by"], "whole", "{told}");
    assert!(written(&told)["score"].as_f64() >= written(&told)["offline_score"].as_f64(), "{told}");
    let spent = &told["summaries"]["spent"];
    assert_eq!(spent["calls"], upstream.requests().len());
    assert!(spent["input"].as_u64() > Some(100) && spent["output"].as_u64() > Some(10), "{spent}");
    assert_eq!(upstream.requests()[0].path, "/v1/chat/completions");
    assert!(std::fs::metadata(&output).unwrap().len() > 0);
    for word in ["summary by", "(whole)", "scores: model", "asked ", "tokens in"] {
        assert!(report.stderr.contains(word), "{word}: {}", report.stderr);
    }
}

#[test]
fn a_cap_on_money_without_a_price_is_told() {
    let upstream = good();
    let capped = compacted(&model(&upstream), &["--set", "summary_max_cost=0.05"]);
    let told = "warning: summary_max_cost does not hold for openai:some-model@";
    assert!(capped.text().len() > 100 && capped.stderr.contains(told), "{}", capped.stderr);
    assert!(!compacted(&model(&upstream), &[]).stderr.contains(told));
}

#[test]
fn whatever_a_model_says_the_session_is_compacted_and_the_trouble_is_told() {
    let without = offline(&[]);
    let bad = [
        Act::say(""),
        Act::say("I cannot help with that."),
        Act::refuse(401, "authentication_error", "who are you?"),
        Act::refuse(404, "not_found_error", "no such model"),
        Act::Body("application/json", "{\"choices\":[]}".to_owned()),
    ];
    for act in bad {
        let upstream = Upstream::new(vec![act.clone()]);
        let report = compacted(&model(&upstream), &[]);
        assert_eq!(report.text(), without.text(), "{act:?}");
        assert!(report.stderr.contains("summary offline"), "{act:?}: {}", report.stderr);
        assert!(!upstream.requests().is_empty());
        let told = compacted(&model(&upstream), &["--report", "-", "--dry-run"]);
        assert_eq!(told.json()["summaries"], Value::Null, "nobody was asked");
        let told = compacted(&model(&upstream), &["--json", "-o", "/dev/null"]).json();
        assert_eq!(written(&told)["by"], "offline", "{told}");
        assert!(!written(&told)["troubles"].as_array().unwrap().is_empty(), "{told}");
    }
}

#[test]
fn a_rehearsal_asks_nobody() {
    let upstream = good();
    for more in [&["--dry-run"][..], &["--dry-run", "--json"], &["--strategy", "prune", "--dry-run"]] {
        let file = example();
        let arguments = [&["compact", &file, "--budget", "4k"][..], more].concat();
        assert_eq!(ran(&mut asking(&model(&upstream), &arguments)).code, 0);
    }
    assert!(upstream.requests().is_empty());
}

#[test]
fn the_key_reaches_the_server_and_nobody_else() {
    let telling = format!("your key {KEY} is not known");
    let refusing = Upstream::new(vec![Act::refuse(401, "authentication_error", &telling)]);
    let file = example();
    for upstream in [&good(), &refusing] {
        for more in
            [&["--json", "-o", "/dev/null"][..], &["--log", "json"], &["--log", "text", "--show", "loss"]]
        {
            let arguments = [&["compact", &file], &SMALL[..], more].concat();
            let report = ran(asking(&model(upstream), &arguments).env("OPENAI_API_KEY", KEY));
            assert_eq!(report.code, 0, "{}", report.stderr);
            assert!(!report.stderr.contains(KEY), "{}", report.stderr);
            assert!(!String::from_utf8_lossy(&report.stdout).contains(KEY));
        }
        let sent = upstream.requests();
        let carried =
            sent.iter().all(|request| request.header("authorization") == Some(&format!("Bearer {KEY}")));
        assert!(!sent.is_empty() && carried);
    }
}

#[test]
fn models_are_asked_in_order() {
    let gone = Upstream::new(vec![Act::refuse(404, "not_found_error", "no such model")]);
    let there = good();
    let both = format!("openai:first@{}/v1,openai:second@{}/v1", gone.url(), there.url());
    let told = compacted(&both, &["--json", "-o", "/dev/null"]).json();
    assert_eq!(written(&told)["by"], "whole", "{told}");
    assert_eq!(gone.requests().len(), 1);
    assert_eq!(there.requests()[0].body["model"], "second");
}

#[test]
fn what_cannot_be_asked_is_a_misuse() {
    for (name, word) in [
        ("nonsense", "anthropic:MODEL"),
        ("openai:m@ftp://127.0.0.1", "hint:"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY"),
    ] {
        for command in [&["compact"][..], &["eval", "fidelity"]] {
            let file = example();
            let arguments = [command, &[&file, "--budget", "4k"]].concat();
            let arguments = if command == ["compact"] {
                [&arguments, &["--strategy", "auto"][..]].concat()
            } else {
                arguments
            };
            let report = ran(&mut asking(name, &arguments));
            assert_eq!(report.code, 2, "{name}: {}", report.stderr);
            assert!(
                report.stderr.contains("hint:") && report.stderr.contains(word),
                "{name}: {}",
                report.stderr
            );
            assert!(report.stdout.is_empty());
        }
    }
}

#[test]
fn fidelity_is_measured_with_the_model_and_without() {
    let upstream = good();
    let file = example();
    let arguments = ["eval", "fidelity", &file, "--budget", "3k", "--strategies", "checkpoint,mask"];
    let told = ran(&mut asking(&model(&upstream), &[&arguments[..], &["--json"]].concat())).json();
    let names: Vec<&str> =
        told["strategies"].as_array().unwrap().iter().map(|row| row["strategy"].as_str().unwrap()).collect();
    assert_eq!(names, ["checkpoint", "checkpoint, offline", "mask"]);
    let summaries = told["summaries"].as_array().unwrap();
    assert!(!summaries.is_empty() && summaries.iter().all(|at| at["strategy"] == "checkpoint"), "{told}");
    let printed = ran(&mut asking(&model(&upstream), &arguments));
    assert!(
        printed.text().contains("Summaries: ") && printed.text().contains("tokens in"),
        "{}",
        printed.text()
    );
}

#[test]
fn whoever_ends_it_finds_nothing_left_behind() {
    let upstream = Upstream::new(vec![Act::Silence]);
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("small.jsonl");
    let file = example();
    let arguments = [&["compact", &file, "-o", output.to_str().unwrap()], &SMALL[..]].concat();
    let mut child =
        asking(&model(&upstream), &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(upstream.arrived(1));
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(ended.success());
    assert!(!child.wait().unwrap().success());
    runtime.block_on(upstream.gone(1));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
