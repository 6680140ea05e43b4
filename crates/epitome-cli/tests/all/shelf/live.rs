//! Sessions of the ledger at work: context, compact, undo, fork, pin, seal, watch, knowledge.

use epitome_wire::{Dialect, check, decode_message};
use serde_json::Value;

use super::{Desk, on_both};
use crate::run::{Ran, epitome, example, fixtures};

on_both!(
    every_format_has_a_context_that_its_provider_takes,
    a_session_is_compacted_and_undone,
    a_fork_stands_on_a_turn,
    pins_and_seals_are_kept_and_listed,
    turns_are_watched,
    what_was_learnt_is_reviewed,
    what_cannot_be_done_is_said,
);

/// The one session of the example.
pub(super) fn imported(desk: &Desk) -> String {
    desk.import(&[&example()]);
    desk.sessions()[0]["id"].as_str().unwrap().to_owned()
}

fn session(desk: &Desk, id: &str) -> Value {
    desk.sessions().into_iter().find(|session| session["id"] == id).unwrap()
}

/// The messages of a context as a request has them.
fn messages_of(context: Value) -> Vec<Value> {
    let found = context.get("messages").or(context.get("input")).and_then(Value::as_array);
    found.unwrap().clone()
}

/// Fails unless the run left the session as it was.
fn changes_nothing(desk: &Desk, id: &str, run: impl FnOnce() -> Ran) -> Ran {
    let before = desk.run(&["show", "--json", id]).json();
    let ran = run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(desk.run(&["show", "--json", id]).json(), before, "nothing was changed");
    assert!(ran.stderr.contains("nothing was changed") || ran.stdout.starts_with(b"{"), "{}", ran.stderr);
    ran
}

fn every_format_has_a_context_that_its_provider_takes(desk: &Desk) {
    desk.import(&[fixtures().to_str().unwrap()]);
    let mut seen = 0;
    for found in desk.sessions() {
        let id = found["id"].as_str().unwrap();
        let dialect = match found["agent"].as_str().unwrap() {
            "claude-code" | "anthropic" => Dialect::Anthropic,
            "codex" | "responses" => Dialect::Responses,
            "pi" | "swe-agent" | "chat" => Dialect::Chat,
            _ => continue,
        };
        let context = desk.run(&["context", "--json", id]);
        let messages = messages_of(context.json());
        assert!(!messages.is_empty(), "{found}");
        let read = |message: &Value| decode_message(dialect, &message.to_string()).unwrap().0;
        let messages: Vec<_> = messages.iter().map(read).collect();
        let violations = check::check(dialect, None, &messages);
        let refused: Vec<_> =
            violations.iter().filter(|found| found.severity() == check::Severity::Error).collect();
        assert!(refused.is_empty(), "{found}: {refused:?}");
        assert!(context.stderr.contains("tokens are in use"), "{}", context.stderr);
        seen += 1;
    }
    assert!(seen >= 12, "{seen} sessions were looked at");
}

