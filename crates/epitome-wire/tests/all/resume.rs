//! A body that begins like one before it is read as if it had been read from its start.

use epitome_wire::{Body, Dialect, WireError, common_prefix};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::cases;

fn space() -> impl Strategy<Value = String> {
    select(vec!["", "", "", " ", "\n\t"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    let values = [
        "1",
        "12",
        "-1.5e3",
        "true",
        "null",
        "\"\"",
        "\"a\\\"b\"",
        "\"\u{e9}\\\\\"",
        "[]",
        "[1, 2]",
        "{}",
        "{\"messages\":[1]}",
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"user","content":"ab"}"#,
    ];
    select(values.to_vec()).prop_map(str::to_owned)
}

fn list() -> impl Strategy<Value = String> {
    let spaced = vec((space(), value(), space()), 0..6).prop_map(|items| {
        let items = items.into_iter().map(|(before, value, after)| before + &value + &after);
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    });
    prop_oneof![6 => spaced, 1 => Just("[ ]".to_owned()), 1 => value()]
}

fn field() -> impl Strategy<Value = (String, String)> {
    let list_key = select(vec!["\"messages\"", "\"input\"", "\"mess\\u0061ges\""]).prop_map(str::to_owned);
    let key = select(vec!["\"model\"", "\"tools\"", "\"x\\n\"", "\"\""]).prop_map(str::to_owned);
    prop_oneof![2 => (list_key, list()), 3 => (key, value())]
}

/// A body of fields in any order, some of them twice; `next` has the same fields up to some point, and others behind it.
fn bodies() -> impl Strategy<Value = (String, String)> {
    let fields = || vec((space(), field(), space(), space()), 0..5);
    let write = |fields: &[(String, (String, String), String, String)]| {
        let fields = fields
            .iter()
            .map(|(before, (key, value), colon, after)| format!("{before}{key}{colon}:{value}{after}"));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    (fields(), fields(), any::<Index>()).prop_map(move |(mut one, other, at)| {
        let first = write(&one);
        one.truncate(at.index(one.len() + 1));
        one.extend(other);
        (first, write(&one))
    })
}

fn scanned(body: Result<Body<'_>, WireError>) -> Result<epitome_wire::Scan, WireError> {
    body.map(|body| body.scan_of())
}

fn check(dialect: Dialect, first: &str, next: &str, common: usize) -> Result<(), TestCaseError> {
    let Ok(before) = Body::scan(dialect, first) else { return Ok(()) };
    let resumed = Body::resume(&before.scan_of(), next, common);
    prop_assert_eq!(scanned(resumed), scanned(Body::scan(dialect, next)), "{} {} {}", first, next, common);
    Ok(())
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn other_fields_and_messages((first, next) in bodies(), share in any::<Index>()) {
        let most = common_prefix(first.as_bytes(), next.as_bytes());
        for dialect in Dialect::ALL {
            for common in [most, share.index(most + 1)] {
                check(dialect, &first, &next, common)?;
                check(dialect, &next, &first, common)?;
            }
        }
    }

    #[test]
    fn any_other_bytes((first, other) in bodies(), (cut, from) in (any::<Index>(), any::<Index>())) {
        let Some((head, _)) = first.split_at_checked(cut.index(first.len())) else { return Ok(()) };
        let Some((_, tail)) = other.split_at_checked(from.index(other.len())) else { return Ok(()) };
        let next = head.to_owned() + tail;
        let most = common_prefix(first.as_bytes(), next.as_bytes());
        for dialect in Dialect::ALL {
            check(dialect, &first, &next, most)?;
            check(dialect, &first, &next, head.len())?;
        }
    }

    #[test]
    fn messages_that_are_added(
        texts in vec(list(), 2..5), head in select(vec!["", "\"model\":\"m\","]), tail in select(vec!["", ",\"stream\":true"]),
    ) {
        let written = |texts: &[String]| format!("{{{head}\"messages\":[{}]{tail}}}", texts.join(", "));
        for known in 0..texts.len() {
            let (first, next) = (written(&texts[..known]), written(&texts));
            check(Dialect::Chat, &first, &next, common_prefix(first.as_bytes(), next.as_bytes()))?;
        }
    }

    #[test]
    fn how_far_texts_agree(text in vec(any::<bool>(), 0..70), blocks in 0usize..3, other in any::<Index>(), end in any::<Index>()) {
        let mut one = vec![b'x'; blocks * 4096];
        one.extend(text.iter().map(|bit| u8::from(*bit)));
        let mut two = one.clone();
        two.truncate(end.index(two.len() + 1));
        if !two.is_empty() {
            let at = other.index(two.len());
            two[at] ^= 1;
        }
        let slow = one.iter().zip(&two).take_while(|(one, two)| one == two).count();
        prop_assert_eq!(common_prefix(&one, &two), slow);
        prop_assert_eq!(common_prefix(&one, &one), one.len());
    }
}

#[test]
fn a_value_that_may_go_on_is_read_again() {
    for (first, next) in [
        (r#"{"messages":[1]}"#, r#"{"messages":[12]}"#),
        (r#"{"messages":[],"n":1}"#, r#"{"messages":[],"n":12}"#),
        (r#"{"messages":[1],"messages":[2]}"#, r#"{"messages":[1],"messages_":[2]}"#),
        (r#"{"messages":[],"n":1}"#, r#"{"messages":[],"n":1"#),
    ] {
        check(Dialect::Chat, first, next, common_prefix(first.as_bytes(), next.as_bytes())).unwrap();
    }
}
