//! Finding again: lists, searches, markers.

use super::{Desk, on_both};
use crate::run::{epitome, fixtures};

on_both!(
    paths_identifiers_and_other_scripts_are_found,
    sessions_are_listed_filtered_and_paged,
    sessions_go_by_their_names,
    what_a_marker_stands_for_is_recalled,
    a_search_stays_where_it_is_told,
);

fn paths_identifiers_and_other_scripts_are_found(desk: &Desk) {
    let said = [
        "Look at src/main.rs first",
        "error[E0382]: borrow of moved value",
        "call parse_http_header twice",
        "全文検索エンジンを直す",
        "Der Fährplan ist geändert",
    ];
    for text in said {
        desk.import_text(&format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n"));
    }
    let cases = [
        ("src/main.rs", 0),
        ("E0382", 1),
        ("parse_http_header", 2),
        ("header", 2),
        ("検索", 3),
        ("fahrplan", 4),
        ("\"moved value\"", 1),
        ("geänd*", 4),
    ];
    for (words, expected) in cases {
        let found = desk.run(&["search", "--json", words]).json_lines();
        assert_eq!(found.len(), 1, "{words}");
        let snippet = found[0]["snippet"].as_str().unwrap().trim();
        assert_eq!(snippet, said[expected], "{words}");
        assert!(!found[0]["highlights"].as_array().unwrap().is_empty(), "{words}");
        let (session, message) = (found[0]["session"].as_str().unwrap(), found[0]["message"].to_string());
        let shown = desk.run(&["history", session, "--message", &message]);
        assert!(shown.text().contains(said[expected]), "a hit can be opened: {}", shown.stderr);
    }
    for order in [&["search", "\"value borrow\""][..], &["search", "--newest", "\"value borrow\""]] {
        assert_eq!(desk.run(order).text(), "", "a phrase is found as it is or not at all");
    }
    assert_eq!(desk.run(&["search", "--json", "src/lib.rs"]).json_lines().len(), 0, "and so is a path");
    let ran = desk.run(&["search", "nowhere"]);
    assert_eq!((ran.code, ran.text()), (0, ""));
    assert!(ran.stderr.contains("nothing was found"));
}

fn sessions_are_listed_filtered_and_paged(desk: &Desk) {
    desk.import(&[fixtures().to_str().unwrap()]);
    let all = desk.sessions();
    let mut paged = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut arguments = vec!["sessions", "--json", "--limit", "4"];
        arguments.extend(after.iter().flat_map(|cursor| ["--after", cursor]));
        let ran = desk.run(&arguments);
        if after.is_none() {
            let again = format!("more: epitome sessions --json --limit 4 --db {} --after ", desk.address());
            assert!(ran.stderr.contains(&again), "{}", ran.stderr);
        }
        paged.extend(ran.json_lines());
        after = ran.stderr.split("--after ").nth(1).map(|cursor| cursor.trim().to_owned());
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, all);
    assert_eq!(desk.run(&["sessions", "--json", "--agent", "pi"]).json_lines().len(), 3);
    assert_eq!(desk.run(&["sessions", "--json", "--label", "hive MAP"]).json_lines().len(), 1);
    assert_eq!(desk.run(&["sessions", "--json", "--platform", "elsewhere"]).json_lines().len(), 0);
    let table = desk.run(&["sessions"]);
    assert!(table.text().contains("Draw the hive map"), "{}", table.text());
    assert!(!table.text().contains('\u{1b}'), "no colours where there is no terminal");
}

/// Opens a session as an agent of somebody's own does, and returns its id.
fn opened(desk: &Desk, agent: &str, name: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = epitome::Engine::builder().db(desk.address()).agent(agent).build().await.unwrap();
        let session = engine.session(name).await.unwrap();
        session.append("How deep is the harbour?").await.unwrap();
        session.id().to_string()
    })
}

