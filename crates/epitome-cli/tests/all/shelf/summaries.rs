//! Sessions of the ledger whose summaries a model writes: told when they are compacted, and when they are looked at later.

use serde_json::Value;

use super::live::imported;
use super::{Desk, on_both};
use crate::upstream::{Act, Upstream};

on_both!(who_wrote_a_summary_is_told_at_once_and_later, a_model_that_cannot_be_asked_is_a_misuse);

const SMALL: [&str; 4] = ["--strategy", "checkpoint", "--budget", "4k"];

fn who_wrote_a_summary_is_told_at_once_and_later(desk: &Desk) {
    let id = imported(desk);
    let file = crate::run::example();
    let summary = crate::run::epitome(&[&["compact", &file, "--show", "checkpoint"], &SMALL[..]].concat());
    let upstream = Upstream::new(vec![Act::say(summary.text())]);
    let model = format!("openai:some-model@{}/v1", upstream.url());
    let rehearsed = desk.run(&[&["compact", &id, "--dry-run", "--summarizer", &model], &SMALL[..]].concat());
    assert_eq!((rehearsed.code, upstream.requests().len()), (0, 0), "{}", rehearsed.stderr);
    let done = desk.run(&[&["compact", &id, "--summarizer", &model], &SMALL[..]].concat());
    for word in ["summary by", "(whole)", "asked ", "tokens in", "with each call"] {
        assert!(done.text().contains(word), "{word}: {}", done.text());
    }
    let shown = desk.run(&["show", &id]);
    assert!(shown.text().contains("(whole)") && shown.text().contains("asked "), "{}", shown.text());
    let told = desk.run(&["show", &id, "--json"]).json();
    let compaction = &told["compactions_on_path"][0];
    assert_eq!(compaction["summaries"]["written"][0]["by"], "whole", "{compaction}");
    assert_eq!(compaction["summaries"]["spent"]["calls"], upstream.requests().len());
    assert_ne!(compaction["saves"]["tokens"], Value::Null);
}

fn a_model_that_cannot_be_asked_is_a_misuse(desk: &Desk) {
    let id = imported(desk);
    let refused = desk.run(&[&["compact", &id, "--summarizer", "nonsense"], &SMALL[..]].concat());
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("hint:") && refused.stderr.contains("anthropic:MODEL"),
        "{}",
        refused.stderr
    );
}