fn a_session_is_compacted_and_undone(desk: &Desk) {
    let id = imported(desk);
    let whole = desk.run(&["context", "--json", &id]).json();
    let strategy = ["--strategy", "checkpoint"];
    let small = |more: &[&str]| {
        desk.run(&[&["compact", &id, "--budget", "4k", "--json"], &strategy[..], more].concat())
    };
    let planned = changes_nothing(desk, &id, || small(&["--dry-run"])).json();
    assert_eq!(planned["turn"], Value::Null);
    let done = small(&[]).json();
    assert!(done["turn"].is_string() && done["report"]["tokens_after"].as_u64().unwrap() <= 4_000, "{done}");
    let context = desk.run(&["context", "--json", &id]).json();
    assert!(messages_of(context).len() < messages_of(whole.clone()).len());
    assert_eq!(session(desk, &id)["compactions"], 1);

    let shown = changes_nothing(desk, &id, || desk.run(&["undo", &id, "--dry-run"]));
    assert!(shown.text().contains(" tokens"), "{}", shown.text());
    let part = desk.run(&["undo", &id, "--messages", "10-11", "--json"]).json();
    assert!(part["turn"].is_string(), "{part}");
    let undone = desk.run(&["undo", &id, "--all"]);
    assert!(
        undone.text().contains(" tokens") && undone.stderr.contains("as it was before any compaction\n"),
        "{}",
        undone.stderr
    );
    assert_eq!(desk.run(&["context", "--json", &id]).json(), whole, "everything is shown again");
    // What shows something again compacts nothing.
    assert_eq!(session(desk, &id)["compactions"], 1);
    assert_eq!(desk.run(&["show", &id, "--json"]).json()["compactions"], 1);
    let table = desk.run(&["sessions"]);
    assert!(table.text().contains("  1×  ") && !table.text().contains("3×"), "{}", table.text());
    let drawn = desk.run(&["show", &id]);
    assert!(drawn.text().contains(" undo, ") && !drawn.text().contains("(undo)"), "{}", drawn.text());
    let watched = desk.run(&["watch", &id, "--last", "1", "--turns", "1"]);
    assert!(watched.text().contains("  undone: "), "{}", watched.text());
    let again = desk.run(&["undo", &id, "--all"]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    assert!(again.stderr.contains("hint: epitome show"), "{}", again.stderr);

    let fits = desk.run(&["context", &id, "--max-tokens", "20k", "--json"]);
    assert!(fits.json()["messages"].is_array(), "{}", fits.stderr);
    desk.is_sound();
}

fn a_fork_stands_on_a_turn(desk: &Desk) {
    let id = imported(desk);
    let count = desk.sessions().len();
    let planned = desk.run(&["fork", &id, "--turn", "5", "--dry-run", "--json"]).json();
    assert_eq!((desk.sessions().len(), &planned["turn"]), (count, &Value::from(5)));
    desk.run(&["compact", &id, "--budget", "4k", "--strategy", "checkpoint"]).text();
    let told = desk.run(&["fork", &id, "--turn", "5", "--whole", "--label", "another way", "--json"]).json();
    let fork = told["session"].as_str().unwrap();
    assert_eq!((&told["parent"], &told["messages"]), (&Value::from(id.as_str()), &planned["messages"]));
    let context = desk.run(&["context", "--json", fork]).json();
    assert_eq!(messages_of(context.clone()).len() as u64, told["messages"].as_u64().unwrap());
    let summed = desk.run(&["fork", &id, "--turn", "5", "--set", "strategy=checkpoint"]);
    let smaller = desk.run(&["context", "--json", summed.text().trim()]).json();
    assert!(smaller.to_string().len() < context.to_string().len(), "the turn was summarised since");
    assert_eq!(desk.sessions().len(), count + 2);
    desk.is_sound();
}

fn pins_and_seals_are_kept_and_listed(desk: &Desk) {
    let id = imported(desk);
    let none = desk.run(&["pin", &id]);
    assert!(none.text().is_empty() && none.stderr.contains("nothing is pinned"));
    let dry = desk.run(&["pin", &id, "10-12", "--dry-run"]);
    assert!(dry.text().contains("messages 10–12") && dry.stderr.contains("nothing was changed"));
    assert!(desk.run(&["pin", &id]).text().is_empty());
    desk.run(&["pin", &id, "10-12", "--why", "the contract"]).text();
    desk.run(&["pin", &id, "11", "--remove"]).text();
    let left = desk.run(&["pin", &id, "--json"]).json_lines();
    let places: Vec<_> = left.iter().map(|pin| (pin["first"].as_u64(), pin["last"].as_u64())).collect();
    assert_eq!(places, [(Some(10), Some(10)), (Some(12), Some(12))]);
    assert_eq!(left[0]["content"], "the contract");
    desk.run(&["compact", &id, "--budget", "20k", "--strategy", "checkpoint"]).text();
    let context = desk.run(&["context", &id]);
    assert!(context.text().contains("message 10 ") && context.text().contains("message 12 "), "pins stay");

    let dry = desk.run(&["seal", &id, "--title", "cents", "--dry-run", "--json"]).json();
    let sealed = desk.run(&["seal", &id, "--title", "cents", "--json"]).json();
    assert_eq!(
        (&sealed["first"], &sealed["last"], &sealed["content"]),
        (&dry["first"], &dry["last"], &"cents".into())
    );
    let again = desk.run(&["seal", &id]);
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("since the last topic was sealed"), "{}", again.stderr);
}

