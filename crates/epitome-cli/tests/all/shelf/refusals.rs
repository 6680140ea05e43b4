//! What cannot be done, said clearly, with a hint.

use std::fs;

use super::Desk;
use crate::run::{command, epitome, example, fixtures};

fn refused(desk: &Desk, arguments: &[&str], code: i32, expected: &str) {
    let ran = desk.run(arguments);
    assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
    assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    assert!(ran.stderr.contains("hint:") || ran.stderr.contains("--help"), "{arguments:?}: {}", ran.stderr);
}

#[test]
fn a_missing_ledger_is_made_only_to_begin_one() {
    let desk = Desk::new();
    let commands: [&[&str]; 13] = [
        &["sessions"],
        &["search", "x"],
        &["doctor"],
        &["recall", "0123456789ab"],
        &["show", "a"],
        &["compact", "0198c2f1"],
        &["context", "0198c2f1"],
        &["pin", "0198c2f1", "0"],
        &["instruct", "0198c2f1", "Mind this."],
        &["seal", "0198c2f1"],
        &["undo", "0198c2f1"],
        &["fork", "0198c2f1"],
        &["purge", "0198c2f1"],
    ];
    for command in commands {
        refused(&desk, command, 1, "there is no ledger at");
    }
    assert_eq!(fs::read_dir(desk.folder.path()).unwrap().count(), 0);
    let begun = desk.run(&["import", &example()]);
    assert!(begun.stderr.contains("a new ledger is begun at"), "{}", begun.stderr);
    let again = desk.run(&["import", &example()]);
    assert!(again.code == 0 && !again.stderr.contains("is begun"), "{}", again.stderr);
}

#[test]
fn bad_names_are_refused() {
    let desk = Desk::new();
    desk.import(&[fixtures().to_str().unwrap()]);
    refused(&desk, &["show", "xyz"], 2, "not a session");
    refused(&desk, &["show", ""], 2, "not a session");
    let ids: Vec<String> =
        desk.sessions().iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect();
    // Nineteen ids begin with sixteen digits at most, so that two of them begin alike.
    let digits = "0123456789abcdef".chars();
    let several = digits.clone().find(|digit| ids.iter().filter(|id| id.starts_with(*digit)).count() > 1);
    refused(&desk, &["export", &several.unwrap().to_string()], 2, "more than one session begins with");
    let unknown =
        (0..).map(|number| format!("{number:08x}")).find(|name| !ids.iter().any(|id| id.starts_with(name)));
    refused(&desk, &["show", &unknown.unwrap()], 1, "no session begins with");
    refused(&desk, &["history", &ids[0], "--turn", "999"], 2, "has no turn 999");
    refused(&desk, &["history", &ids[0], "--message", "999"], 2, "has no message 999");
    refused(&desk, &["history", &ids[0], "--summarized", "0"], 2, "turn 0 is no compaction");
    refused(&desk, &["recall", "0123456789ab"], 1, "nothing is recorded under 0123456789ab");
    refused(&desk, &["recall", "nonsense"], 2, "not a recall id");
    refused(&desk, &["recall", "recall", "0123456789AB"], 1, "nothing is recorded under 0123456789ab");
    refused(&desk, &["search", "tide", "--after", "7"], 2, "--after is for --newest");
    refused(&desk, &["search", "C++"], 1, "name another one beside it");
    refused(&desk, &["search", "a*"], 1, "a word has two letters or more");
    refused(&desk, &["sessions", "--after", "zz"], 1, "not a cursor");
    refused(&desk, &["purge", "--older-than", "yesterday", "--yes"], 2, "is no time");
}

#[test]
fn bad_databases_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "this is no database, whatever its name says\n".repeat(100)).unwrap();
    let cases = [
        (format!("sqlite:{}", text.display()), 1, "hint:"),
        (text.display().to_string(), 2, "not a database"),
        ("mysql://here".to_owned(), 2, "not a database"),
        (String::new(), 2, "no database is named"),
        (format!("sqlite:{}", folder.path().display()), 2, "is a folder"),
        ("postgres://nobody:secret@127.0.0.1:1/none".to_owned(), 1, "cannot be reached"),
    ];
    for (address, code, expected) in cases {
        let ran = epitome(&["sessions", "--db", &address]);
        assert_eq!(ran.code, code, "{address}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("hint:"), "{address}: {}", ran.stderr);
        assert!(!ran.stderr.contains("secret"), "passwords are not shown");
    }
    assert!(fs::read_to_string(&text).unwrap().starts_with("this is no database"));
}

#[test]
fn a_newer_ledger_is_left_alone() {
    let desk = Desk::new();
    desk.import(&[fixtures().join("chat.json").to_str().unwrap()]);
    let path = desk.address().strip_prefix("sqlite:").unwrap();
    rusqlite::Connection::open(path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    refused(&desk, &["sessions"], 1, "schema version 99");
    refused(&desk, &["import", fixtures().to_str().unwrap()], 1, "schema version 99");
}

#[test]
fn the_ledger_is_where_the_environment_says_and_nobody_else_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let chat = fixtures().join("chat.json");
    let mut run = command(&["import", chat.to_str().unwrap()]);
    assert!(run.env("XDG_DATA_HOME", folder.path()).output().unwrap().status.success());
    let ledger = folder.path().join("epitome/ledger.db");
    assert!(ledger.is_file());
    let mut run = command(&["sessions", "--json"]);
    let listed = run.env("EPITOME_DB", format!("sqlite:{}", ledger.display())).output().unwrap();
    assert_eq!(listed.stdout.iter().filter(|byte| **byte == b'\n').count(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(ledger.parent().unwrap().to_path_buf()), 0o700);
        assert_eq!(mode(ledger), 0o600);
    }
}
