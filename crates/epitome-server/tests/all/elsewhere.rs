//! Conversations that their provider holds: only what is new is sent, and it is recorded as one session, never changed.

use std::sync::atomic::{AtomicUsize, Ordering};

use epitome::Tokens;
use serde_json::{Value, json};

use crate::house::{House, header, prose};
use crate::support::run;
use crate::upstream::{Act, Upstream};

/// A server whose replies have ids of their own.
fn numbered() -> Upstream {
    let replies = AtomicUsize::new(1);
    Upstream::scripted(move |_, request| {
        let number = replies.fetch_add(1, Ordering::Relaxed);
        Act::Body("application/json", reply(&request.path, number).to_string())
    })
}

fn reply(path: &str, number: usize) -> Value {
    let text = format!("Answer {number}.");
    match path {
        "/v1/messages" => json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 3},
        }),
        _ => {
            let said = json!({"type": "output_text", "text": text, "annotations": []});
            json!({
                "id": format!("resp_{number}"), "object": "response", "model": "m", "error": null,
                "status": "completed", "usage": {"input_tokens": 9, "output_tokens": 3},
                "output": [{"type": "message", "id": format!("m_{number}"), "role": "assistant",
                    "status": "completed", "content": [said]}],
            })
        }
    }
}

/// How a client asks, on from the reply of this number; from nothing where it is none.
type Ask = fn(usize, &str) -> Value;

/// Where it asks, how, and how its provider is told.
const WAYS: [(&str, &str, Ask); 3] = [
    ("thread", "/v1/messages", |behind, text| {
        let thread = match behind {
            0 => json!({"type": "create"}),
            _ => json!({"type": "continue", "previous_message_id": format!("msg_{behind}")}),
        };
        let messages = json!([{"role": "user", "content": text}]);
        json!({"model": "m", "max_tokens": 9, "messages": messages, "thread": thread})
    }),
    ("previous_response_id", "/v1/responses", |behind, text| {
        let before = if behind == 0 { Value::Null } else { json!(format!("resp_{behind}")) };
        json!({"model": "m", "input": text, "previous_response_id": before})
    }),
    (
        "conversation",
        "/v1/responses",
        |_, text| json!({"model": "m", "input": [{"role": "user", "content": text}], "conversation": {"id": "conv_1"}}),
    ),
];

#[test]
fn what_goes_on_from_a_reply_is_recorded_behind_it() {
    run(async {
        for (way, path, ask) in WAYS {
            let mut house = House::new(numbered(), |_| {}).await;
            let mut ids = Vec::new();
            for number in 0..5 {
                if number == 3 {
                    let (folder, upstream) = house.close().await;
                    house = House::at(folder, upstream, |_| {}).await;
                }
                let body = ask(number, &format!("Question {number}.")).to_string();
                let (headers, status, answer) = house.post(path, &body).await;
                assert_eq!(status, 200, "{way}");
                assert!(answer.contains(&format!("Answer {}.", number + 1)), "{way}: {answer}");
                assert_eq!(house.upstream.requests().pop().unwrap().text, body, "{way}");
                assert_eq!(header(&headers, "x-epitome-compaction"), "none", "{way}");
                ids.push(header(&headers, "x-epitome-session").to_owned());
            }
            ids.dedup();
            assert_eq!(ids.len(), 1, "{way}: {ids:?}");
            let recorded = house.recorded().await;
            let [(session, whole)] = recorded.as_slice() else { panic!("{way}: {recorded:?}") };
            assert_eq!((session.messages, session.turns), (10, 5), "{way}");
            let said = |text: String| whole.find(&text).unwrap_or_else(|| panic!("{way}: {text} in {whole}"));
            let places: Vec<usize> = (0..5)
                .flat_map(|at| [said(format!("Question {at}.")), said(format!("Answer {}.", at + 1))])
                .collect();
            assert!(places.is_sorted(), "{way}: {whole}");
        }
    });
}

