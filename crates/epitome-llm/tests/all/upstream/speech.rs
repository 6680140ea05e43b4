//! What the three APIs say: the same reply in three dialects, whole and as events.

use serde_json::{Value, json};

/// Which API a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Anthropic,
    Chat,
    Responses,
}

impl Api {
    pub(super) fn of(path: &str) -> Option<Self> {
        match path.split('?').next().unwrap_or_default() {
            "/v1/messages" | "/v1/messages/count_tokens" => Some(Self::Anthropic),
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/responses" => Some(Self::Responses),
            _ => None,
        }
    }
}

/// What a model replies.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    /// What it thinks before.
    pub(crate) thought: Option<String>,
    pub(crate) stop: Stop,
    /// The input tokens that are billed; from the length of the request where nothing is said.
    pub(crate) input: Option<u64>,
    /// So many of them come from the cache.
    pub(crate) cached: u64,
}

/// Why a model stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    End,
    MaxTokens,
    Declined,
    /// It calls a tool.
    Call,
    /// The window is full.
    Window,
}

impl Reply {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), thought: None, stop: Stop::End, input: None, cached: 0 }
    }

    pub(crate) fn thinking(mut self, thought: &str) -> Self {
        self.thought = Some(thought.to_owned());
        self
    }

    pub(crate) fn stopped(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    pub(crate) fn billed(mut self, input: u64, cached: u64) -> Self {
        (self.input, self.cached) = (Some(input), cached);
        self
    }

    fn input(&self, sent: usize) -> u64 {
        self.input.unwrap_or(sent as u64 / 4)
    }

    fn output(&self) -> u64 {
        self.text.split_whitespace().count() as u64
    }

    /// The text in words, as models stream it.
    fn words(&self) -> impl Iterator<Item = &str> {
        self.text.split_inclusive(' ')
    }

    fn reason(&self, api: Api) -> &'static str {
        match (api, self.stop) {
            (Api::Anthropic, Stop::End) => "end_turn",
            (Api::Anthropic, Stop::MaxTokens) => "max_tokens",
            (Api::Anthropic, Stop::Declined) => "refusal",
            (Api::Anthropic, Stop::Call) => "tool_use",
            (Api::Anthropic | Api::Chat, Stop::Window) => "model_context_window_exceeded",
            (Api::Chat, Stop::Call) => "tool_calls",
            (Api::Chat, Stop::End) => "stop",
            (Api::Chat, Stop::MaxTokens) => "length",
            (Api::Responses, Stop::MaxTokens | Stop::Window) => "max_output_tokens",
            (_, _) => "content_filter",
        }
    }

    fn usage(&self, api: Api, sent: usize) -> Value {
        let (input, output, cached) = (self.input(sent), self.output(), self.cached);
        match api {
            Api::Anthropic => json!({
                "input_tokens": input - cached, "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0, "output_tokens": output,
            }),
            Api::Chat => json!({
                "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
                "prompt_tokens_details": {"cached_tokens": cached},
            }),
            Api::Responses => json!({
                "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
                "input_tokens_details": {"cached_tokens": cached},
            }),
        }
    }
}

pub(super) fn whole(api: Api, reply: &Reply, sent: usize) -> String {
    let usage = reply.usage(api, sent);
    let body = match api {
        Api::Anthropic => {
            let thought = reply
                .thought
                .iter()
                .map(|thought| json!({"type": "thinking", "thinking": thought, "signature": "s"}));
            let said = json!({"type": "text", "text": reply.text});
            let content: Vec<Value> = thought.chain([said]).collect();
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "loopback", "content": content,
                "stop_reason": reply.reason(api), "stop_sequence": null, "usage": usage,
            })
        }
        Api::Chat => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "loopback",
            "choices": [{"index": 0, "finish_reason": reply.reason(api), "message": {
                "role": "assistant", "content": reply.text, "reasoning_content": reply.thought, "refusal": null,
            }}],
            "usage": usage,
        }),
        Api::Responses => response(reply, &usage),
    };
    body.to_string()
}