fn turns_are_watched(desk: &Desk) {
    let id = imported(desk);
    desk.run(&["compact", &id, "--budget", "4k", "--strategy", "checkpoint"]).text();
    let lines = desk.run(&["watch", &id, "--last", "3", "--turns", "3", "--json"]).json_lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["kind"], "compaction");
    assert!(lines[2]["tokens_after"].as_u64().unwrap() < lines[2]["tokens_before"].as_u64().unwrap());
    let told = desk.run(&["watch", &id, "--last", "2", "--turns", "2"]);
    assert!(told.text().contains("answers") && told.text().contains("compacted (checkpoint, manual)"));
}

fn what_was_learnt_is_reviewed(desk: &Desk) {
    let filler =
        |number: usize| format!("Note {number}. {}", "The weather was looked at once more. ".repeat(80));
    let mut messages = vec![
        (
            "user",
            "I prefer tabs over spaces in all files. The staging server is at staging.tides.example."
                .to_owned(),
        ),
        ("assistant", "We decided to use PostgreSQL because SQLite cannot replicate.".to_owned()),
    ];
    messages.extend((0..8).flat_map(|at| [("user", filler(at)), ("assistant", filler(at + 100))]));
    let messages: Vec<Value> =
        messages.iter().map(|(role, text)| serde_json::json!({"role": role, "content": text})).collect();
    desk.import_text(&Value::from(messages).to_string());
    let id = desk.sessions()[0]["id"].as_str().unwrap().to_owned();
    assert!(desk.run(&["knowledge"]).stderr.contains("nothing was learnt"));
    desk.run(&["compact", &id, "--budget", "1k", "--strategy", "checkpoint"]).text();
    let learnt = desk.run(&["knowledge", "--session", &id, "--json"]).json_lines();
    let preference = learnt.iter().find(|finding| finding["kind"] == "preference").unwrap();
    assert_eq!(preference["state"], "review");
    let key = preference["id"].as_str().unwrap();
    assert_eq!(desk.run(&["knowledge", "--confirm", key, "--json"]).json()["state"], "confirmed");
    assert_eq!(desk.run(&["knowledge", "--reject", key, "--json"]).json()["state"], "rejected");
    assert!(desk.run(&["knowledge", "--kind", "preference", "--json"]).text().is_empty());
    assert!(
        desk.run(&["knowledge", "--kind", "preference", "--all"]).text().contains("preference, rejected")
    );
    let block = desk.run(&["context", &id, "--recall", "which database, PostgreSQL?"]);
    assert!(block.text().contains("PostgreSQL because SQLite cannot replicate"), "{}", block.text());
}

fn what_cannot_be_done_is_said(desk: &Desk) {
    let id = imported(desk);
    let cases: [(&[&str], i32, &str); 8] = [
        (&["fork", &id, "--turn", "99"], 2, "has no turn 99"),
        (&["undo", &id], 1, "nothing is compacted"),
        (&["undo", &id, "--messages", "5-900"], 1, "nothing is compacted"),
        (&["pin", &id, "5-900"], 2, "has no message 900"),
        (&["context", "zz"], 2, "not a session"),
        (&["compact", "ffffffff"], 1, "no session begins with"),
        (&["compact", &id, "--show", "view"], 2, "is for files"),
        (&["knowledge", "--confirm", "01a1e3d3-3e32-71da-8025-604addd244ff"], 1, "nothing was learnt under"),
    ];
    for (arguments, code, expected) in cases {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("hint:") || ran.stderr.contains("--help"),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn settings_are_shown_with_their_origin() {
    let told =
        epitome(&["config", "tool_hard_clear_after", "--set", "tool_hard_clear_after=7", "--json"]).json();
    assert_eq!((&told["value"], &told["origin"]), (&"7".into(), &"flag".into()), "{told}");
    let changed = epitome(&["config", "--changed", "--json"]).json_lines();
    assert_eq!(changed.len(), 1, "only the strategy of the tests is set: {changed:?}");
    assert_eq!(changed[0]["name"], "strategy");
    let wrong = epitome(&["config", "tool_hard_clear_aftr"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("did you mean tool_hard_clear_after?"), "{}", wrong.stderr);
}
