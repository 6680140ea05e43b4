//! Replies of Anthropic Messages.

use epitome_core::{Tokens, Usage};
use epitome_wire::Dialect;
use epitome_wire::reply::Answer;
use serde_json::{Value, json};

use super::{named, read, values};

fn stream(events: &[Value]) -> Answer {
    read(Dialect::Anthropic, true, &named(events))
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 25, "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 11, "output_tokens": 1}}})
}

fn open(index: usize, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn text(index: usize, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn partial(index: usize, json: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
}

fn close(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ending(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 15}}),
        json!({"type": "message_stop"}),
    ]
}

fn content(answer: &Answer) -> Vec<Value> {
    let [message] = &*values(answer) else { return Vec::new() };
    assert_eq!(message["role"], "assistant");
    message["content"].as_array().unwrap().clone()
}

#[test]
fn every_kind_of_delta_is_put_together() {
    let mut events = vec![
        start(),
        json!({"type": "ping"}),
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Let me "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "see."})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQB"})),
        close(0),
        open(1, json!({"type": "redacted_thinking", "data": "xyz"})),
        close(1),
        open(2, json!({"type": "text", "text": ""})),
        text(2, "Now \""),
        delta(
            2,
            json!({"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "a"}}),
        ),
        delta(
            2,
            json!({"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "b"}}),
        ),
        text(2, "é\""),
        close(2),
        open(3, json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})),
        partial(3, ""),
        partial(3, "{\"at\": \"a \\\"q"),
        partial(3, "\\\" b\", \"n\": 12345678901234567890}"),
        close(3),
        open(4, json!({"type": "tool_use", "id": "toolu_2", "name": "stop", "input": {}})),
        partial(4, ""),
        close(4),
        open(5, json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}})),
        partial(5, "{\"query\":\"x\"}"),
        close(5),
        open(
            6,
            json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "x"}]}),
        ),
        close(6),
        open(7, json!({"type": "compaction", "content": null})),
        delta(7, json!({"type": "compaction_delta", "content": "so far", "encrypted_content": "E"})),
        close(7),
        open(8, json!({"type": "novel", "body": "a", "big": 1.50})),
        delta(8, json!({"type": "novel_delta", "body": "b", "more": [1]})),
        delta(8, json!({"type": "novel_delta", "more": [2], "body": null})),
        close(8),
    ];
    events.extend(ending("tool_use"));
    let answer = stream(&events);
    let expected = json!([
        {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "Now \"é\"", "citations": [
            {"type": "char_location", "cited_text": "a"}, {"type": "char_location", "cited_text": "b"}]},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "a \"q\" b", "n": 12345678901234567890_u64}},
        {"type": "tool_use", "id": "toolu_2", "name": "stop", "input": {}},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "x"}]},
        {"type": "compaction", "content": "so far", "encrypted_content": "E"},
        {"type": "novel", "body": "ab", "big": 1.5, "more": [1, 2]},
    ]);
    assert_eq!(Value::from(content(&answer)), expected);
    assert!(
        answer.messages[0].contains(r#"{"at": "a \"q\" b", "n": 12345678901234567890}"#),
        "as the model wrote it"
    );
    let usage =
        Usage { input: Tokens(25), cache_read: Tokens(11), cache_write: Tokens(7), output: Tokens(15) };
    assert_eq!(answer.usage, Some(usage));
    assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("msg_1"), Some("claude-x")));
    assert_eq!((answer.stop.as_deref(), answer.is_whole, answer.error), (Some("tool_use"), true, None));
}

#[test]
fn later_counts_replace_earlier_ones() {
    let mut last = ending("end_turn");
    last[0]["usage"] = json!({"input_tokens": 9, "cache_read_input_tokens": null, "output_tokens": 20});
    let usage = stream(&[vec![start()], last.to_vec()].concat()).usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (Tokens(9), Tokens(11), Tokens(20)));
}

#[test]
fn what_was_cut_is_kept_as_far_as_it_can_be_sent_back() {
    let tool = |index| open(index, json!({"type": "tool_use", "id": "t", "name": "n", "input": {}}));
    let said = vec![start(), open(0, json!({"type": "text", "text": ""})), text(0, "half a ")];
    let cases = [
        (vec![], json!([{"type": "text", "text": "half a "}])),
        (vec![close(0), tool(1), partial(1, "{\"a\":")], json!([{"type": "text", "text": "half a "}])),
        (vec![close(0), tool(1)], json!([{"type": "text", "text": "half a "}])),
        (
            vec![close(0), tool(1), partial(1, "{\"a\":1}")],
            json!([{"type": "text", "text": "half a "}, {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}]),
        ),
        (
            vec![close(0), open(1, json!({"type": "thinking", "thinking": "hm", "signature": ""}))],
            json!([{"type": "text", "text": "half a "}]),
        ),
        (
            vec![close(0), open(1, json!({"type": "text", "text": ""}))],
            json!([{"type": "text", "text": "half a "}]),
        ),
    ];
    for (more, expected) in cases {
        let answer = stream(&[said.clone(), more].concat());
        assert_eq!(Value::from(content(&answer)), expected);
        assert!(!answer.is_whole);
    }
    assert_eq!(stream(&[start()]).messages, [] as [&str; 0]);
}

