//! Events, purging, the doctor.

use rusqlite::Connection;
use serde_json::json;

use super::{Desk, figures, on_both};
use crate::run::fixtures;

on_both!(events_are_recorded_once, what_is_purged_is_gone, what_is_left_of_a_purged_session_is_found);

fn events_are_recorded_once(desk: &Desk) {
    let append = ["events", "append", "--platform", "chat", "--channel", "bridge"];
    let first = desk.run(&[&append[..], &["the mast is down", "--id", "7", "--time", "2026-02-03"]].concat());
    assert!(first.stderr.contains("is new"), "{}", first.stderr);
    let again = desk.run(&[&append[..], &["the mast is down", "--id", "7"]].concat());
    assert!(again.stderr.contains("was known"), "{}", again.stderr);
    assert_eq!(first.text(), again.text());
    desk.run_with(b"from \xff stdin", &append).text();
    let listed = desk.run(&["events", "list", "--json"]).json_lines();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1]["payload"], "the mast is down");
    assert_eq!(listed[1]["time"], 1_770_076_800_000_i64);
    assert_eq!(desk.run(&["events", "list", "--json", "--channel", "engine"]).json_lines().len(), 0);
    let found = desk.run(&["search", "--json", "mast"]).json_lines();
    assert_eq!(found[0]["kind"], "event");
    assert!(desk.run(&["events", "list"]).text().contains("the mast is down"));
    let refused: [&[&str]; 3] =
        [&["x", "--time", "2026-02-30"], &[""], &["x", "--time", "2025-02-29T10:00:00+02:00"]];
    for arguments in refused {
        assert_eq!(desk.run(&[&append[..], arguments].concat()).code, 2, "{arguments:?}");
    }
    assert_eq!(desk.run(&["events", "append", "--platform", " ", "x"]).code, 2);
    assert_eq!(desk.run(&["events", "list", "--json"]).json_lines().len(), 2);
    let edit = desk.run(&[&append[..], &["the mast is up", "--id", "7", "--json"]].concat()).json();
    assert_eq!((&edit["novelty"], &edit["version"]), (&json!("changed"), &json!(2)));
    let seven = ["events", "list", "--json", "--id", "7"];
    let payloads = |arguments: &[&str]| -> Vec<String> {
        let listed = desk.run(arguments).json_lines();
        listed.iter().map(|event| event["payload"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(payloads(&seven), ["the mast is up"]);
    assert_eq!(payloads(&[&seven[..], &["--all-versions"]].concat()), ["the mast is up", "the mast is down"]);
    desk.is_sound();
}

fn what_is_purged_is_gone(desk: &Desk) {
    desk.import(&[fixtures().to_str().unwrap()]);
    let count = desk.sessions().len();
    let codex = desk.run(&["sessions", "--json", "--label", "slip"]).json_lines().remove(0);
    let id = codex["id"].as_str().unwrap();
    let asked = desk.run(&["purge", id]);
    assert_eq!(asked.code, 2, "nobody can be asked");
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    let tombstone = desk.run(&["purge", id, "--yes", "--reason", "a test", "--json"]).json();
    assert_eq!((&tombstone["sessions"], &tombstone["reason"]), (&json!(1), &json!("a test")));
    assert_eq!(desk.sessions().len(), count - 1);
    assert_eq!(desk.run(&["search", "--json", "slip"]).json_lines().len(), 0);
    assert_eq!(desk.run(&["show", id]).code, 1);
    desk.is_sound();
    let again = desk.import(&[fixtures().to_str().unwrap()]);
    assert_eq!(again["new"], 1, "what was purged may come back when it is asked for");
    desk.run(&["purge", "--older-than", "2000-01-01", "--yes"]).text();
    assert_eq!(desk.sessions().len(), count);
    desk.run(&["purge", "--all", "--yes"]).text();
    assert_eq!(desk.sessions().len(), 0);
    desk.is_sound();
}

fn what_is_left_of_a_purged_session_is_found(desk: &Desk) {
    let line = |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n");
    let begin = line("user", "Paint the hull.") + &line("assistant", "Which colour?");
    desk.import_text(&(begin.clone() + &line("user", "Red.") + &line("assistant", "Done.")));
    let edited = begin + &line("user", "Blue.") + &line("assistant", "Done.");
    assert_eq!(figures(&desk.import_text(&edited))[1], 1);
    let sessions = desk.sessions();
    let (fork, parent) = (sessions[0]["id"].as_str().unwrap(), sessions[1]["id"].as_str().unwrap());
    let told = desk.run(&["purge", "--all", "--dry-run"]).stderr;
    assert!(told.contains("2 sessions with 6 messages, and 0 events, of the local tenant"), "{told}");
    let told = desk.run(&["purge", "--older-than", "2000-01-01", "--dry-run"]).stderr;
    assert!(told.contains("0 sessions with 0 messages"), "{told}");
    assert_eq!(desk.sessions().len(), 2, "nothing went");
    assert!(desk.run(&["sessions", "--purged"]).stderr.contains("nothing was purged"));
    desk.run(&["purge", parent, "--yes", "--reason", "too red"]).text();
    let drawn = desk.run(&["show", fork]);
    assert!(drawn.text().contains(&format!("{} purged 2", &parent[..8])), "{}", drawn.text());
    assert!(drawn.text().contains("(too red)"), "{}", drawn.text());
    let found = desk.run(&["search", "--json", "hull"]).json_lines();
    assert_eq!(found[0]["session"], fork, "a session that is there is named");
    let listed = desk.run(&["sessions", "--purged"]);
    assert!(listed.text().contains("(too red)") && listed.text().contains(parent), "{}", listed.text());
    assert_eq!(desk.run(&["sessions", "--purged", "--json"]).json_lines()[0]["reason"], "too red");
    desk.is_sound();
}

#[test]
fn the_doctor_finds_what_is_wrong() {
    let plants = [
        ("UPDATE sessions SET messages = messages + 1 WHERE key = 1", "session"),
        ("UPDATE messages SET chain = zeroblob(16) WHERE session = 2 AND ordinal = 1", "message 1"),
        ("DELETE FROM messages WHERE session = 1 AND ordinal = 0", "session"),
        ("DELETE FROM recalls WHERE session = 1; UPDATE recalls SET ordinal = 999", "recall ids"),
        ("DELETE FROM entries WHERE key = 3", "index"),
    ];
    for (plant, found) in plants {
        let desk = Desk::new();
        desk.import(&[fixtures().to_str().unwrap()]);
        desk.is_sound();
        let healthy = desk.run(&["doctor"]);
        assert!(healthy.text().contains("nothing is wrong") && healthy.text().contains("checked:"));
        let path = desk.address().strip_prefix("sqlite:").unwrap();
        Connection::open(path).unwrap().execute_batch(plant).unwrap();
        let ran = desk.run(&["doctor", "--json"]);
        assert_eq!(ran.code, 1, "{plant}");
        let told: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let subjects = told["findings"].to_string();
        assert!(subjects.contains(found), "{plant}: {subjects}");
        assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
        let again = desk.run(&["doctor", "--json"]);
        assert_eq!(again.stdout, ran.stdout, "nothing was repaired");
    }
}
