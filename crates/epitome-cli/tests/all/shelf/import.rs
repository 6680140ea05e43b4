//! Importing: every format, again, grown, edited, branched, damaged.

use std::fs;
use std::process::Stdio;

use super::{Desk, figures, on_both};
use crate::run::{command, fixtures};

on_both!(
    every_format_is_imported_once,
    an_edited_file_becomes_a_fork,
    tenants_and_agents_are_kept_apart,
    imports_at_the_same_time_record_a_session_once,
);

/// The fixtures: sessions, of which forked, messages, compactions.
const FIXTURES: &[(&str, u64, u64, u64, u64)] = &[
    ("anthropic.json", 1, 0, 3, 0),
    ("chat.json", 1, 0, 4, 0),
    ("responses.json", 1, 0, 3, 0),
    ("messages.json", 1, 0, 3, 0),
    ("messages.jsonl", 1, 0, 4, 0),
    ("conversations.jsonl", 3, 0, 6, 0),
    ("claude-code.jsonl", 3, 1, 14, 1),
    ("pi-linear.jsonl", 1, 0, 11, 1),
    ("pi-tree.jsonl", 2, 1, 12, 1),
    ("codex.jsonl", 2, 1, 11, 1),
    ("codex-bare.jsonl", 1, 0, 4, 0),
    ("swe-agent.traj", 1, 0, 5, 0),
    ("swe-agent-tools.traj", 1, 0, 5, 0),
];

fn every_format_is_imported_once(desk: &Desk) {
    for (name, sessions, forked, messages, compactions) in FIXTURES {
        let file = fixtures().join(name);
        let file = file.to_str().unwrap();
        let summary = desk.import(&[file]);
        assert_eq!(figures(&summary), [*sessions, *forked, 0, 0, *messages], "{name}");
        assert_eq!(summary["compactions"], *compactions, "{name}");
        let again = desk.import(&[file]);
        assert_eq!(figures(&again), [0, 0, 0, *sessions, 0], "{name} again");
        assert_eq!(again["compactions"], 0, "{name} again");
    }
    let all = desk.import(&[fixtures().to_str().unwrap()]);
    let sessions: u64 = FIXTURES.iter().map(|(_, sessions, ..)| sessions).sum();
    assert_eq!(figures(&all), [0, 0, 0, sessions, 0]);
    assert_eq!(desk.sessions().len() as u64, sessions);
    desk.is_sound();
}

