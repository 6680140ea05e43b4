//! What a model says, in each dialect: as its client sends it back, as a whole answer, and as events.

use epitome::Dialect;

/// A message of the model, as clients send it back.
pub(crate) fn reply(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Anthropic => {
            format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#)
        }
        Dialect::Chat => format!(r#"{{"role":"assistant","content":"{text}","refusal":null}}"#),
        _ => format!(
            r#"{{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
        ),
    }
}

/// The media type and the body of an answer that says this, in odd spacing.
pub(crate) fn answer(dialect: Dialect, is_streamed: bool, text: &str) -> (&'static str, String) {
    let whole = whole(dialect, text);
    if !is_streamed {
        return ("application/json", whole);
    }
    let events = match dialect {
        Dialect::Anthropic => anthropic(text),
        Dialect::Chat => chat(text),
        _ => {
            let said = reply(dialect, text);
            [
                r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress"}}"#.to_owned(),
                format!(r#"{{"type":"response.output_item.done","sequence_number":1,"output_index":0,"item":{said}}}"#),
                format!(r#"{{"type":"response.completed","sequence_number":2,"response":{whole}}}"#),
            ]
            .map(|event| format!("data: {event}\n\n"))
            .concat()
        }
    };
    ("text/event-stream; charset=utf-8", events)
}

fn whole(dialect: Dialect, text: &str) -> String {
    let (said, usage) = (reply(dialect, text), r#"{"input_tokens":10,"output_tokens":3,"x_new":1.0}"#);
    match dialect {
        Dialect::Anthropic => format!(
            "{{ \"id\":\"msg_1\",\"type\":\"message\",\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{usage},{}\n",
            said.trim_start_matches('{')
        ),
        Dialect::Chat => format!(
            "{{\n \"id\":\"c_1\",\"object\":\"chat.completion\",\"choices\":[{{\"index\":0,\"finish_reason\":\"stop\",\"message\":{said}}}] }}\n"
        ),
        _ => format!(
            "{{ \"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"output\":[{said}],\"usage\":{usage} }}"
        ),
    }
}

fn anthropic(text: &str) -> String {
    let delta = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
    );
    let events = [
        (
            "message_start",
            r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#,
        ),
        (
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        ),
        ("ping", r#"{"type": "ping"}"#),
        ("content_block_delta", &delta),
        ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        (
            "message_delta",
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
        ),
        ("message_stop", r#"{"type":"message_stop"}"#),
    ];
    events.map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).concat()
}

fn chat(text: &str) -> String {
    let chunk = |choice: &str| {
        format!("data: {{\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,{choice}}}]}}\n\n")
    };
    [
        ": PROCESSING\n\n".to_owned(),
        chunk(r#""delta":{"role":"assistant","content":""}"#),
        chunk(&format!(r#""delta":{{"content":"{text}"}}"#)),
        chunk(r#""delta":{},"finish_reason":"stop""#),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}