fn response(reply: &Reply, usage: &Value) -> Value {
    let thought = reply.thought.iter().map(|thought| {
        json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": thought}]})
    });
    let said = json!({"type": "output_text", "text": reply.text, "annotations": []});
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [said]});
    let call =
        json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": "{}"});
    let calls = (reply.stop == Stop::Call).then_some(call);
    let output: Vec<Value> = thought.chain([message]).chain(calls).collect();
    let is_whole = matches!(reply.stop, Stop::End | Stop::Call);
    let details = if is_whole { Value::Null } else { json!({"reason": reply.reason(Api::Responses)}) };
    json!({
        "id": "resp_1", "object": "response", "model": "loopback", "error": null, "output": output, "usage": usage,
        "status": if is_whole { "completed" } else { "incomplete" }, "incomplete_details": details,
    })
}

/// The events of a streamed reply, each with its lines and the empty one behind it.
pub(super) fn events(api: Api, reply: &Reply, sent: usize) -> Vec<String> {
    let usage = reply.usage(api, sent);
    match api {
        Api::Anthropic => named(&anthropic(reply, &usage)),
        Api::Responses => named(&responses(reply, &usage)),
        Api::Chat => chat(reply, &usage),
    }
}

/// As much of a stream as comes before it breaks: more than half, and not the end.
pub(super) fn beginning(events: &[String]) -> String {
    events[..events.len().saturating_sub(4).max(2)].concat()
}

fn named(events: &[Value]) -> Vec<String> {
    let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event))).collect()
}

fn anthropic(reply: &Reply, usage: &Value) -> Vec<Value> {
    let mut started = usage.clone();
    started["output_tokens"] = json!(1);
    let mut events = vec![
        json!({"type": "message_start", "message": {"model": "loopback", "content": [], "usage": started}}),
        json!({"type": "ping"}),
    ];
    let mut block = |kind: &str, field: &str, deltas: Vec<Value>| {
        let index = events.iter().filter(|event| event["type"] == "content_block_stop").count();
        events.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": kind, field: ""}}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    if let Some(thought) = &reply.thought {
        let thinking = json!({"type": "thinking_delta", "thinking": thought});
        block("thinking", "thinking", vec![thinking, json!({"type": "signature_delta", "signature": "s"})]);
    }
    block("text", "text", reply.words().map(|word| json!({"type": "text_delta", "text": word})).collect());
    let delta = json!({"stop_reason": reply.reason(Api::Anthropic), "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": reply.output()}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn responses(reply: &Reply, usage: &Value) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "response.created", "response": {"status": "in_progress", "error": null}}),
        json!({"type": "response.in_progress", "response": {"status": "in_progress", "error": null}}),
    ];
    let thought = reply.thought.iter();
    events.extend(
        thought.map(|thought| json!({"type": "response.reasoning_summary_text.delta", "delta": thought})),
    );
    events.extend(reply.words().map(|word| json!({"type": "response.output_text.delta", "delta": word})));
    events.push(json!({"type": "response.output_text.done", "text": reply.text}));
    let last = if matches!(reply.stop, Stop::End | Stop::Call) {
        "response.completed"
    } else {
        "response.incomplete"
    };
    events.push(json!({"type": last, "response": response(reply, usage)}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn chat(reply: &Reply, usage: &Value) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        json!({"object": "chat.completion.chunk", "model": "loopback", "choices": [choice], "usage": null})
    };
    let mut chunks = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let thought = reply.thought.iter();
    chunks.extend(thought.map(|thought| chunk(json!({"reasoning_content": thought}), Value::Null)));
    chunks.extend(reply.words().map(|word| chunk(json!({"content": word}), Value::Null)));
    chunks.push(chunk(json!({}), json!(reply.reason(Api::Chat))));
    chunks
        .push(json!({"object": "chat.completion.chunk", "model": "loopback", "choices": [], "usage": usage}));
    let mut lines: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    lines.push("data: [DONE]\n\n".to_owned());
    lines
}