fn sessions_go_by_their_names(desk: &Desk) {
    desk.import(&[fixtures().join("chat.json").to_str().unwrap()]);
    let id = opened(desk, "pilot", "ticket 4711");
    let listed = desk.run(&["sessions"]);
    assert!(listed.text().contains("ticket 4711"), "{}", listed.text());
    for arguments in [&["show", "--json"][..], &["context", "--json"], &["compact", "--json", "--dry-run"]] {
        let (named, by_id) = ([arguments, &["ticket 4711"]].concat(), [arguments, &[id.as_str()]].concat());
        assert_eq!(desk.run(&named).text(), desk.run(&by_id).text(), "{arguments:?}");
    }
    let digits = opened(desk, "pilot", "0000");
    assert_eq!(desk.run(&["show", "--json", "0000"]).json()["id"], digits.as_str());
    let other = opened(desk, "tug", "ticket 4711");
    let several = desk.run(&["show", "ticket 4711"]);
    assert_eq!(several.code, 2, "{}", several.stderr);
    assert!(several.stderr.contains(&id) && several.stderr.contains(&other), "{}", several.stderr);
    let nobody = desk.run(&["show", "ticket"]);
    assert!(nobody.stderr.contains("or the whole name of a session"), "{}", nobody.stderr);
    let missing = desk.run(&["compact", "ticket.json"]);
    assert!(missing.stderr.contains("cannot read ticket.json"), "{}", missing.stderr);
}

/// A session whose tool results are long enough to be pruned, in a format.
fn long_session(format: &str) -> (String, Vec<String>) {
    let results: Vec<String> = (0..24)
        .map(|number| format!("row {number} of the \"log\"\n\tzażółć {}", "x ".repeat(4_000)))
        .collect();
    let text = |text: &str| serde_json::to_string(text).unwrap();
    let mut lines = Vec::new();
    for (number, result) in results.iter().enumerate() {
        let (ask, result) = (text(&format!("Read part {number}.")), text(result));
        lines.extend(match format {
            "anthropic" => [
                format!(r#"{{"role":"user","content":{ask}}}"#),
                format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{number}","name":"read","input":{{}}}}]}}"#),
                format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}","content":{result}}}]}}"#),
                r#"{"role":"assistant","content":"Read."}"#.to_owned(),
            ],
            _ => [
                format!(r#"{{"role":"user","content":{ask}}}"#),
                format!(r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"t{number}","type":"function","function":{{"name":"read","arguments":"{{}}"}}}}]}}"#),
                format!(r#"{{"role":"tool","tool_call_id":"t{number}","content":{result}}}"#),
                r#"{"role":"assistant","content":"Read."}"#.to_owned(),
            ],
        });
    }
    (lines.join("\n") + "\n", results)
}

fn what_a_marker_stands_for_is_recalled(desk: &Desk) {
    for format in ["anthropic", "chat"] {
        let (text, results) = long_session(format);
        let file = desk.folder.path().join("long.jsonl");
        std::fs::write(&file, &text).unwrap();
        let compacted = epitome(&["compact", file.to_str().unwrap(), "--strategy", "prune"]);
        let ids: Vec<String> =
            compacted.text().split("recall ").skip(1).map(|rest| rest.chars().take(12).collect()).collect();
        assert!(ids.len() > 5, "{format}: something was pruned");
        assert_eq!(desk.run(&["recall", &ids[0]]).code, if format == "chat" { 0 } else { 1 });
        desk.import(&[file.to_str().unwrap()]);
        for id in &ids[..3] {
            let recalled = desk.run(&["recall", id]);
            assert!(results.iter().any(|result| result == recalled.text()), "{format}: {id}");
            let told = desk.run(&["recall", "--json", id]).json();
            assert_eq!(told["text"].as_str(), Some(recalled.text()));
            let pasted = desk.run(&["recall", &format!("recall {}]", id.to_uppercase())]);
            assert_eq!(pasted.text(), recalled.text());
        }
    }
}

fn a_search_stays_where_it_is_told(desk: &Desk) {
    let line = |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n");
    desk.import_text(&(line("user", "the anchor is lost") + &line("assistant", "an anchor chain")));
    desk.import_text(&line("user", "another anchor"));
    assert_eq!(desk.run(&["search", "--json", "anchor"]).json_lines().len(), 3);
    let newest = desk.run(&["search", "--json", "--newest", "anchor", "--limit", "1"]);
    assert_eq!(newest.json_lines()[0]["snippet"].as_str().unwrap().trim(), "another anchor");
    let session = desk.sessions()[1]["id"].as_str().unwrap()[..8].to_owned();
    let within = desk.run(&["search", "--json", "anchor", "--session", &session]).json_lines();
    assert_eq!(within.len(), 2);
    assert_eq!(desk.run(&["search", "--json", "anchor", "--agent", "nobody"]).json_lines().len(), 0);
}
