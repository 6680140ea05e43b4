//! What is not the reply must not be taken for it.

use epitome_wire::Dialect::{Anthropic, Chat, Responses};
use serde_json::{Value, json};

use super::find;

#[test]
fn another_reply_is_no_echo() {
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let text = |text: &str| json!({"type": "text", "text": text});
    let thinking =
        |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let message = |content: Value| json!({"role": "assistant", "content": content});
    let reply = message(json!([
        thinking("hm", "s"),
        text("Let me look."),
        call("t", "look", json!({"a": 1, "b": null}))
    ]));
    let cases = [
        ("other words", message(json!([text("Let me see."), call("t", "look", json!({"a": 1, "b": null}))]))),
        ("fewer words", message(json!([text("Let me"), call("t", "look", json!({"a": 1, "b": null}))]))),
        (
            "more words",
            message(json!([text("Let me look. Now."), call("t", "look", json!({"a": 1, "b": null}))])),
        ),
        (
            "blanks within",
            message(json!([text("Let me  look."), call("t", "look", json!({"a": 1, "b": null}))])),
        ),
        ("no words", message(json!([call("t", "look", json!({"a": 1, "b": null}))]))),
        ("no call", message(json!([text("Let me look.")]))),
        (
            "two calls",
            message(json!([
                text("Let me look."),
                call("t", "look", json!({"a": 1, "b": null})),
                call("u", "look", json!({}))
            ])),
        ),
        (
            "the call twice",
            message(json!([
                text("Let me look."),
                call("t", "look", json!({"a": 1, "b": null})),
                call("t", "look", json!({"a": 1, "b": null}))
            ])),
        ),
        (
            "another tool",
            message(json!([text("Let me look."), call("t", "find", json!({"a": 1, "b": null}))])),
        ),
        ("another id", message(json!([text("Let me look."), call("u", "look", json!({"a": 1, "b": null}))]))),
        (
            "other arguments",
            message(json!([text("Let me look."), call("t", "look", json!({"a": 2, "b": null}))])),
        ),
        (
            "a string for a number",
            message(json!([text("Let me look."), call("t", "look", json!({"a": "1", "b": null}))])),
        ),
        ("without a null", message(json!([text("Let me look."), call("t", "look", json!({"a": 1}))]))),
        (
            "other thinking",
            message(json!([
                thinking("hm", "x"),
                text("Let me look."),
                call("t", "look", json!({"a": 1, "b": null}))
            ])),
        ),
        (
            "a picture",
            message(
                json!([{"type": "image", "source": {"type": "url", "url": "u"}}, text("Let me look."), call("t", "look", json!({"a": 1, "b": null}))]),
            ),
        ),
        ("the user's", json!({"role": "user", "content": "Let me look."})),
    ];
    assert!(find(Anthropic, std::slice::from_ref(&reply), std::slice::from_ref(&reply)).is_some());
    for (case, sent) in cases {
        assert_eq!(find(Anthropic, std::slice::from_ref(&reply), &[sent]), None, "{case}");
    }
    assert_eq!(find(Anthropic, &[reply], &[]), None, "nothing");
}

#[test]
fn a_call_whose_result_came_first_is_still_missing() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "n", "arguments": "{}"}});
    let reply = json!({"role": "assistant", "tool_calls": [call("c1"), call("c2")]});
    let sent = [
        json!({"role": "assistant", "tool_calls": [call("c1")]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "x"}),
    ];
    assert_eq!(find(Chat, &[reply], &sent), None);
}

#[test]
fn what_says_something_else_behind_the_reply_is_not_part_of_it() {
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    let echo = find(Responses, &[said("One.")], &[said("One."), said("Two.")]).unwrap();
    assert_eq!((echo.of, echo.length), (vec![Some(0)], 1));
    let unknown = json!({"type": "item_reference", "id": "elsewhere"});
    let echo = find(Responses, &[said("One.")], &[said("One."), unknown.clone()]).unwrap();
    assert_eq!(echo.length, 1);
    assert_eq!(find(Responses, &[said("One.")], &[unknown]), None);
    let echo = find(Chat, &[said("One.")], &[said("One."), said("")]).unwrap();
    assert_eq!(echo.length, 1);
}

#[test]
fn a_reply_of_nothing_is_nothing_or_an_empty_message() {
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": "E"});
    let echo = find(Responses, std::slice::from_ref(&reasoning), &[]).unwrap();
    assert_eq!((echo.of, echo.length), (vec![None], 0));
    let other = json!({"role": "assistant", "content": "something"});
    let echo = find(Responses, &[reasoning], &[other]).unwrap();
    assert_eq!(echo.length, 0);
    assert_eq!(find(Chat, &[], &[]).unwrap().length, 0);
}
