//! `epitome compact`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use epitome_core::Block;
use epitome_wire::files::{Damage, ReadOptions, read_all};
use epitome_wire::{Edit, Edits};
use serde_json::Value;

use crate::run::{epitome, epitome_with, example, fixtures};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_session_gets_smaller_in_its_own_format() {
    let before = fs::read_to_string(example()).unwrap();
    let ran = epitome(&["compact", &example(), "--strategy", "prune"]);
    let after = ran.text();
    assert!(after.len() < before.len() / 3, "{} of {}", after.len(), before.len());
    assert!(ran.stderr.contains("tokens (") && ran.stderr.contains("cleared"), "{}", ran.stderr);

    let mut cleared = 0;
    for (old, new) in lines(&before).iter().zip(lines(after)) {
        if *old == new {
            continue;
        }
        let mut restored = new.clone();
        restored["message"]["content"][0]["content"] = old["message"]["content"][0]["content"].clone();
        assert_eq!(*old, restored, "only the content of a tool result may differ");
        let text = new["message"]["content"][0]["content"].as_str().unwrap();
        assert!(text.contains(" · recall "), "{text}");
        cleared += usize::from(text.starts_with("[Tool output cleared"));
    }
    assert!(cleared >= 8);
    let unchanged = before.lines().zip(after.lines()).filter(|(old, new)| old == new).count();
    assert!(unchanged > 20, "untouched lines keep their bytes");
}

#[test]
fn the_error_at_the_end_of_a_cleared_result_stays() {
    let ran = epitome(&["compact", &example()]);
    assert!(ran.text().contains("TotalsDiffer: batch 4471: 1048.34 != 1048.35"));
}

#[test]
fn compacting_twice_changes_nothing_more() {
    for extra in [&["--set", "prune_mode=every-call"][..], &[]] {
        let once = epitome(&[&["compact", &example()], extra].concat());
        let twice = epitome_with(&once.stdout, &[&["compact", "-"], extra].concat());
        assert_eq!(once.text(), twice.text());
    }
}

// The fixture with every tool result made long, and how many there are.
fn inflated(bytes: &[u8]) -> (String, usize) {
    let options = ReadOptions { damage: Damage::KeepGoing, ..ReadOptions::default() };
    let (mut text, mut results) = (String::new(), 0);
    for transcript in read_all(bytes, options).unwrap() {
        let mut edits: BTreeMap<usize, Edits> = BTreeMap::new();
        for (at, message) in transcript.messages.iter().enumerate() {
            let blocks = message.blocks.iter().enumerate();
            for (block, _) in blocks.filter(|(_, block)| matches!(block, Block::ToolResult(_))) {
                let long = format!("result {results} says\n").repeat(400);
                edits.entry(at).or_default().push((block, Edit::Text(long)));
                results += 1;
            }
        }
        text += &transcript.rewrite(&edits, &BTreeSet::new()).unwrap();
    }
    (text, results)
}

#[test]
fn every_format_is_written_back_in_kind() {
    let (mut pruned_formats, mut cleared_formats) = (0, 0);
    for entry in fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let before = fs::read(&path).unwrap();
        let run = |input: &[u8], settings: &[&str], flags: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(name);
            fs::write(&file, input).unwrap();
            let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
            let ran =
                epitome(&[&["compact", "--lenient", file.to_str().unwrap()], flags, &settings[..]].concat());
            assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
            assert!(!ran.stderr.contains("bug:"), "{name}: {}", ran.stderr);
            ran
        };
        let off = ["tool_pruning_enabled=false"];
        assert_eq!(run(&before, &off, &[]).stdout, before, "{name}: nothing to do, so the same bytes");

        let (long, results) = inflated(&before);
        if results == 0 {
            continue;
        }
        let settings = [
            "keep_last_tool_results=1",
            "tool_hard_clear_after=1",
            "prune_mode=every-call",
            "tool_result_max_chars=1000",
        ];
        let reports = run(long.as_bytes(), &settings, &["--json"]).json();
        let reports = reports.as_array().cloned().unwrap_or_else(|| vec![reports]);
        let sum = |field: &str| reports.iter().map(|report| report[field].as_u64().unwrap()).sum::<u64>();
        assert!(sum("cleared") + sum("capped") > 0, "{name}: {reports:?}");
        assert!(sum("problems_after") <= sum("problems_before"), "{name}");
        assert!(sum("tokens_after") < sum("tokens_before") / 2, "{name}");
        pruned_formats += 1;
        cleared_formats += u64::from(sum("cleared") > 0);

        let once = run(long.as_bytes(), &settings, &[]).stdout;
        assert!(once.len() < long.len() / 2, "{name}");
        assert_eq!(run(&once, &settings, &[]).stdout, once, "{name}: pruning twice is pruning once");
    }
    assert!(pruned_formats >= 12 && cleared_formats >= 2, "{pruned_formats}, {cleared_formats}");
}

#[test]
fn a_budget_that_pruning_cannot_meet_is_reported() {
    let ran = epitome(&["compact", &example(), "--budget", "500", "--json"]);
    assert!(ran.stderr.contains("over the budget of 500"), "{}", ran.stderr);
    let report = ran.json();
    let (after, short) =
        (report["tokens_after"].as_u64().unwrap(), report["shortfall"]["tokens"].as_u64().unwrap());
    assert_eq!(after, 500 + short);
    let bytes = epitome(&["compact", &example(), "--max-bytes", "1k"]);
    assert!(bytes.stderr.contains("over the limit of 1.0 KB"), "{}", bytes.stderr);
}

#[test]
fn none_drops_the_oldest_messages_only() {
    let ran =
        epitome(&["compact", &example(), "--strategy", "none", "--set", "max_conversation_messages=30"]);
    let (before, after) = (fs::read_to_string(example()).unwrap(), ran.text().to_owned());
    let kept = after.lines().count();
    assert!(kept <= 30 && kept > 0);
    let first: Value = serde_json::from_str(after.lines().next().unwrap()).unwrap();
    assert_eq!(first["parentUuid"], Value::Null, "what is left is a whole session again");
    assert!(first["message"]["content"].is_string(), "and starts where the user speaks");
    assert!(before.ends_with(after.split_once('\n').unwrap().1), "everything after it is untouched");
    assert!(ran.stderr.contains("oldest messages dropped"), "{}", ran.stderr);

    let all = epitome(&["compact", &example(), "--strategy", "none"]);
    assert_eq!(all.text(), before, "fewer than fifty messages are left alone");
}

#[test]
fn what_happens_is_logged_as_events() {
    let ran = epitome(&["compact", &example(), "--log", "json", "--set", "warn_tokens=1000"]);
    let events: Vec<Value> = ran.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let pruned =
        events.iter().find(|event| event["fields"]["soft"].is_number()).expect("pruning is an event");
    assert_eq!(
        pruned["fields"]["pruned"].as_u64().unwrap(),
        pruned["fields"]["soft"].as_u64().unwrap() + pruned["fields"]["hard"].as_u64().unwrap()
    );
    assert_eq!(pruned["target"], "epitome::prune");
    assert!(
        events.iter().any(|event| event["level"] == "WARN"),
        "more than warn_tokens is warned of: {events:?}"
    );
}
