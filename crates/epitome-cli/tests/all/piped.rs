//! `epitome compact -`: programs that pipe their messages through.

use serde_json::{Value, json};

use crate::bodies::{DIALECTS, body, field, messages};
use crate::run::{epitome_with, example};

#[test]
fn any_program_can_pipe_through_it() {
    let messages = messages("chat", 10);
    let input = json!({"messages": messages, "budget": 12_000, "system": "Be brief."}).to_string();
    let answer = epitome_with(input.as_bytes(), &["compact", "-"]).json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["messages", "report"]);
    let report = &answer["report"];
    assert_eq!(report["budget"], 12_000);
    assert!(report["tokens_after"].as_u64().unwrap() <= 12_000, "{report}");
    assert!(report["tokens_before"].as_u64().unwrap() > 12_000);
    assert_eq!(report["shortfall"]["tokens"], 0);
    assert_eq!(report["problems_after"], 0);
    let after = answer["messages"].as_array().unwrap();
    assert_eq!(after.len(), messages.len());
    assert_eq!(after[0], messages[0]);
    assert_eq!(after[20], messages[20], "the newest result is protected");
}

#[test]
fn every_dialect_is_answered_in_its_own_field() {
    for dialect in DIALECTS {
        let (name, before) = (field(dialect), messages(dialect, 12));
        let alone = json!({name: before}).to_string();
        let whole = body(dialect, "claude-opus-4-5", 12).to_string();
        for input in [&alone, &whole] {
            let answer = epitome_with(input.as_bytes(), &["compact", "-"]).json();
            let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
            assert_eq!(keys, [name, "report"], "{dialect}: system, tools and model are the caller's");
            let after = answer[name].as_array().unwrap();
            assert_eq!(after.len(), before.len(), "{dialect}");
            assert_eq!(answer["report"]["problems_after"], 0, "{dialect}");
            assert!(answer["report"]["cleared"].as_u64().unwrap() > 0, "{dialect}");
            let is_whole = input == &whole;
            assert_eq!(answer["report"]["system_and_tools"] != 0, is_whole, "{dialect}");
        }
    }
    let text = epitome_with(br#"{"input":"hello","budget":100}"#, &["compact", "-"]).json();
    assert_eq!(text["input"], "hello");
    // Two objects are a file of two conversations, and come back as such.
    let lines = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n";
    assert_eq!(epitome_with(lines.as_bytes(), &["compact", "-"]).text(), lines);
}

#[test]
fn a_budget_is_read_or_refused() {
    let run = |budget: &str, extra: &[&str]| {
        let input = format!(r#"{{"messages":{},"budget":{budget}}}"#, Value::from(messages("chat", 10)));
        epitome_with(input.as_bytes(), &[&["compact", "-"], extra].concat())
    };
    for (budget, expected) in [
        ("12000", 12_000),
        ("12000.0", 12_000),
        ("1.2e4", 12_000),
        ("\"12k\"", 12_000),
        ("\"12,000\"", 12_000),
    ] {
        assert_eq!(run(budget, &[]).json()["report"]["budget"], expected, "{budget}");
    }
    assert_eq!(run("null", &[]).json()["report"]["budget"], Value::Null);
    for budget in ["-5", "0", "[1]", "true", "\"many\"", "{\"tokens\":5}", "1e300"] {
        let ran = run(budget, &[]);
        assert_eq!((ran.code, ran.stdout.len()), (1, 0), "{budget}");
        assert!(
            ran.stderr.contains("the budget") && ran.stderr.contains("hint:"),
            "{budget}: {}",
            ran.stderr
        );
    }
    assert_eq!(run("12000", &["--budget", "9k"]).json()["report"]["budget"], 9_000, "the flag goes first");
}

#[test]
fn of_duplicate_fields_the_last_counts() {
    let last = Value::from(messages("chat", 10));
    let input = format!(
        r#"{{"messages":[{{"role":"user","content":"first"}}],"budget":1,"messages":{last},"budget":12000}}"#
    );
    let answer = epitome_with(input.as_bytes(), &["compact", "-"]).json();
    assert_eq!(answer["messages"].as_array().unwrap().len(), 21);
    assert_eq!(answer["messages"][0], last[0]);
    assert_eq!(
        (&answer["report"]["budget"], &answer["report"]["messages_before"]),
        (&json!(12_000), &json!(21))
    );
}

#[test]
fn a_budget_is_in_tokens_of_the_model_that_was_asked_for() {
    let whole = body("anthropic", "claude-opus-4-5", 10).to_string();
    let report = |extra: &[&str]| {
        let arguments = [&["compact", "-", "--budget", "500"], extra].concat();
        let ran = epitome_with(whole.as_bytes(), &arguments);
        (ran.json()["report"].clone(), ran.stderr)
    };
    let (plain, _) = report(&[]);
    let (asked, said) = report(&["--model", "claude-opus-4-5"]);
    assert_eq!(plain["budget_asked"], json!({"tokens": 500, "unit": "o200k"}));
    assert_eq!(asked["budget_asked"], json!({"tokens": 500, "unit": "claude-opus-4.5"}));
    assert!(said.contains("budget: 500 tokens of claude-opus-4.5, about 416 of o200k"), "{said}");
    let number = |report: &Value, name: &str| report[name].as_u64().unwrap();
    let short = |report: &Value| report["shortfall"]["tokens"].as_u64().unwrap();
    // Whatever the unit it was asked for in, the budget compares with the tokens beside it.
    for (report, budget) in [(&plain, 500), (&asked, 416)] {
        assert_eq!(number(report, "budget"), budget);
        assert_eq!(number(report, "tokens_after"), budget + short(report));
    }

    // A budget that just suffices in our tokens does not in the model's.
    let fits = |budget: u64, extra: &[&str]| {
        let budget = budget.to_string();
        let arguments = [&["compact", "-", "--strategy", "none", "--budget", &budget], extra].concat();
        short(&epitome_with(whole.as_bytes(), &arguments).json()["report"]) == 0
    };
    let tokens = number(&plain, "tokens_before");
    assert!(fits(tokens, &[]) && !fits(tokens, &["--model", "claude-opus-4-5"]));
}

#[test]
fn a_growing_conversation_keeps_its_prefix_between_steps() {
    for dialect in DIALECTS {
        let all = messages(dialect, 16);
        let mut before: Option<(Vec<Value>, Value)> = None;
        let (mut kept, mut stepped) = (0, 0);
        let calls = (1..=all.len()).filter(|end| {
            let last = &all[end - 1];
            last["role"] != "assistant"
                && !matches!(last["type"].as_str(), Some("reasoning" | "function_call"))
        });
        for end in calls {
            let input = json!({field(dialect): all[..end]}).to_string();
            let answer = epitome_with(input.as_bytes(), &["compact", "-"]).json();
            let after = answer[field(dialect)].as_array().unwrap().clone();
            let steps = answer["report"]["steps"].clone();
            if let Some((old, old_steps)) = &before {
                if *old_steps == steps {
                    assert_eq!(after[..old.len()], old[..], "{dialect}: {end} messages");
                    kept += 1;
                } else {
                    stepped += 1;
                }
            }
            before = Some((after, steps));
        }
        assert!(stepped >= 1 && kept > stepped * 3, "{dialect}: {kept} kept, {stepped} steps");
    }
}

#[test]
fn a_byte_limit_counts_all_that_is_sent() {
    let mut whole = body("anthropic", "claude-opus-4-5", 12);
    whole["system"] = "All the rules. ".repeat(3_400).into();
    let input = whole.to_string();
    let limits = [90_000, 60_000];
    for limit in limits {
        let text = limit.to_string();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("small.json");
        let file = file.to_str().unwrap();
        let source = folder.path().join("body.json");
        std::fs::write(&source, &input).unwrap();
        let arguments = ["compact", source.to_str().unwrap(), "-o", file, "--json", "--max-bytes", &text];
        let report = crate::run::epitome(&arguments).json();
        let size = std::fs::metadata(file).unwrap().len();
        let short = report["shortfall"]["bytes"].as_u64().unwrap();
        assert_eq!(short, size.saturating_sub(limit), "{limit}: {size} bytes");
        assert_eq!(report["bytes_after"], size);
    }
}

#[test]
fn tools_can_be_excluded() {
    let input = json!({"messages": messages("chat", 12)}).to_string();
    let arguments = |names| ["compact", "-", "--set", "prune_mode=every-call", "--set", names];
    let kept = epitome_with(input.as_bytes(), &arguments("exclude_tools=lo*")).json();
    assert_eq!((&kept["report"]["cleared"], &kept["report"]["trimmed"]), (&json!(0), &json!(0)));
    let pruned = epitome_with(input.as_bytes(), &arguments("exclude_tools=other")).json();
    assert!(pruned["report"]["cleared"].as_u64().unwrap() > 0);
}

#[test]
fn a_file_on_stdin_comes_back_as_a_file() {
    let input = std::fs::read(example()).unwrap();
    let ran = epitome_with(&input, &["compact", "-"]);
    assert_eq!(ran.stdout, crate::run::epitome(&["compact", &example()]).stdout);
}
