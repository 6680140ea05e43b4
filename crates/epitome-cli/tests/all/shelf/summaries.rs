//! Sessions of the ledger whose summaries a model writes: told when they are compacted, and when they are looked at later.

use serde_json::{Value, json};

use super::live::imported;
use super::{Desk, on_both};
use crate::run::{command, ran};
use crate::upstream::{Act, Upstream};

on_both!(
    who_wrote_a_summary_is_told_at_once_and_later,
    a_model_that_cannot_be_asked_is_a_misuse,
    what_summaries_are_to_mind_is_kept_shown_and_taken_back,
    whoever_asks_no_model_needs_no_key,
);

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

fn what_summaries_are_to_mind_is_kept_shown_and_taken_back(desk: &Desk) {
    let id = imported(desk);
    let (always, once) = ("Keep every path of a file.", "Leave the greetings out.");
    let rehearsed = desk.run(&["instruct", &id, always, "--dry-run"]);
    assert!(rehearsed.stderr.contains("nothing was changed"), "{}", rehearsed.stderr);
    assert_eq!(desk.run(&["instruct", &id, "--json"]).json(), json!({"instructions": null}));
    let said = desk.run(&["instruct", &id, always]);
    assert_eq!(said.text().trim(), always);
    assert!(said.stderr.contains("--summarizer"), "code minds nothing: {}", said.stderr);
    assert_eq!(desk.run(&["instruct", &id]).text().trim(), always);
    assert!(desk.run(&["show", &id]).text().contains(always));

    let upstream = Upstream::new(vec![Act::say("## Goal\nNothing.")]);
    let model = format!("openai:some-model@{}/v1", upstream.url());
    let arguments = ["compact", &id, "--summarizer", &model, "--instructions", once];
    assert_eq!(desk.run(&[&arguments[..], &SMALL[..]].concat()).code, 0);
    let asked = upstream.requests()[0].body.to_string();
    assert!(asked.find(always).unwrap() < asked.find(once).unwrap(), "{asked}");
    let told = desk.run(&["show", &id, "--json"]).json();
    assert_eq!(told["instructions"], always);
    assert_eq!(told["compactions_on_path"][0]["instructions"], format!("{always}\n{once}"));

    assert_eq!(desk.run(&["instruct", &id, " "]).code, 2);
    assert_eq!(desk.run(&["instruct", &id, "--clear"]).code, 0);
    assert_eq!(desk.run(&["show", &id, "--json"]).json()["instructions"], Value::Null);
}

fn whoever_asks_no_model_needs_no_key(desk: &Desk) {
    let id = imported(desk);
    let keyless = |arguments: &[&str]| {
        let named = ["--summarizer", "anthropic:claude-haiku-4-5", "--db", desk.address()];
        ran(command(&[arguments, &named[..]].concat()).env_remove("ANTHROPIC_API_KEY"))
    };
    let refused = keyless(&[&["compact", &id], &SMALL[..]].concat());
    assert!(refused.code == 2 && refused.stderr.contains("ANTHROPIC_API_KEY"), "{}", refused.stderr);
    assert_eq!(desk.run(&[&["compact", &id], &SMALL[..]].concat()).code, 0);
    let calm: [&[&str]; 8] = [
        &["pin", &id, "0"],
        &["pin", &id],
        &["seal", &id],
        &["watch", &id, "--turns", "1"],
        &["context", &id],
        &["instruct", &id],
        &["fork", &id, "--turn", "0", "--as-seen"],
        &["undo", &id, "--dry-run"],
    ];
    for arguments in calm {
        let done = keyless(arguments);
        assert_eq!(done.code, 0, "{arguments:?}: {}", done.stderr);
        assert!(!done.stderr.contains("ANTHROPIC_API_KEY"), "{arguments:?}: {}", done.stderr);
    }
    // What lies before this turn was summarised since.
    let forked = keyless(&["fork", &id, "--turn", "1"]);
    assert_eq!(forked.code, 0, "{}", forked.stderr);
    assert!(forked.stderr.contains("its summary is picked by code"), "{}", forked.stderr);
}
