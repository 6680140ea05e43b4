//! Replies of OpenAI Responses.

use epitome_core::{Tokens, Usage};
use epitome_wire::Dialect;
use epitome_wire::reply::Answer;
use serde_json::{Value, json};

use super::{named, read, values};

fn stream(events: &[Value]) -> Answer {
    read(Dialect::Responses, true, &named(events))
}

fn created() -> Value {
    json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "model": "gpt-x", "status": "in_progress", "output": []}})
}

fn added(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn last(kind: &str, response: Value) -> Value {
    json!({"type": format!("response.{kind}"), "response": response})
}

fn items() -> Vec<Value> {
    vec![
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}),
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Good day", "annotations": []}]}),
        json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{\"a\":1}", "status": "completed"}),
    ]
}

#[test]
fn items_are_those_that_were_done() {
    let mut events = vec![created()];
    for (index, item) in items().into_iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        events.extend([added(index, begun), done(index, item)]);
    }
    let usage = json!({"input_tokens": 30, "input_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 5}, "output_tokens": 6});
    for output in [json!(items()), json!([]), Value::Null] {
        let response = json!({"id": "resp_1", "model": "gpt-x", "status": "completed", "error": null, "output": output, "usage": usage});
        let answer = stream(&[events.clone(), vec![last("completed", response)]].concat());
        assert_eq!(values(&answer), items());
        let billed =
            Usage { input: Tokens(15), cache_read: Tokens(10), cache_write: Tokens(5), output: Tokens(6) };
        assert_eq!(answer.usage, Some(billed));
        assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("resp_1"), Some("gpt-x")));
        assert_eq!((answer.stop.as_deref(), answer.is_whole), (Some("completed"), true));
    }
    let alone = last("completed", json!({"status": "completed", "output": items()}));
    assert_eq!(values(&stream(&[created(), alone])), items(), "the last event repeats them");
}

#[test]
fn an_incomplete_reply_has_ended_by_itself() {
    let response =
        json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []});
    let answer = stream(&[done(0, items()[1].clone()), last("incomplete", response)]);
    assert_eq!((answer.stop.as_deref(), answer.is_whole), (Some("max_output_tokens"), true));
}

#[test]
fn what_was_cut_is_kept_as_far_as_it_can_be_sent_back() {
    let message =
        json!({"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []});
    let call = json!({"type": "function_call", "id": "f", "call_id": "c", "name": "n", "arguments": "", "status": "in_progress"});
    let part = json!({"type": "response.content_part.added", "output_index": 0, "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}});
    let text = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text});
    let said = json!({"type": "message", "id": "m", "role": "assistant", "status": "incomplete",
        "content": [{"type": "output_text", "text": "half a", "annotations": []}]});
    let arguments = |kind: &str, key: &str, value: &str| json!({"type": format!("response.function_call_arguments.{kind}"), "output_index": 0, key: value});
    let mut called = call.clone();
    called["arguments"] = json!("{}");
    called["status"] = json!("completed");
    let cases = [
        (vec![added(0, message.clone()), part.clone(), text("half "), text("a")], vec![said.clone()]),
        (vec![added(0, message.clone()), part], vec![]),
        (vec![added(0, call.clone()), arguments("delta", "delta", "{")], vec![]),
        (
            vec![added(0, call), arguments("delta", "delta", "{}"), arguments("done", "arguments", "{}")],
            vec![called],
        ),
        (vec![added(0, json!({"type": "reasoning", "id": "r", "summary": []}))], vec![]),
    ];
    for (events, expected) in cases {
        let answer = stream(&events);
        assert_eq!(values(&answer), expected);
        assert!(!answer.is_whole);
    }
    let mut bare = said;
    bare["content"][0].as_object_mut().unwrap().remove("annotations");
    assert_eq!(values(&stream(&[added(0, message), text("half a")])), [bare], "no part was announced");
}

#[test]
fn failures_are_told() {
    let error =
        json!({"code": "context_length_exceeded", "message": "Your input exceeds the context window"});
    let failed = last("failed", json!({"status": "failed", "error": error, "output": [], "usage": null}));
    let answer = stream(&[created(), failed]);
    assert_eq!(answer.error, Some(json!({"error": error}).to_string()));
    assert_eq!((answer.is_whole, answer.stop.as_deref()), (false, Some("failed")));

    let event = json!({"type": "error", "code": "server_error", "message": "no", "param": null});
    assert_eq!(stream(&[created(), event.clone()]).error, Some(event.to_string()));
    let body = json!({"error": error}).to_string();
    assert_eq!(read(Dialect::Responses, false, &body).error, Some(body));
}

#[test]
fn what_came_at_once_is_copied() {
    let item =
        r#"{ "type":"message","role":"assistant","content":[{"type":"output_text","text":"caf\u00e9"}] }"#;
    let body =
        format!(r#"{{"id":"r","status":"completed","error":null,"output":[ {item} , {{"type":"new"}}]}}"#);
    let answer = read(Dialect::Responses, false, &body);
    assert_eq!(answer.messages, [item, r#"{"type":"new"}"#]);
    assert!(answer.is_whole);
    assert!(!read(Dialect::Responses, false, r#"{"status":"in_progress","output":[]}"#).is_whole);
}
