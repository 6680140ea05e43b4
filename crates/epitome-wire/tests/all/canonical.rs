//! The canonical form: what is the same message has one form, what is another has another.

use epitome_wire::{Dialect, decode_message, digest_of_decoded, digest_of_json};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,2}", Just("\u{e9}\u{1F600}\"\\\n".to_owned()), Just("null".to_owned())]
}

fn input() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        word().prop_map(Value::from),
        (0..3).prop_map(Value::from),
        Just(Value::Null),
        Just(json!(1.5)),
    ];
    let nested = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[ab]", inner), 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    vec(("[ab]", nested), 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn text() -> impl Strategy<Value = Value> {
    word().prop_map(|text| json!({"type": "text", "text": text}))
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => text(),
        1 => (word(), input()).prop_map(|(name, input)| json!({"type": "tool_use", "id": "1", "name": name, "input": input})),
        1 => (vec(text(), 0..3), any::<bool>())
            .prop_map(|(content, failed)| json!({"type": "tool_result", "tool_use_id": "1", "content": content, "is_error": failed})),
        1 => word().prop_map(|text| json!({"type": "thinking", "thinking": text, "signature": "s"})),
        1 => word().prop_map(|kind| json!({"type": "odd", "kind": kind})),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    (prop_oneof![Just("user"), Just("assistant")], vec(block(), 1..4))
        .prop_map(|(role, content)| json!({"role": role, "content": content}))
}

/// What must not matter, as a number of choices.
fn rewritten(value: &Value, choices: &mut impl Iterator<Item = u8>, is_protocol: bool) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| rewritten(item, choices, is_protocol)).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields
                .iter()
                .map(|(key, field)| (key.clone(), rewritten(field, choices, is_protocol && key != "input")))
                .collect();
            let choice = choices.next().unwrap_or(0);
            if choice % 2 == 1 {
                fields.reverse();
            }
            if is_protocol && choice % 3 == 1 {
                fields.push(("cache_control".to_owned(), json!({"type": "ephemeral"})));
            }
            if is_protocol && choice % 5 == 1 {
                fields.insert(0, ("citations".to_owned(), Value::Null));
            }
            let mut object: Map<String, Value> = fields.into_iter().collect();
            if let Some(content) = object.get_mut("content").filter(|_| is_protocol && choice % 7 < 4) {
                bare(content);
            }
            Value::Object(object)
        }
        other => other.clone(),
    }
}

// A lone text without anything beside it may as well be a string.
fn bare(content: &mut Value) {
    let text = match content.as_array().map(Vec::as_slice) {
        Some([only]) if only["type"] == "text" => only["text"].clone(),
        _ => return,
    };
    *content = text;
}

proptest! {
    #[test]
    fn the_way_of_writing_does_not_matter(
        message in message(), choices in vec(any::<u8>(), 0..24), pretty in any::<bool>(),
    ) {
        let other = rewritten(&message, &mut choices.into_iter(), true);
        let written = if pretty { serde_json::to_string_pretty(&other) } else { serde_json::to_string(&other) };
        prop_assert_eq!(digest_of_json(&written.unwrap()), digest_of_json(&message.to_string()), "{}", other);
    }

    #[test]
    fn a_message_that_was_read_has_the_digest_of_its_text(
        message in message(), choices in vec(any::<u8>(), 0..24), dialect in 0..Dialect::ALL.len(),
    ) {
        let json = rewritten(&message, &mut choices.into_iter(), true).to_string();
        let dialect = Dialect::ALL[dialect];
        if let Ok((read, _)) = decode_message(dialect, &json) {
            prop_assert_eq!(digest_of_decoded(&json, dialect, &read), digest_of_json(&json), "{}", json);
        }
    }

    #[test]
    fn everything_that_is_said_matters(one in message(), other in message()) {
        let same = digest_of_json(&one.to_string()) == digest_of_json(&other.to_string());
        prop_assert_eq!(same, one == other, "{} {}", one, other);
    }
}

#[test]
fn escapes_and_order_do_not_matter_and_nulls_of_arguments_do() {
    let digest = |content: &str| digest_of_json(&format!(r#"{{"role":"assistant","content":{content}}}"#));
    assert_eq!(digest(r#""caf\u00e9""#), digest("\"café\""));
    let call =
        |input: &str| digest(&format!(r#"[{{"type":"tool_use","id":"1","name":"n","input":{input}}}]"#));
    assert_eq!(call(r#"{"a":1,"b":[2]}"#), call(r#"{ "b":[ 2 ], "a":1 }"#));
    assert_ne!(call(r#"{"a":null}"#), call("{}"));
    assert_ne!(call(r#"{"a":1}"#), call(r#"{"a":"1"}"#));
}

#[test]
fn arguments_that_are_no_json_are_taken_as_they_are() {
    let call = |arguments: &str| {
        let arguments = serde_json::to_string(arguments).unwrap();
        digest_of_json(&format!(
            r#"{{"role":"assistant","tool_calls":[{{"id":"1","type":"function","function":{{"name":"n","arguments":{arguments}}}}}]}}"#
        ))
    };
    assert_eq!(call(r#"{"a":1, "b":2}"#), call(r#"{"b":2,"a":1}"#));
    assert_ne!(call("abc"), call("\"abc\""));
    assert_ne!(call("{broken"), call("{ broken"));
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    assert_ne!(call(&deep), call(&deep.replace('1', "2")));
}
