//! `epitome inspect`.

use std::fs;

use crate::run::{epitome, example, fixtures};

#[test]
fn shows_where_the_tokens_go() {
    let ran = epitome(&["inspect", &example()]);
    let text = ran.text();
    for part in [
        "claude-code · claude-opus-4.5",
        "42 messages, 21 turns, 3 exchanges",
        "by role",
        "by kind",
        "by tool",
        "largest results",
        "context at each turn",
        "turn 21",
        "█",
        "pruning:",
        "validity: valid for the anthropic dialect",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
}

#[test]
fn json_adds_up() {
    let session = &epitome(&["inspect", "--json", &example()]).json_lines()[0];
    let sum = |list: &str| {
        session[list].as_array().unwrap().iter().map(|part| part["tokens"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum("by_role"), sum("by_kind"));
    let overhead = session["tokens"].as_u64().unwrap() - sum("by_kind");
    assert_eq!(overhead, 4 * session["messages"].as_u64().unwrap(), "four tokens frame a message");
    assert_eq!(session["growth"].as_array().unwrap().len(), 21);
    assert_eq!(session["problems"].as_array().unwrap().len(), 0);
    assert!(session["pruning"]["every_call"].as_u64() >= session["pruning"]["steps"].as_u64());
    let tools: Vec<&str> =
        session["by_tool"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["Bash", "Read", "Edit"]);
}

#[test]
fn every_format_is_found_by_itself() {
    for entry in fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let ran = epitome(&["inspect", "--json", "--lenient", path.to_str().unwrap()]);
        let format = ran.json_lines()[0]["format"].as_str().unwrap().to_owned();
        let expected = match name.split_once('.').unwrap() {
            ("messages", "jsonl") => "messages-jsonl",
            (stem, _) => [
                "anthropic",
                "chat",
                "responses",
                "messages",
                "conversations",
                "claude-code",
                "codex",
                "pi",
                "swe-agent",
            ]
            .into_iter()
            .find(|format| stem.starts_with(format))
            .unwrap(),
        };
        assert_eq!(format, expected, "{name}");
    }
}

#[test]
fn a_folder_gives_a_line_a_session_and_a_total() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        fs::copy(example(), folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("notes.txt"), "not a session").unwrap();
    let ran = epitome(&["inspect", folder.path().to_str().unwrap()]);
    let text = ran.text();
    assert!(text.contains("a.jsonl") && text.contains("b.jsonl") && text.contains("2 sessions"), "{text}");

    fs::write(folder.path().join("c.jsonl"), "{]").unwrap();
    let ran = epitome(&["inspect", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("skipped:") && ran.stderr.contains("1 of 3 files could not be read"),
        "{}",
        ran.stderr
    );
    assert!(String::from_utf8(ran.stdout).unwrap().contains("2 sessions"), "the others are still shown");

    let ran = epitome(&["inspect", "--json", &example(), "nope.jsonl"]);
    assert_eq!(
        (ran.code, ran.stdout.iter().filter(|byte| **byte == b'\n').count()),
        (1, 1),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("skipped: cannot read nope.jsonl"), "{}", ran.stderr);
}

#[test]
fn results_come_in_the_order_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let line = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    for number in 0..40 {
        let size = if number % 7 == 0 { 20_000 } else { 10 };
        fs::write(folder.path().join(format!("{number:02}.jsonl")), line(&"word ".repeat(size))).unwrap();
    }
    let sessions = epitome(&["inspect", "--json", folder.path().to_str().unwrap()]).json_lines();
    let names: Vec<String> =
        sessions.iter().map(|session| session["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), 40);
    assert!(names.is_sorted());
}

#[test]
fn unknown_models_are_warned_of() {
    let ran = epitome(&["inspect", "--model", "my-own-model", &example()]);
    assert!(ran.text().contains("warning: model \"my-own-model\" is unknown"), "{}", ran.text());
}