#[test]
fn what_goes_on_twice_from_one_reply_forks_and_what_is_tried_again_does_not() {
    run(async {
        for (way, path, ask) in WAYS.into_iter().filter(|(way, ..)| *way != "conversation") {
            let refused = std::sync::atomic::AtomicBool::new(false);
            let replies = AtomicUsize::new(1);
            let upstream = Upstream::scripted(move |_, request| {
                if request.text.contains("Flaky") && !refused.swap(true, Ordering::Relaxed) {
                    return Act::refuse(529, "overloaded_error", "Overloaded");
                }
                let number = replies.fetch_add(1, Ordering::Relaxed);
                Act::Body("application/json", reply(&request.path, number).to_string())
            });
            let house = House::new(upstream, |_| {}).await;
            let call = async |behind, text: &str| {
                let (headers, status, _) = house.post(path, &ask(behind, text).to_string()).await;
                let told = |name| header(&headers, name).to_owned();
                (status, told("x-epitome-session"), told("x-epitome-turn"))
            };
            let (_, first, _) = call(0, "Begin.").await;
            let (status, failed, turn) = call(1, "Flaky question.").await;
            assert_eq!(status, 529, "{way}");
            let (status, again, same) = call(1, "Flaky question.").await;
            assert_eq!((status, &again, &same), (200, &failed, &turn), "{way}: the same turn");
            assert_eq!(first, again, "{way}");
            let (_, other, _) = call(1, "Another question.").await;
            assert_ne!(other, first, "{way}: from the same reply, another way");
            let (_, on, _) = call(3, "And on there.").await;
            assert_eq!(on, other, "{way}");
            let recorded = house.recorded().await;
            let mut lengths: Vec<u64> = recorded.iter().map(|(session, _)| session.messages).collect();
            lengths.sort_unstable();
            assert_eq!(lengths, [4, 6], "{way}");
            assert_eq!(recorded.iter().filter(|(session, _)| session.origin.is_some()).count(), 1, "{way}");
        }
    });
}

#[test]
fn what_the_provider_holds_is_never_compacted() {
    run(async {
        let (_, path, ask) = WAYS[1];
        let house = House::new(numbered(), |keeping| keeping.window = Some(Tokens(8_000))).await;
        let mut ids = Vec::new();
        for number in 0..12 {
            let text = format!("Step {number}. {}", prose(number, 1_200));
            let body = ask(number, &text).to_string();
            let (headers, _, _) = house.post(path, &body).await;
            ids.push(header(&headers, "x-epitome-session").to_owned());
            assert_eq!(house.upstream.requests().pop().unwrap().text, body);
        }
        ids.dedup();
        assert_eq!(ids.len(), 1);
    });
}

#[test]
fn what_nobody_knows_begins_a_session_of_its_own() {
    run(async {
        let (_, path, ask) = WAYS[1];
        let house = House::new(numbered(), |_| {}).await;
        let mut ids = Vec::new();
        for behind in [7_001, 7_002] {
            let (headers, status, _) = house.post(path, &ask(behind, "Continue.").to_string()).await;
            assert_eq!(status, 200);
            ids.push(header(&headers, "x-epitome-session").to_owned());
        }
        assert_ne!(ids[0], ids[1]);
        assert_eq!(house.recorded().await.len(), 2);
    });
}

#[test]
fn what_is_answered_in_the_background_is_gone_on_from_in_the_same_session() {
    run(async {
        let upstream = Upstream::scripted(|number, request| {
            let queued = json!({"id": format!("resp_{}", number + 1), "object": "response", "model": "m", "background": true,
                "status": "queued", "error": null, "output": [], "usage": null});
            match request.body["background"] == true {
                true => Act::Body("application/json", queued.to_string()),
                false => Act::Body("application/json", reply(&request.path, number + 1).to_string()),
            }
        });
        let mut house = House::new(upstream, |_| {}).await;
        let mut ids = Vec::new();
        for number in 0..4 {
            if number == 3 {
                let (folder, upstream) = house.close().await;
                house = House::at(folder, upstream, |_| {}).await;
            }
            let before = if number == 0 { Value::Null } else { json!(format!("resp_{number}")) };
            let body = json!({"model": "m", "input": format!("Question {number}."), "background": number != 1,
                "previous_response_id": before});
            let (headers, status, _) = house.post("/v1/responses", &body.to_string()).await;
            assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""), "{number}");
            ids.push(header(&headers, "x-epitome-session").to_owned());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        let recorded = house.recorded().await;
        let [(session, whole)] = recorded.as_slice() else { panic!("{recorded:?}") };
        assert_eq!(session.messages, 5, "four questions and the answer that came at once");
        assert!((0..4).all(|number| whole.contains(&format!("Question {number}."))), "{whole}");
    });
}
