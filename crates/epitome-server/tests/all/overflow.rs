//! Refusals that come otherwise than as a plain 400: in a stream, packed, behind a good status. All are answered by less.

use std::io::Write;

use epitome::{Dialect, Tokens};
use serde_json::json;

use crate::house::{Agent, House, header, prose};
use crate::support::run;
use crate::upstream::{Act, Upstream};

const STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn refusals() -> Vec<(&'static str, Dialect, Act)> {
    let words =
        "Your input exceeds the context window of this model. Please adjust your input and try again.";
    let error = json!({"code": "context_length_exceeded", "message": words});
    let created = json!({"type": "response.created", "response": {"id": "r", "error": null}});
    let progress = json!({"type": "response.in_progress", "response": {"id": "r", "error": null}});
    let failed =
        json!({"type": "response.failed", "response": {"id": "r", "status": "failed", "error": error}});
    let told =
        json!({"type": "error", "code": "context_length_exceeded", "message": words, "param": "input"});
    let event =
        |event: &serde_json::Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    let begun = format!("{}{}", event(&created), event(&progress));
    let too_long = "prompt is too long: 40000 tokens > 20000 maximum";
    let anthropic = json!({"type": "error", "error": {"type": "invalid_request_error", "message": too_long}});
    let chat = json!({"error": error});
    vec![
        ("failed", Dialect::Responses, Act::Body(STREAM, format!("{begun}{}", event(&failed)))),
        ("an error event", Dialect::Responses, Act::Body(STREAM, format!("{begun}{}", event(&told)))),
        ("at once", Dialect::Anthropic, Act::Body(STREAM, event(&anthropic))),
        (
            "behind a ping",
            Dialect::Anthropic,
            Act::Body(STREAM, format!("event: ping\ndata: {{\"type\":\"ping\"}}\n\n{}", event(&anthropic))),
        ),
        ("a chunk", Dialect::Chat, Act::Body(STREAM, format!("data: {chat}\n\ndata: [DONE]\n\n"))),
        ("a good status", Dialect::Chat, Act::Body(JSON, chat.to_string())),
        ("packed, a good status", Dialect::Chat, Act::Packed(gzip(&chat.to_string()))),
        ("plain JSON for a stream", Dialect::Chat, Act::Body(STREAM, chat.to_string())),
    ]
}

#[test]
fn every_refusal_for_size_is_answered_by_less_within_the_same_call() {
    run(async {
        for (what, dialect, refusal) in refusals() {
            let upstream = Upstream::scripted(move |_, request| match request.text.len() > 60_000 {
                true => refusal.clone(),
                false => Act::say("Fine."),
            });
            let house = House::new(upstream, |keeping| keeping.window = Some(Tokens(200_000))).await;
            let mut agent = Agent::new(&house, dialect);
            for number in 0..12 {
                let (headers, status) = agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
                let told = header(&headers, "x-epitome-error");
                assert_eq!((status, told), (200, ""), "{what} {dialect} {number}");
                let said = agent.history.last().unwrap().to_string();
                assert!(said.contains("Fine."), "{what} {dialect} {number}: {said}");
            }
            let refused =
                house.upstream.requests().iter().filter(|request| request.text.len() > 60_000).count();
            assert!((1..12).contains(&refused), "{what} {dialect}: {refused}");
            assert!(house.counted("overflows_total").await >= 1, "{what} {dialect}");
            assert!(house.counted("compactions_total").await >= 1, "{what} {dialect}");
            assert!(house.counted("saved_tokens_total").await > 1_000, "{what} {dialect}");
        }
    });
}

#[test]
fn what_is_refused_for_something_else_passes_as_it_is() {
    run(async {
        let limited = json!({"type": "response.failed",
            "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Slow down."}}});
        let created = json!({"type": "response.created", "response": {"error": null}});
        let stream = format!(
            "event: response.created\ndata: {created}\n\nevent: response.failed\ndata: {limited}\n\n"
        );
        let house = House::new(Upstream::new(vec![Act::Body(STREAM, stream.clone())]), |_| {}).await;
        let (_, status, text) =
            house.post("/v1/responses", r#"{"model":"m","input":"x","stream":true}"#).await;
        assert_eq!((status, text), (200, stream));
        assert_eq!(house.upstream.requests().len(), 1);
    });
}

#[test]
fn three_refusals_are_enough() {
    run(async {
        let refusal = Act::refuse(400, "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum");
        let house = House::new(Upstream::new(vec![refusal]), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..6 {
            agent
                .history
                .push(json!({"role": "user", "content": format!("Step {number}. {}", prose(number, 900))}));
            agent.history.push(json!({"role": "assistant", "content": "Noted."}));
        }
        agent.history.push(json!({"role": "user", "content": "And now?"}));
        let (_, status, answer) = agent.call().await;
        assert_eq!((status, answer["type"].as_str()), (400, Some("error")));
        let attempts = house.upstream.requests();
        assert!((2..=4).contains(&attempts.len()), "{}", attempts.len());
        assert!(attempts.windows(2).all(|pair| pair[1].text.len() < pair[0].text.len()));
    });
}
