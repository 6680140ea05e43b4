//! Finding again: lists, searches, markers.

use super::Desk;
use crate::run::fixtures;

#[test]
fn paths_identifiers_and_other_scripts_are_found() {
    let desk = Desk::new();
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
    }
    let ran = desk.run(&["search", "nowhere"]);
    assert_eq!((ran.code, ran.text()), (0, ""));
    assert!(ran.stderr.contains("nothing was found"));
}

#[test]
fn sessions_are_listed_filtered_and_paged() {
    let desk = Desk::new();
    desk.import(&[fixtures().to_str().unwrap()]);
    let all = desk.sessions();
    let mut paged = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut arguments = vec!["sessions", "--json", "--limit", "4"];
        arguments.extend(after.iter().flat_map(|cursor| ["--after", cursor]));
        let ran = desk.run(&arguments);
        paged.extend(ran.json_lines());
        after = ran.stderr.split("--after ").nth(1).map(|cursor| cursor.trim().to_owned());
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, all);
    assert_eq!(desk.run(&["sessions", "--json", "--agent", "pi"]).json_lines().len(), 3);
    assert_eq!(desk.run(&["sessions", "--json", "--label", "hive MAP"]).json_lines().len(), 2);
    assert_eq!(desk.run(&["sessions", "--json", "--platform", "elsewhere"]).json_lines().len(), 0);
    let table = desk.run(&["sessions"]);
    assert!(table.text().contains("Draw the hive map"), "{}", table.text());
    assert!(!table.text().contains('\u{1b}'), "no colours where there is no terminal");
}
