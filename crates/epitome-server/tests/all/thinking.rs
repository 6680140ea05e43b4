//! Thinking that is bound to everything before it: a server that refuses it wherever that has changed never shows its refusal to a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome::Dialect;
use serde_json::{Value, json};

use crate::house::{Agent, House, header, prose};
use crate::support::run;
use crate::upstream::{Act, Request, Upstream};

/// What a thought is bound to: instructions, tools, and every message before it.
fn signature(body: &Value, before: usize) -> String {
    let messages = &body["messages"].as_array().unwrap()[..before];
    let text = format!("{} {} {}", body["system"], body["tools"], json!(messages));
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("sig-{sum:016x}")
}

/// Where a thought stands that was thought of other words.
fn mismatch(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().unwrap();
    for (number, message) in messages.iter().enumerate() {
        for (place, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            if block["type"] == "thinking" && block["signature"] != json!(signature(body, number)) {
                return Some(format!("messages.{number}.content.{place}"));
            }
        }
    }
    None
}

fn answer(request: &Request) -> Act {
    let body = &request.body;
    if request.path.contains("count_tokens") {
        return match mismatch(body) {
            Some(place) => refusal(&place),
            None => {
                Act::Body("application/json", json!({"input_tokens": request.text.len() / 4}).to_string())
            }
        };
    }
    if let Some(place) = mismatch(body) {
        return refusal(&place);
    }
    let signature = signature(body, body["messages"].as_array().unwrap().len());
    let thought = json!({"type": "thinking", "thinking": "Let me see.", "signature": signature});
    let usage = json!({"input_tokens": request.text.len() / 4, "output_tokens": 9});
    if body["stream"] != true {
        let content = json!([thought, {"type": "text", "text": "Done."}]);
        let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": "end_turn", "usage": usage});
        return Act::Body("application/json", whole.to_string());
    }
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "model": body["model"],
            "content": [], "usage": usage}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me see."}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "signature_delta", "signature": thought["signature"]}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Done."}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let events = events.map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    Act::Body("text/event-stream", events.concat())
}

fn refusal(place: &str) -> Act {
    let said = format!(
        "{place}: this thinking block fails the conversation check: the messages before it have changed since it was created"
    );
    Act::refuse(400, "invalid_request_error", &said)
}

/// A server that binds thinking, and how often it refused some.
fn binding() -> (Upstream, Arc<AtomicUsize>) {
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    let upstream = Upstream::scripted(move |_, request| {
        let act = answer(request);
        if matches!(act, Act::Refuse(..)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        act
    });
    (upstream, refused)
}

/// One more question, and the whole reply taken into the history; what was sent is counted, too.
async fn ask(agent: &mut Agent, model: &str, system: &str, text: &str, is_streamed: bool) {
    agent.history.push(json!({"role": "user", "content": text}));
    let (url, mut body) = agent.request();
    (body["model"], body["stream"], body["system"]) = (json!(model), json!(is_streamed), json!(system));
    let response = reqwest::Client::new().post(&url).json(&body).send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let said = response.text().await.unwrap();
    assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""), "{model}: {said}");
    let content = match is_streamed {
        false => serde_json::from_str::<Value>(&said).unwrap()["content"].clone(),
        true => {
            let sealed = said.split("\"sig-").nth(1).unwrap();
            let signature = format!("sig-{}", sealed.split('"').next().unwrap());
            json!([{"type": "thinking", "thinking": "Let me see.", "signature": signature},
                {"type": "text", "text": "Done."}])
        }
    };
    agent.history.push(json!({"role": "assistant", "content": content}));
}

/// What the server says the next call would have, as its client asks it.
async fn count(agent: &Agent, model: &str) -> u16 {
    let (url, mut body) = agent.request();
    body["model"] = json!(model);
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "How much?"}));
    body.as_object_mut().unwrap().remove("max_tokens");
    let response =
        reqwest::Client::new().post(format!("{url}/count_tokens")).json(&body).send().await.unwrap();
    response.status().as_u16()
}

#[test]
fn models_that_bind_thinking_never_refuse_any() {
    never_refused("claude-fable-5-1");
}

#[test]
fn claudes_that_nobody_knows_never_refuse_any() {
    never_refused("claude-opus-9");
}

fn never_refused(model: &str) {
    run(async {
        for is_streamed in [false, true] {
            let (upstream, refused) = binding();
            let house = House::new(upstream, |_| {}).await;
            let mut agent = Agent::new(&house, Dialect::Anthropic);
            for number in 0..20 {
                let text = format!("Step {number}. {}", prose(number, 2_000));
                ask(&mut agent, model, "Be brief.", &text, is_streamed).await;
                assert_eq!(count(&agent, model).await, 200, "{model} {number}");
            }
            assert!(house.counted("compactions_total").await >= 1, "{model}");
            assert_eq!(refused.load(Ordering::Relaxed), 0, "{model} {is_streamed}");
            let sent = house.upstream.requests();
            assert!(sent.last().unwrap().text.contains("sig-"), "{model}: what was thought since stays");
        }
    });
}

#[test]
fn thinking_that_is_refused_is_left_out_from_then_on() {
    run(async {
        // Who is known to bind its thinking is remembered after a restart; who is not is found out again, by one more refusal.
        for (model, refusals) in [("claude-fable-5-1", 1), ("claude-opus-9", 1), ("of-the-house", 2)] {
            for is_streamed in [false, true] {
                let (upstream, refused) = binding();
                let mut house = House::new(upstream, |_| {}).await;
                let mut agent = Agent::new(&house, Dialect::Anthropic);
                for number in 0..3 {
                    ask(&mut agent, model, "Be brief.", &format!("Step {number}."), is_streamed).await;
                }
                assert_eq!(refused.load(Ordering::Relaxed), 0, "{model}");
                let mut sent = Vec::new();
                for number in 0..4 {
                    if number == 2 {
                        assert_eq!(house.counted("stripped_total").await, 1, "{model}");
                        let (folder, upstream) = house.close().await;
                        house = House::at(folder, upstream, |_| {}).await;
                        agent.url.clone_from(&house.url);
                    }
                    // Other instructions, and everything that was thought belongs to something else.
                    ask(&mut agent, model, "Be kind.", &format!("On {number}."), is_streamed).await;
                    sent.push(house.upstream.requests().pop().unwrap().text);
                }
                assert_eq!(refused.load(Ordering::Relaxed), refusals, "{model} {is_streamed}");
                for pair in sent.windows(2) {
                    let first = pair[0].rsplit_once("],").unwrap().0;
                    assert!(pair[1].starts_with(first), "{model}: {} and {}", pair[0], pair[1]);
                    assert!(!pair[1].contains("sig-"), "{model}: {}", pair[1]);
                }
                let all = house.recorded().await;
                let [(session, whole)] = all.as_slice() else { panic!("{model}: {}", all.len()) };
                assert_eq!(session.messages, 14, "{model}");
                assert_eq!(whole.matches("sig-").count(), 7, "{model}: what was thought is recorded");
            }
        }
    });
}
