//! Writing out again: byte for byte in its own format, converted into another.

use std::fs;

use proptest::prelude::*;
use serde_json::Value;

use super::{Desk, on_both};
use crate::run::{epitome_with, fixtures};

on_both!(lists_are_written_out_byte_for_byte, lines_are_written_out_as_they_were);

fn export(desk: &Desk, session: &Value, more: &[&str]) -> String {
    let id = session["id"].as_str().unwrap();
    desk.run(&[&["export", id], more].concat()).text().to_owned()
}

fn lists_are_written_out_byte_for_byte(desk: &Desk) {
    let names = [
        "anthropic.json",
        "chat.json",
        "responses.json",
        "messages.json",
        "messages.jsonl",
        "swe-agent.traj",
        "swe-agent-tools.traj",
    ];
    for name in names {
        let path = fixtures().join(name);
        desk.import(&[path.to_str().unwrap()]);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(export(desk, &desk.sessions()[0], &[]), text, "{name}");
    }
    let path = fixtures().join("conversations.jsonl");
    desk.import(&[path.to_str().unwrap()]);
    // Sessions of one file are recorded at the same time, in no order.
    let mut conversations = desk.run(&["sessions", "--json", "--agent", "conversations"]).json_lines();
    conversations.sort_by_key(|session| session["external"].to_string());
    let exported: String = conversations.iter().map(|session| export(desk, session, &[])).collect();
    assert_eq!(exported, fs::read_to_string(&path).unwrap());
}

fn lines_are_written_out_as_they_were(desk: &Desk) {
    for name in ["claude-code.jsonl", "pi-linear.jsonl", "pi-tree.jsonl", "codex.jsonl", "codex-bare.jsonl"] {
        let path = fixtures().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let before = desk.run(&["sessions", "--json"]).stdout.iter().filter(|byte| **byte == b'\n').count();
        desk.import(&[path.to_str().unwrap()]);
        let sessions = desk.sessions();
        for session in &sessions[..sessions.len() - before] {
            let exported = export(desk, session, &[]);
            assert!(exported.lines().all(|line| text.lines().any(|other| other == line)), "{name}");
            // What was written out is known, message for message.
            let again = Desk::new();
            again.import_text(&exported);
            let main = again.sessions().into_iter().last().unwrap();
            assert_eq!(main["chain"], session["chain"], "{name}");
        }
    }
}

#[test]
fn every_session_is_written_in_every_dialect() {
    let desk = Desk::new();
    desk.import(&[fixtures().to_str().unwrap()]);
    for session in desk.sessions() {
        for format in ["anthropic", "chat", "responses", "messages", "messages-jsonl", "conversations"] {
            let exported = export(&desk, &session, &["--format", format]);
            let read = epitome_with(exported.as_bytes(), &["count", "--json", "-"]);
            assert!(!read.json_lines().is_empty(), "{format}: {exported}");
            assert!(read.json_lines()[0]["messages"].as_u64().unwrap() > 0, "{format}: {exported}");
        }
    }
    let claude = desk.run(&["sessions", "--json", "--agent", "chat"]).json_lines().remove(0);
    let ran = desk.run(&["export", claude["id"].as_str().unwrap(), "--format", "pi"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("hint: leave --format away"), "{}", ran.stderr);
}

#[test]
fn a_file_is_written_whole() {
    let desk = Desk::new();
    desk.import(&[fixtures().join("chat.json").to_str().unwrap()]);
    let path = desk.folder.path().join("out.json");
    let id = desk.sessions()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["export", &id, "-o", path.to_str().unwrap()]).code, 0);
    assert_eq!(fs::read(&path).unwrap(), fs::read(fixtures().join("chat.json")).unwrap());
    let printed = desk.run(&["export", &id, "-o", "-"]);
    assert_eq!(printed.stdout, fs::read(&path).unwrap());
    let nowhere = desk.folder.path().join("not/there.json");
    assert_eq!(desk.run(&["export", &id, "-o", nowhere.to_str().unwrap()]).code, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_conversation_comes_back(
        texts in proptest::collection::vec("\\PC{0,20}", 1..8), spaces in 0..3_usize, wrapped in any::<bool>(),
    ) {
        let gap = " ".repeat(spaces);
        let message = |(number, text): (usize, &String)| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            format!("{{\"role\":{gap}\"{role}\",{gap}\"content\":{}}}", serde_json::to_string(text).unwrap())
        };
        let messages: Vec<String> = texts.iter().enumerate().map(message).collect();
        let list = messages.join(&format!(",{gap}"));
        let file = if wrapped { format!("{{\"id\":\"a\",\"messages\":[{list}]}}") } else { format!("[{list}]") };
        let desk = Desk::new();
        desk.import_text(&file);
        prop_assert_eq!(export(&desk, &desk.sessions()[0], &[]), file);
    }
}
