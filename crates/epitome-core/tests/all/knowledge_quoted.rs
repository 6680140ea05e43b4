//! Findings that somebody points out: only what a message says, in whole sentences, secrets masked.

use epitome_core::knowledge::{Finding, Kind, extract, quoted};
use epitome_core::secrets::masked;
use epitome_core::{Message, Role};
use proptest::prelude::*;

use Kind::{Decision, Fact, Preference};

fn point(role: Role, kind: Kind, text: &str, quotation: &str) -> Option<Finding> {
    quoted(&Message::text(role, text), 7, kind, quotation)
}

#[test]
fn what_a_message_says_is_taken_over() {
    let text = "Morning!\nThe staging cluster\nruns in Frankfurt since May. Don't use tabs in YAML.";
    let found = point(Role::User, Fact, text, "The staging cluster runs in Frankfurt").unwrap();
    assert_eq!((found.message, found.block), (7, 0));
    assert_eq!(found.text, "The staging cluster\nruns in Frankfurt since May.");
    assert_eq!(text.get(found.span.clone()), Some(found.text.as_str()));
    assert!(found.subject.contains("cluster"), "{}", found.subject);
    // What stands before a quotation belongs to it.
    let found = point(Role::User, Preference, text, "use tabs in YAML").unwrap();
    assert_eq!(found.text, "Don't use tabs in YAML.");
    let german = "Wir nehmen ab jetzt PostgreSQL statt MySQL, weil die Sicherung einfacher ist.";
    assert!(point(Role::Assistant, Decision, german, "PostgreSQL statt MySQL").is_some());
}

#[test]
fn what_no_message_says_is_not() {
    let text = "The staging cluster runs in Frankfurt. Should we move it to Paris? Maybe the cache is stale.";
    for quotation in [
        "The staging cluster runs in Paris",
        "staging runs",
        "in",
        "",
        "Should we move it to Paris",
        "the cache is stale",
    ] {
        assert_eq!(point(Role::User, Fact, text, quotation), None, "{quotation}");
    }
    // Only the user prefers something, and tools say nothing.
    let likes = "I prefer short answers with examples.";
    assert!(point(Role::User, Preference, likes, likes).is_some());
    assert_eq!(point(Role::Assistant, Preference, likes, likes), None);
    assert_eq!(point(Role::Tool, Fact, text, "The staging cluster runs in Frankfurt"), None);
}

#[test]
fn secrets_stay_secret() {
    let text = "The deploy user logs in with password: hunter2-Zq81xv on the build host.";
    let found = point(Role::User, Fact, text, "The deploy user logs in with").unwrap();
    assert_eq!(found.text, masked(text));
    assert!(!found.text.contains("hunter2"));
}

// A later finding takes the place of an earlier one, whoever found them.
#[test]
fn subjects_are_those_of_findings_by_words() {
    let text = "The database listens on port 5433.";
    let by_words = extract(&[Message::text(Role::User, text)], 7).remove(0);
    assert_eq!(point(Role::User, Fact, text, "listens on port 5433"), Some(by_words));
}

proptest! {
    #[test]
    fn nothing_upsets_it(text in "[a-zé .?!\n]{0,80}", quotation in "[a-zé .\n]{0,20}", start in 0_usize..60, length in 8_usize..30) {
        let part: String = text.chars().skip(start).take(length).collect();
        for quotation in [&quotation, &part] {
            if let Some(found) = point(Role::User, Fact, &text, quotation) {
                let said = text.get(found.span.clone()).unwrap();
                prop_assert_eq!(said, &found.text);
                let bare = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                prop_assert!(bare(&text).contains(&bare(quotation)));
            }
        }
    }
}
