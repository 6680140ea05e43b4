//! `epitome count` and `epitome eval tokens`.

use epitome_core::tokens::{Bpe, Tokenizer};
use serde_json::{Value, json};

use crate::run::{epitome, epitome_with, example};

#[test]
fn count_agrees_with_inspect() {
    let counted = &epitome(&["count", "--json", &example()]).json_lines()[0];
    let inspected = &epitome(&["inspect", "--json", &example()]).json_lines()[0];
    for field in ["tokens", "messages", "model", "model_tokens"] {
        assert_eq!(counted[field], inspected[field], "{field}");
    }
    let text = epitome(&["count", &example(), &example()]);
    assert!(text.text().contains("total"), "{}", text.text());
}

#[test]
fn plain_text_is_counted_exactly() {
    let counted = epitome_with("hello world".as_bytes(), &["count", "--text", "--json", "-"]).json();
    assert_eq!(counted["tokens"], 2);
    let counted =
        epitome_with("hello world".as_bytes(), &["count", "--text", "--json", "--model", "gpt-4o", "-"])
            .json();
    assert_eq!(counted["model_tokens"], 2);
    let damaged = epitome_with(b"hello world\xff", &["count", "--text", "--json", "-"]);
    assert!(damaged.json()["tokens"].as_u64() > Some(2), "{}", damaged.text());
    assert!(damaged.stderr.contains("UTF-8"), "{}", damaged.stderr);
}

#[test]
fn what_is_there_is_counted_where_other_files_are_missing() {
    for more in [&["--json"][..], &["--json", "--text"]] {
        let ran = epitome(&[&["count", &example(), "nope.json"], more].concat());
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert_eq!(ran.stdout.iter().filter(|byte| **byte == b'\n').count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("skipped: cannot read nope.json"), "{}", ran.stderr);
        assert!(ran.stderr.contains("1 of what was named could not be looked at"), "{}", ran.stderr);
    }
}

// A session whose provider bills 1.3 tokens for each of ours, and 3,000 for a system prompt that the file does not show.
fn billed_session(calls: usize) -> String {
    let mut lines = vec![json!({"type": "session", "id": "billed", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/tmp", "provider": "anthropic", "modelId": "claude-sonnet-4-5", "thinkingLevel": "off"}).to_string()];
    let words = ["alpha ", "beta(gamma) ", "delta.epsilon ", "zeta == 42 ", "returns the whole list "];
    let mut counted = 0.0;
    for call in 0..calls {
        let asked = words[call % words.len()].repeat(40 + call * 7 % 90);
        let answered = words[(call + 2) % words.len()].repeat(15 + call * 5 % 40);
        let tokens = |text: &str| Bpe::o200k().count(text).0;
        counted += tokens(&asked) as f64;
        let (input, output) = (3_000.0 + counted * 1.3, tokens(&answered) as f64 * 1.3);
        counted += tokens(&answered) as f64;
        let usage = json!({"input": input.round() as u64, "output": output.round() as u64, "cacheRead": 0, "cacheWrite": 0});
        let line = |message: Value| {
            json!({"type": "message", "timestamp": "2026-01-01T00:00:01Z", "message": message}).to_string()
        };
        lines.push(line(json!({"role": "user", "content": [{"type": "text", "text": asked}], "timestamp": 1_767_225_600_000_u64})));
        lines.push(line(json!({"role": "assistant", "content": [{"type": "text", "text": answered}], "model": "claude-sonnet-4-5", "provider": "anthropic", "api": "anthropic-messages", "usage": usage, "stopReason": "stop", "timestamp": 1_767_225_600_000_u64})));
    }
    lines.join("\n") + "\n"
}

#[test]
fn estimates_are_compared_with_what_was_billed() {
    let session = billed_session(30);
    let rows = epitome_with(session.as_bytes(), &["eval", "tokens", "--json", "-"]).json();
    let row = &rows[0];
    assert_eq!(
        (row["model"].as_str(), row["calls"].as_u64(), row["scored"].as_u64()),
        (Some("claude-sonnet-4-5"), Some(30), Some(25))
    );
    let error = |estimate: &str, which: &str| row[estimate][which].as_f64().unwrap();
    assert!(error("next_call", "median") < 0.01, "{row}");
    assert!(error("whole_context", "median") < 0.03, "{row}");
    assert!(error("chars_per_four", "median") > 0.15, "{row}");
    let text = epitome_with(session.as_bytes(), &["eval", "tokens", "-"]);
    assert!(text.text().contains("claude-sonnet-4-5"));
}

#[test]
fn sessions_without_usage_cannot_be_replayed() {
    let ran = epitome(&["eval", "tokens", &example()]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("no session carries token usage") && ran.stderr.contains("hint:"),
        "{}",
        ran.stderr
    );
}
