//! Showing: lineage, compactions, histories, views.

use serde_json::Value;

use super::{Desk, on_both};
use crate::run::fixtures;

on_both!(a_session_is_drawn, histories_and_views_are_printed);

fn session(desk: &Desk, agent: &str, forked: bool) -> Value {
    let mut found = desk.run(&["sessions", "--json", "--agent", agent]).json_lines();
    found.retain(|session| session["forked_from"].is_object() == forked);
    found.pop().unwrap()
}

fn id(session: &Value) -> &str {
    session["id"].as_str().unwrap()
}

fn a_session_is_drawn(desk: &Desk) {
    desk.import(&[fixtures().join("pi-tree.jsonl").to_str().unwrap()]);
    let (main, fork) = (session(desk, "pi", false), session(desk, "pi", true));
    let drawn = desk.run(&["show", id(&main)]);
    let drawn = drawn.text();
    assert!(drawn.contains(&format!("└─ {}", &id(&fork)[..8])), "{drawn}");
    let other = desk.run(&["show", id(&fork)]);
    let other = other.text();
    assert!(other.contains(&id(&main)[..8]) && other.contains("shared up to here"), "{other}");
    assert!(other.contains("compaction by pi (imported)"), "{other}");
    let told = desk.run(&["show", "--json", id(&main)]).json();
    assert_eq!(told["forks"].as_array().unwrap().len(), 1);
    assert_eq!(told["forks"][0]["session"]["id"], fork["id"]);
    let told = desk.run(&["show", "--json", id(&fork)]).json();
    let compaction = &told["compactions_on_path"][0];
    assert_eq!(compaction["segments"][0]["kind"], "summary");
    assert!(compaction["summary"].as_str().is_some_and(|summary| !summary.is_empty()));
}

fn histories_and_views_are_printed(desk: &Desk) {
    desk.import(&[fixtures().join("claude-code.jsonl").to_str().unwrap()]);
    let mut found = desk.run(&["sessions", "--json", "--agent", "claude-code"]).json_lines();
    found.retain(|session| session["compactions"] == 1);
    let main = found.pop().unwrap();
    let all = desk.run(&["history", "--json", id(&main)]).json_lines();
    assert_eq!(all.len() as u64, main["messages"].as_u64().unwrap());
    assert_eq!(all[0]["role"], "user");
    let told = desk.run(&["show", "--json", id(&main)]).json();
    let compaction = &told["compactions_on_path"][0];
    let number = compaction["turn"].to_string();
    let summarized = desk.run(&["history", "--json", id(&main), "--summarized", &number]).json_lines();
    assert!(!summarized.is_empty() && summarized.len() < all.len());
    assert_eq!(summarized[0], all[0]);
    let first = desk.run(&["history", "--json", id(&main), "--turn", "0"]).json_lines();
    assert_eq!(first, all[..first.len()]);
    let view = desk.run(&["history", id(&main), "--view"]);
    let summary = compaction["summary"].as_str().unwrap();
    assert_eq!(view.text().matches(summary.trim()).count(), 1, "the summary stands once: {}", view.text());
    assert!(!view.text().contains("Why does the tide table skip the 29th?"), "what it is of does not");
    for word_of_ours in ["I have the context", "[Earlier messages omitted]"] {
        assert!(!view.text().contains(word_of_ours), "nobody sent that: {}", view.text());
    }
    let after = (compaction["turn"].as_u64().unwrap() + 1).to_string();
    let next = desk.run(&["history", "--json", id(&main), "--turn", &after]).json_lines();
    let roles: Vec<&str> = next.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(
        roles,
        ["user", "assistant"],
        "what was asked behind the summary is answered in the same turn"
    );
    let then = desk.run(&["history", id(&main), "--view", "0"]);
    assert!(then.text().contains("Why does the tide table skip the 29th?"));
    let readable = desk.run(&["history", id(&main)]);
    assert!(
        readable.text().contains("→ Read") && readable.text().contains("(thinking) "),
        "{}",
        readable.text()
    );
}
