//! Made-up replies, once as a body and once as a stream.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{named, unnamed};

/// A reply in two forms that say the same.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) body: String,
    pub(super) stream: String,
}

fn word() -> impl Strategy<Value = String> {
    "[a-c \"\\\\\n\u{e9}\u{1F600}]{0,12}"
}

/// A text in fragments.
fn split() -> impl Strategy<Value = Vec<String>> {
    vec(word(), 1..4)
}

fn arguments() -> impl Strategy<Value = Value> {
    vec(("[ab]", word()), 0..3)
        .prop_map(|fields| fields.into_iter().map(|(key, value)| (key, json!(value))).collect())
}

fn fragments(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// A block, how it begins, and the deltas that it grows by.
fn anthropic_block() -> impl Strategy<Value = (Value, Value, Vec<Value>)> {
    let said = split().prop_map(|parts| {
        let deltas = parts.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
        (json!({"type": "text", "text": parts.concat()}), json!({"type": "text", "text": ""}), deltas)
    });
    let thought = split().prop_map(|parts| {
        let mut deltas: Vec<Value> =
            parts.iter().map(|text| json!({"type": "thinking_delta", "thinking": text})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": "s"}));
        let whole = json!({"type": "thinking", "thinking": parts.concat(), "signature": "s"});
        (whole, json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
    });
    let called = (arguments(), 1usize..9).prop_map(|(input, size)| {
        let written = if input == json!({}) { String::new() } else { input.to_string() };
        let deltas = fragments(&written, size);
        let deltas =
            deltas.iter().map(|json| json!({"type": "input_json_delta", "partial_json": json})).collect();
        let block = |input| json!({"type": "tool_use", "id": "t", "name": "n", "input": input});
        (block(input), block(json!({})), deltas)
    });
    prop_oneof![said, thought, called]
}

pub(super) fn anthropic() -> impl Strategy<Value = Reply> {
    vec(anthropic_block(), 1..5).prop_map(|blocks| {
        let mut events = vec![json!({"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}})];
        let mut content = Vec::new();
        for (index, (whole, begun, deltas)) in blocks.into_iter().enumerate() {
            content.push(whole);
            events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
            events.extend(deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}));
        events.push(json!({"type": "message_stop"}));
        let body = json!({"id": "m", "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}});
        Reply { body: body.to_string(), stream: named(&events) }
    })
}

pub(super) fn chat() -> impl Strategy<Value = Reply> {
    (split(), vec((arguments(), 1usize..9), 0..3)).prop_map(|(parts, calls)| {
        let chunk = |delta: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}))];
        chunks.extend(parts.iter().map(|text| chunk(json!({"content": text}))));
        let mut message = json!({"role": "assistant", "content": parts.concat(), "refusal": null});
        for (index, (arguments, size)) in calls.into_iter().enumerate() {
            let (id, written) = (format!("c{index}"), arguments.to_string());
            let call = |written: &str| json!({"id": id, "type": "function", "function": {"name": "n", "arguments": written}});
            let mut begun = call("");
            begun["index"] = json!(index);
            chunks.push(chunk(json!({"tool_calls": [begun]})));
            for piece in fragments(&written, size) {
                let more = json!({"index": index, "function": {"arguments": piece}});
                chunks.push(chunk(json!({"tool_calls": [more]})));
            }
            match message["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call(&written)),
                None => message["tool_calls"] = json!([call(&written)]),
            }
        }
        if message["content"] == "" && message["tool_calls"].is_array() {
            message["content"] = Value::Null;
        }
        let mut last = chunk(json!({}));
        last["choices"][0]["finish_reason"] = json!("stop");
        chunks.push(last);
        let body = json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        Reply { body: body.to_string(), stream: unnamed(&chunks) + "data: [DONE]\n\n" }
    })
}

pub(super) fn responses() -> impl Strategy<Value = Reply> {
    let item = prop_oneof![
        word().prop_map(|text| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})),
        arguments().prop_map(|input| json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": input.to_string()})),
        word().prop_map(|text| json!({"type": "reasoning", "summary": [], "encrypted_content": text})),
    ];
    vec(item, 1..5).prop_map(|items| {
        let response = json!({"id": "r", "status": "completed", "output": items});
        let mut events: Vec<Value> = items
            .iter()
            .enumerate()
            .flat_map(|(index, item)| {
                ["added", "done"].map(|kind| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item}))
            })
            .collect();
        events.push(json!({"type": "response.completed", "response": response}));
        Reply { body: response.to_string(), stream: named(&events) }
    })
}
