//! Replies of Chat Completions and its look-alikes.

use epitome_core::{Tokens, Usage};
use epitome_wire::Dialect;
use epitome_wire::reply::Answer;
use serde_json::{Value, json};

use super::{read, unnamed, values};

fn chunk(delta: Value, reason: Option<&str>) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-x", "usage": null,
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]})
}

fn stream(chunks: &[Value]) -> Answer {
    read(Dialect::Chat, true, &(unnamed(chunks) + "data: [DONE]\n\n"))
}

fn message(answer: &Answer) -> Value {
    let [message] = &*values(answer) else { panic!("{answer:?}") };
    message.clone()
}

fn call(index: Value, id: Value, name: Value, arguments: &str) -> Value {
    let mut call = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    call.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    call["function"].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    json!({"tool_calls": [call]})
}

fn called(answer: &Answer) -> Vec<(String, String)> {
    let message = message(answer);
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls = calls.iter().map(|call| {
        assert_eq!((&call["type"], call.get("index")), (&json!("function"), None));
        (
            format!("{}:{}", call["id"], call["function"]["name"]),
            call["function"]["arguments"].as_str().unwrap().into(),
        )
    });
    calls.collect()
}

#[test]
fn text_calls_and_all_else_are_put_together() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8}}});
    let answer = stream(&[
        json!({"choices": [], "prompt_filter_results": []}),
        chunk(json!({"role": "assistant", "content": "", "refusal": null}), None),
        chunk(
            json!({"reasoning_content": "hm", "reasoning_details": [{"type": "t", "index": 0, "text": "a", "format": "f"}]}),
            None,
        ),
        chunk(
            json!({"reasoning_content": "m", "reasoning_details": [{"type": "t", "index": 0, "text": "b", "format": "f"}]}),
            None,
        ),
        chunk(json!({"content": "Good "}), None),
        chunk(json!({"content": "day"}), None),
        chunk(call(json!(0), json!("c1"), json!("look"), ""), None),
        chunk(call(json!(0), json!(null), json!(null), "{\"a\":"), None),
        chunk(call(json!(1), json!("c2"), json!("stop"), ""), None),
        chunk(call(json!(0), json!(null), json!(null), " 1}"), None),
        chunk(json!({"audio": {"id": "au", "data": "QU", "transcript": "x"}}), None),
        chunk(json!({"audio": {"data": "JD", "expires_at": 7}}), None),
        chunk(json!({}), Some("tool_calls")),
        usage,
    ]);
    let expected = json!({"role": "assistant", "content": "Good day", "reasoning_content": "hmm",
        "reasoning_details": [{"type": "t", "index": 0, "text": "ab", "format": "f"}],
        "audio": {"id": "au", "data": "QUJD", "transcript": "x", "expires_at": 7},
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"a\": 1}"}},
            {"id": "c2", "type": "function", "function": {"name": "stop", "arguments": ""}}]});
    assert_eq!(message(&answer), expected);
    let usage = Usage { input: Tokens(12), cache_read: Tokens(8), cache_write: Tokens(0), output: Tokens(5) };
    assert_eq!(answer.usage, Some(usage));
    assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("chatcmpl-1"), Some("gpt-x")));
    assert_eq!((answer.stop.as_deref(), answer.is_whole), (Some("tool_calls"), true));
}

#[test]
fn servers_that_number_calls_badly_are_understood() {
    let one = ("\"c1\":\"look\"".to_owned(), "{\"a\":1}".to_owned());
    let two = ("\"c2\":\"look\"".to_owned(), "{}".to_owned());
    let (first, second) = ("{\"a\":1}", "{}");
    let look = json!("look");
    let cases: [(&str, Vec<Value>); 4] = [
        (
            "every call has number 0",
            vec![
                call(json!(0), json!("c1"), look.clone(), first),
                call(json!(0), json!("c2"), look.clone(), second),
            ],
        ),
        (
            "no call has a number",
            vec![
                call(json!(null), json!("c1"), look.clone(), first),
                call(json!(null), json!("c2"), look.clone(), second),
            ],
        ),
        (
            "fragments without a number or an id",
            vec![
                call(json!(null), json!("c1"), look.clone(), ""),
                call(json!(null), json!(null), json!(null), "{\"a\""),
                call(json!(null), json!(null), json!(""), ":1}"),
                call(json!(null), json!("c2"), look.clone(), second),
            ],
        ),
        (
            "id and name are repeated",
            vec![
                call(json!(0), json!("c1"), look.clone(), "{\"a\""),
                call(json!(0), json!("c1"), look.clone(), ":1}"),
                call(json!(1), json!("c2"), look.clone(), second),
            ],
        ),
    ];
    for (habit, deltas) in cases {
        let chunks: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, None)).collect();
        let answer = stream(&chunks);
        assert_eq!(called(&answer), [one.clone(), two.clone()], "{habit}");
        assert!(message(&answer)["content"].is_null());
    }
    let both = json!({"tool_calls": [
        {"id": "c1", "function": {"name": "look", "arguments": first}},
        {"id": "c2", "function": {"name": "look", "arguments": second}}]});
    assert_eq!(called(&stream(&[chunk(both, Some("stop"))])), [one, two], "all in one chunk, without types");
}

