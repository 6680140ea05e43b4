//! Replies that were cut off: the client may have seen less or more.

use epitome_wire::Dialect::{self, Anthropic, Chat, Responses};
use epitome_wire::echo::{Extent, echo_of_cut};

fn extent(dialect: Dialect, reply: &str, sent: &[&str]) -> Option<(usize, Extent)> {
    let mut sent = sent.to_vec();
    sent.push(r#"{"role":"user","content":"go on"}"#);
    echo_of_cut(dialect, &[reply], &sent).map(|(echo, extent)| (echo.length, extent))
}

#[test]
fn beginnings_are_told_apart_from_other_words() {
    let said = |text: &str| format!(r#"{{"role":"assistant","content":"{text}"}}"#);
    let cases = [
        ("Good day to you", Some((1, Extent::Whole))),
        ("Good day", Some((1, Extent::Less))),
        ("Good day to you all.", Some((1, Extent::More))),
        ("Good night", None),
        ("", None),
    ];
    for (sent, expected) in cases {
        for dialect in [Anthropic, Chat] {
            assert_eq!(extent(dialect, &said("Good day to you"), &[&said(sent)]), expected, "{sent}");
        }
    }
    assert_eq!(extent(Chat, &said("Good day"), &[]), None);
    let item = |text: &str| {
        format!(
            r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#
        )
    };
    assert_eq!(extent(Responses, &item("Good day"), &[&item("Good")]), Some((1, Extent::Less)));
}

#[test]
fn a_call_more_or_less() {
    let with = |calls: &[&str]| {
        let calls = calls.iter().map(|id| {
            format!(r#"{{"id":"{id}","type":"function","function":{{"name":"n","arguments":"{{}}"}}}}"#)
        });
        format!(
            r#"{{"role":"assistant","content":"So.","tool_calls":[{}]}}"#,
            calls.collect::<Vec<_>>().join(",")
        )
    };
    assert_eq!(extent(Chat, &with(&["a"]), &[&with(&["a", "b"])]), Some((1, Extent::More)));
    assert_eq!(extent(Chat, &with(&["a", "b"]), &[&with(&["a"])]), Some((1, Extent::Less)));
    assert_eq!(extent(Chat, &with(&["a"]), &[&with(&["b"])]), None);
    assert_eq!(
        extent(Chat, &with(&["a"]), &[r#"{"role":"assistant","content":"So."}"#]),
        Some((1, Extent::Less))
    );
    let longer = r#"{"role":"assistant","content":"So. Then."}"#;
    assert_eq!(extent(Chat, &with(&["a"]), &[longer]), None, "more words in place of the call");
    let silent = r#"{"role":"assistant","content":""}"#;
    assert_eq!(extent(Chat, silent, &[longer]), Some((0, Extent::Whole)), "nothing has no more");
}