#[test]
fn a_file_that_grew_grows_its_session() {
    for name in ["claude-code.jsonl", "pi-linear.jsonl", "codex.jsonl", "messages.jsonl"] {
        let whole = fs::read_to_string(fixtures().join(name)).unwrap();
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        let at_once = Desk::new();
        at_once.import_text(&whole);
        let desk = Desk::new();
        let mut length = 0;
        for end in (3..lines.len()).step_by(3).chain([lines.len()]) {
            let path = desk.folder.path().join(name);
            fs::write(&path, lines[..end].concat()).unwrap();
            let ran = desk.run(&["import", "--json", "--whole", path.to_str().unwrap()]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            let longest = desk.sessions().iter().map(|session| session["messages"].as_u64().unwrap()).max();
            assert!(longest.unwrap() >= length, "{name}: nothing gets lost");
            length = longest.unwrap();
        }
        desk.is_sound();
        let chains = |desk: &Desk| -> Vec<String> {
            desk.sessions().iter().map(|session| session["chain"].to_string()).collect()
        };
        for chain in chains(&at_once) {
            assert!(chains(&desk).contains(&chain), "{name}: what is there at the end is what came at once");
        }
        assert_eq!(figures(&desk.import_text(&whole))[4], 0, "{name}");
    }
}

#[test]
fn replies_answer_the_turn_that_waited_for_them() {
    let desk = Desk::new();
    let ask = r#"{"role":"user","content":"Is the lamp lit?"}"#;
    let answer = r#"{"role":"assistant","content":"It is lit."}"#;
    let more = r#"{"role":"user","content":"And now?"}"#;
    assert_eq!(figures(&desk.import_text(&format!("{ask}\n"))), [1, 0, 0, 0, 1]);
    assert_eq!(figures(&desk.import_text(&format!("{ask}\n{answer}\n"))), [0, 0, 1, 0, 1]);
    assert_eq!(figures(&desk.import_text(&format!("{ask}\n{answer}\n{more}\n"))), [0, 0, 1, 0, 1]);
    let session = &desk.sessions()[0];
    assert_eq!((&session["turns"], &session["messages"]), (&2.into(), &3.into()));
    desk.is_sound();
}

fn an_edited_file_becomes_a_fork(desk: &Desk) {
    let line = |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n");
    let begin = line("user", "Paint the hull.") + &line("assistant", "Which colour?");
    desk.import_text(&(begin.clone() + &line("user", "Red.") + &line("assistant", "Done.")));
    let edited = begin.clone() + &line("user", "Blue.") + &line("assistant", "Done.");
    assert_eq!(figures(&desk.import_text(&edited)), [1, 1, 0, 0, 2]);
    let grown = edited.clone() + &line("user", "Thanks.");
    assert_eq!(figures(&desk.import_text(&grown)), [0, 0, 1, 0, 1]);
    assert_eq!(figures(&desk.import_text(&begin)), [0, 0, 0, 1, 0], "a shorter copy is nothing new");
    let regenerated = line("user", "Paint the hull.") + &line("assistant", "Certainly.");
    assert_eq!(figures(&desk.import_text(&regenerated)), [1, 0, 0, 0, 2], "the same opening is no kinship");
    desk.is_sound();
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let desk = Desk::new();
    let folder = desk.folder.path().join("logs");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.jsonl"), "{\"role\":\"user\",\"content\":\"one\"}\n").unwrap();
    fs::write(folder.join("b.jsonl"), "{\"role\":\"user\",\"content\":\"two\"}\n{broken\n").unwrap();
    fs::write(folder.join("c.jsonl"), "{\"role\":\"user\",\"content\":\"three\"}\n").unwrap();
    let ran = desk.run(&["import", "--json", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    let summary: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&summary["files"], &summary["failed"]), (&2.into(), &1.into()));
    assert!(ran.stderr.contains("b.jsonl") && ran.stderr.contains("hint:"), "{}", ran.stderr);
    assert_eq!(desk.sessions().len(), 2);
    let alone = desk.run(&["import", folder.join("b.jsonl").to_str().unwrap()]);
    assert_eq!(alone.code, 1);
    assert!(
        !alone.stderr.contains("sessions:"),
        "nothing was done that could be summed up: {}",
        alone.stderr
    );
    let lenient = desk.run(&["import", "--lenient", "--json", folder.to_str().unwrap()]);
    assert!(lenient.stderr.contains("b.jsonl: line 2"), "it says which line: {}", lenient.stderr);
    let summary: serde_json::Value = serde_json::from_slice(&lenient.stdout).unwrap();
    assert_eq!((figures(&summary), &summary["damaged"]), ([1, 0, 0, 2, 1], &1.into()));
}

#[test]
fn what_cannot_be_looked_at_does_not_stop_the_others() {
    let desk = Desk::new();
    let file = fixtures().join("chat.json");
    let empty = desk.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let ran =
        desk.run(&["import", "--json", "missing.jsonl", empty.to_str().unwrap(), file.to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    let summary: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((figures(&summary), &summary["failed"]), ([1, 0, 0, 0, 4], &2.into()));
    assert!(
        ran.stderr.contains("missing.jsonl") && ran.stderr.contains("no session files"),
        "{}",
        ran.stderr
    );
    assert_eq!(desk.run(&["import", "missing.jsonl"]).code, 1);
}

fn tenants_and_agents_are_kept_apart(desk: &Desk) {
    let file = fixtures().join("chat.json");
    let file = file.to_str().unwrap();
    desk.import(&[file]);
    assert_eq!(figures(&desk.import(&[file, "--tenant", "acme", "--agent", "bot"]))[0], 1);
    assert_eq!(desk.sessions().len(), 1);
    let theirs = desk.run(&["sessions", "--json", "--tenant", "acme", "--agent", "bot"]).json_lines();
    assert_eq!(theirs.len(), 1);
    assert_eq!(desk.run(&["sessions", "--json", "--agent", "bot"]).json_lines().len(), 0);
}

/// Runs the same import in several processes at once; all must go well.
fn at_once(desk: &Desk, path: &str) {
    let start =
        || command(&["import", "--json", path, "--db", desk.address()]).stdout(Stdio::piped()).spawn();
    let started: Vec<_> = (0..8).map(|_| start().unwrap()).collect();
    for child in started {
        assert!(child.wait_with_output().unwrap().status.success());
    }
}

// The files name no session, so that it is known by what is said in it.
fn imports_at_the_same_time_record_a_session_once(desk: &Desk) {
    let whole = fs::read_to_string(fixtures().join("messages.jsonl")).unwrap();
    let path = desk.folder.path().join("session.jsonl");
    fs::write(&path, &whole).unwrap();
    let path = path.to_str().unwrap();
    at_once(desk, path);
    assert_eq!(desk.sessions().len(), 1);
    // A branch of it is recorded once, too.
    let mut lines: Vec<&str> = whole.lines().collect();
    *lines.last_mut().unwrap() = r#"{"role":"assistant","content":"or in another way"}"#;
    fs::write(path, lines.join("\n")).unwrap();
    at_once(desk, path);
    assert_eq!(desk.sessions().len(), 2);
    desk.is_sound();
}