#[test]
fn comments_and_odd_line_ends_do_not_matter() {
    let text = unnamed(&[chunk(json!({"content": "a"}), None), chunk(json!({"content": "b"}), Some("stop"))]);
    let text =
        format!(": OPENROUTER PROCESSING\n\n{}", text.replace("\n\n", "\n\n: OPENROUTER PROCESSING\n\n"));
    for text in [text.replace('\n', "\r\n"), text.replace("data: ", "data:"), text] {
        let answer = read(Dialect::Chat, true, &text);
        assert_eq!(message(&answer), json!({"role": "assistant", "content": "ab"}));
        assert!(answer.is_whole, "a reason to stop ends it without [DONE]");
    }
}

#[test]
fn only_the_first_choice_is_the_conversation() {
    let mut second = chunk(json!({"content": "other"}), Some("length"));
    second["choices"][0]["index"] = json!(1);
    let answer = stream(&[second.clone(), chunk(json!({"content": "this"}), Some("stop"))]);
    assert_eq!(message(&answer)["content"], "this");
    assert_eq!(answer.stop.as_deref(), Some("stop"));

    let body = r#"{"choices":[{"index":1,"message":{"content":"b"}},{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    assert_eq!(read(Dialect::Chat, false, body).messages, [r#"{"content":"a"}"#]);
}

#[test]
fn what_was_cut_is_kept_as_far_as_it_can_be_sent_back() {
    let said = chunk(json!({"role": "assistant", "content": "half"}), None);
    let cases = [
        (call(json!(0), json!("c"), json!("n"), "{\"a\":"), json!({"role": "assistant", "content": "half"})),
        (call(json!(0), json!("c"), json!("n"), ""), json!({"role": "assistant", "content": "half"})),
        (
            call(json!(0), json!("c"), json!("n"), "{}"),
            json!({"role": "assistant", "content": "half",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}]}),
        ),
        (
            json!({"function_call": {"name": "n", "arguments": "{\""}}),
            json!({"role": "assistant", "content": "half"}),
        ),
    ];
    for (delta, expected) in cases {
        let answer = read(Dialect::Chat, true, &unnamed(&[said.clone(), chunk(delta, None)]));
        assert_eq!(message(&answer), expected);
        assert!(!answer.is_whole);
    }
    let begun =
        read(Dialect::Chat, true, &unnamed(&[chunk(json!({"role": "assistant", "content": ""}), None)]));
    assert_eq!((begun.messages.len(), begun.is_whole), (0, false));
}

#[test]
fn arguments_that_the_model_wrote_badly_are_what_it_said() {
    let answer = stream(&[chunk(call(json!(0), json!("c"), json!("n"), "{oops"), Some("tool_calls"))]);
    assert_eq!(called(&answer), [("\"c\":\"n\"".to_owned(), "{oops".to_owned())]);
    assert!(answer.is_whole);
}

#[test]
fn errors_are_told_wherever_they_stand() {
    let error = json!({"error": {"message": "no", "code": 502}});
    let good = unnamed(&[chunk(json!({"content": "a"}), None)]);
    let mut failing = chunk(json!({"content": "b"}), Some("error"));
    failing["choices"][0]["error"] = error["error"].clone();
    let cases = [
        format!("{good}data: {error}\n\ndata: [DONE]\n\n"),
        format!("{good}{}", unnamed(&[failing])),
        format!("{good}event: error\ndata: {error}\n\n"),
    ];
    for text in cases {
        let answer = read(Dialect::Chat, true, &text);
        assert_eq!(answer.error, Some(error.to_string()), "{text}");
        assert_eq!((answer.messages.len(), answer.is_whole), (1, false));
    }
    for is_stream in [true, false] {
        let body = r#"{"error":"Trying to keep the first 6000 tokens"}"#;
        let answer = read(Dialect::Chat, is_stream, body);
        assert_eq!((answer.error.as_deref(), answer.messages.len()), (Some(body), 0));
    }
}

#[test]
fn content_in_parts_goes_on_as_text() {
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]);
    let answer = stream(&[
        chunk(json!({"content": ""}), None),
        chunk(json!({"content": thinking}), None),
        chunk(json!({"content": "Good "}), None),
        chunk(json!({"content": "day"}), Some("stop")),
    ]);
    let expected = json!([thinking[0], {"type": "text", "text": "Good day"}]);
    assert_eq!(message(&answer)["content"], expected);
}

#[test]
fn half_characters_meet_again() {
    let deltas = [r#""a\ud83d""#, r#""\ude00b""#, r#""\ud83d""#];
    let text: String = deltas
        .iter()
        .map(|content| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{content}}}}}]}}\n\n"))
        .collect();
    let answer = read(Dialect::Chat, true, &text);
    assert_eq!(message(&answer)["content"], "a\u{1F600}b\u{fffd}");
}

#[test]
fn what_came_at_once_is_copied() {
    let message =
        r#"{ "role":"assistant", "content":"caf\u00e9","refusal":null,"annotations":[],"x":1e400 }"#;
    let body = format!(
        r#"{{"id":"1","model":"m","choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":3,"completion_tokens":4,"prompt_cache_hit_tokens":2}}}}"#
    );
    let answer = read(Dialect::Chat, false, &body);
    assert_eq!(answer.messages, [message]);
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (Tokens(1), Tokens(2), Tokens(4)));
    assert!(answer.is_whole && answer.error.is_none());
}