#[test]
fn a_call_that_hit_the_limit_in_its_input_is_left_out() {
    let tool = open(0, json!({"type": "tool_use", "id": "t", "name": "n", "input": {}}));
    let answer = stream(
        &[vec![start(), tool, partial(0, "{\"a\":"), close(0)], ending("max_tokens").to_vec()].concat(),
    );
    assert_eq!((answer.messages.len(), answer.is_whole), (0, false));
    assert_eq!(answer.stop.as_deref(), Some("max_tokens"));
}

#[test]
fn an_error_after_a_good_start_is_told() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let events = [start(), open(0, json!({"type": "text", "text": ""})), text(0, "so"), error.clone()];
    let answer = stream(&events);
    assert_eq!(answer.error, Some(error.to_string()));
    assert_eq!(Value::from(content(&answer)), json!([{"type": "text", "text": "so"}]));
    assert!(!answer.is_whole);
}

#[test]
fn events_that_make_no_sense_are_passed_over() {
    let good = [
        vec![start(), open(0, json!({"type": "text", "text": ""})), text(0, "a")],
        ending("end_turn").to_vec(),
    ]
    .concat();
    let mut stream = String::new();
    let bad = [
        "data: {\n\n",
        "data: 1\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":9,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":7}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":null}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\"}\n\n",
        ": comment\n\n",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":[]}\n\n",
    ];
    for (event, bad) in good.iter().zip(bad.iter().cycle().skip(1)) {
        stream += &named(std::slice::from_ref(event));
        stream += bad;
    }
    stream += &bad.concat();
    let answer = read(Dialect::Anthropic, true, &stream);
    assert_eq!(Value::from(content(&answer)), json!([{"type": "text", "text": "a"}]));
    assert!(answer.is_whole);
}

#[test]
fn what_came_at_once_is_copied() {
    let body = r#" {"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[ {"type":"text", "text":"caf\u00e9"},
        {"type":"tool_use","id":"t","name":"n","input":{"big":1e400}} ],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}} "#;
    let answer = read(Dialect::Anthropic, false, body);
    let start = body.find('[').unwrap();
    let content = &body[start..=body.rfind(']').unwrap()];
    assert_eq!(answer.messages, [format!(r#"{{"role":"assistant","content":{content}}}"#)]);
    assert_eq!(answer.usage.unwrap().total_input(), Tokens(3));
    assert!(answer.is_whole);

    let answer = read(Dialect::Anthropic, true, body);
    assert_eq!(answer.messages.len(), 1, "a stream was expected, and JSON came");
    assert_eq!(read(Dialect::Anthropic, false, &body[..body.len() - 9]), Answer::default());
    let empty = read(Dialect::Anthropic, false, r#"{"content":[],"stop_reason":"end_turn"}"#);
    assert_eq!((empty.messages.len(), empty.is_whole), (0, true));
}

#[test]
fn the_model_that_answered_in_the_end_is_named() {
    let fallback =
        open(0, json!({"type": "fallback", "from": {"model": "claude-x"}, "to": {"model": "claude-y"}}));
    let answer = stream(&[vec![start(), fallback, close(0)], ending("end_turn").to_vec()].concat());
    assert_eq!(answer.model.as_deref(), Some("claude-y"));
}

#[test]
fn what_the_provider_took_out_of_the_request_is_told() {
    let cleared = json!({"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 4, "cleared_input_tokens": 9000}]});
    let none = json!({"applied_edits": []});
    let dropped = json!([{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}]);
    let allowed = json!([{"type": "thinking_mismatch_allowed", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}]);
    let cases = [
        (Value::Null, Value::Null, None),
        (none.clone(), Value::Null, Some(false)),
        (cleared.clone(), Value::Null, Some(true)),
        (none, dropped.clone(), Some(true)),
        (cleared, allowed.clone(), Some(true)),
        (Value::Null, dropped, Some(true)),
        (Value::Null, allowed, Some(false)),
    ];
    for (edits, transformed, expected) in cases {
        let reply = json!({"id": "msg_1", "role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": "a"}],
            "context_management": edits, "input_transformations": transformed});
        assert_eq!(read(Dialect::Anthropic, false, &reply.to_string()).is_edited, expected, "{reply}");
        let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1},
            "context_management": edits, "input_transformations": transformed});
        let events = [start(), open(0, json!({"type": "text", "text": "a"})), close(0), end];
        assert_eq!(stream(&events).is_edited, expected, "{reply}");
    }
}
