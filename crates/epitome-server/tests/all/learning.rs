//! What bills and endings of answers teach about the window: what the provider cut, and nothing where it was asked to leave something out.

use std::sync::Arc;

use epitome::ledger::{Ledger, Options, Paging};
use epitome::{Dialect, Tokens};
use serde_json::{Value, json};

use crate::house::{Agent, House, header, prose};
use crate::support::run;
use crate::upstream::{Act, Reply, Request, Upstream};

const JSON: &str = "application/json";

/// How many windows of models a ledger believes to be other than they are said to be.
async fn learnt(folder: &tempfile::TempDir) -> usize {
    let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let tenants: Vec<_> = {
        let engine = epitome::Engine::builder().ledger(ledger.clone()).build().await.unwrap();
        vec![engine.tenant()]
    };
    let mut count = 0;
    for tenant in tenants {
        count += ledger.memos(tenant, "window", Paging::first(100)).await.unwrap().items.len();
    }
    ledger.close().await;
    count
}

/// A server that bills the same little whatever it is sent.
fn cheap(edits: Value) -> Upstream {
    Upstream::scripted(move |number, request| Act::Body(JSON, answer(request, number, &edits).to_string()))
}

fn answer(request: &Request, number: usize, edits: &Value) -> Value {
    let usage =
        json!({"input_tokens": 3_000, "prompt_tokens": 3_000, "output_tokens": 9, "completion_tokens": 9});
    match request.path.as_str() {
        "/v1/messages" => json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "m", "usage": usage,
            "content": [{"type": "text", "text": "Noted."}], "stop_reason": "end_turn", "context_management": edits,
        }),
        "/v1/chat/completions" => json!({
            "id": "c", "object": "chat.completion", "model": "m", "usage": usage,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Noted."}}],
        }),
        _ => json!({
            "id": format!("resp_{number}"), "object": "response", "model": "m", "status": "completed", "usage": usage,
            "output": [{"type": "message", "id": format!("m_{number}"), "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Noted.", "annotations": []}]}],
        }),
    }
}

#[test]
fn what_the_provider_leaves_out_says_nothing_about_its_window() {
    let clearing = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
    let compacting = json!({"edits": [{"type": "compact_20260112"}]});
    let (untold, none) = (Value::Null, json!({"applied_edits": []}));
    let some =
        json!({"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_input_tokens": 9_000}]});
    let nothing = json!({});
    let cases = [
        ("nothing is asked for", Dialect::Anthropic, nothing.clone(), untold.clone(), 1),
        ("asked for, and none made", Dialect::Anthropic, json!({"context_management": clearing}), none, 1),
        ("asked for, and made", Dialect::Anthropic, json!({"context_management": clearing}), some.clone(), 0),
        (
            "asked for, and not told",
            Dialect::Anthropic,
            json!({"context_management": clearing}),
            untold.clone(),
            0,
        ),
        ("made unasked", Dialect::Anthropic, nothing.clone(), some, 0),
        ("compaction", Dialect::Anthropic, json!({"context_management": compacting}), untold.clone(), 0),
        ("nothing is asked for", Dialect::Responses, nothing.clone(), untold.clone(), 1),
        ("truncation", Dialect::Responses, json!({"truncation": "auto"}), untold.clone(), 0),
        ("nothing is asked for", Dialect::Chat, nothing, untold.clone(), 1),
        ("transforms", Dialect::Chat, json!({"transforms": ["middle-out"]}), untold, 0),
    ];
    run(async {
        for (what, dialect, asked, edits, expected) in cases {
            let house = House::new(cheap(edits), |keeping| keeping.window = Some(Tokens(200_000))).await;
            let mut agent = Agent::new(&house, dialect);
            for number in 0..4 {
                agent
                    .history
                    .push(json!({"role": "user", "content": format!("{number} {}", prose(number, 3_000))}));
                let (url, mut body) = agent.request();
                for (name, value) in asked.as_object().unwrap() {
                    body[name] = value.clone();
                }
                let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
                assert_eq!(header(response.headers(), "x-epitome-error"), "", "{what} {dialect}");
                let said: Value = response.json().await.unwrap();
                match dialect {
                    Dialect::Anthropic => {
                        agent.history.push(json!({"role": "assistant", "content": said["content"]}))
                    }
                    Dialect::Chat => agent.history.push(said["choices"][0]["message"].clone()),
                    _ => agent.history.extend(said["output"].as_array().cloned().unwrap()),
                }
            }
            let cut = house.counted("cut_inputs_total").await;
            assert_eq!(cut > 0, expected > 0, "{what} {dialect}: {cut}");
            let (folder, _upstream) = house.close().await;
            assert_eq!(learnt(&folder).await, expected, "{what} {dialect}");
        }
    });
}

#[test]
fn what_the_provider_holds_says_nothing_about_its_window() {
    run(async {
        let house = House::new(cheap(Value::Null), |keeping| keeping.window = Some(Tokens(200_000))).await;
        for number in 0..4 {
            let before = if number == 0 { Value::Null } else { json!(format!("resp_{}", number - 1)) };
            let body = json!({"model": "m", "input": prose(number, 6_000), "previous_response_id": before});
            house.post("/v1/responses", &body.to_string()).await;
        }
        assert_eq!(house.counted("cut_inputs_total").await, 1, "the first call holds all that was said");
        let (folder, _upstream) = house.close().await;
        // The first was cut indeed; the others repeat nothing of it.
        assert_eq!(learnt(&folder).await, 1);
    });
}

#[test]
fn what_was_recorded_late_says_nothing_about_the_window() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let spool = folder.path().join("spool");
        std::fs::create_dir_all(&spool).unwrap();
        let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": prose(1, 12_000)}]});
        let said = json!({"role": "assistant", "content": "Noted."}).to_string();
        let entry = json!({
            "id": "late", "tenant": epitome::TenantId::LOCAL, "dialect": Dialect::Anthropic.to_string(), "model": "m",
            "agent": "proxy", "name": null, "body": body.to_string(),
            "reply": {"messages": [said], "is_whole": true, "model": "m", "usage": [3_000, 0, 0, 9]},
        });
        std::fs::write(spool.join("late.json"), entry.to_string()).unwrap();
        let upstream = Upstream::new(vec![Act::say("Noted.")]);
        let house = House::at(folder, upstream, |keeping| keeping.window = Some(Tokens(200_000))).await;
        while house.counted("spool_depth").await > 0 {
            tokio::task::yield_now().await;
        }
        let (folder, _upstream) = house.close().await;
        assert_eq!(learnt(&folder).await, 0);
        let left: Vec<_> = std::fs::read_dir(folder.path().join("spool")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

async fn roomy(upstream: Upstream) -> House {
    House::new(upstream, |keeping| keeping.window = Some(Tokens(200_000))).await
}

#[test]
fn an_answer_that_the_end_of_the_window_broke_off_makes_the_next_call_smaller() {
    run(async {
        for is_streamed in [false, true] {
            let upstream = Upstream::scripted(move |number, _| {
                let stop = if number == 5 { "model_context_window_exceeded" } else { "end_turn" };
                let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                    "content": [{"type": "text", "text": "Noted."}], "stop_reason": stop,
                    "usage": {"input_tokens": 9, "output_tokens": 3}});
                let begun = json!({"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": [],
                    "usage": {"input_tokens": 9, "output_tokens": 1}}});
                let block = json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "text", "text": "Noted."}});
                let end = json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}});
                let events = [begun, block, end, json!({"type": "message_stop"})]
                    .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
                match is_streamed {
                    true => Act::Body("text/event-stream", events.concat()),
                    false => Act::Body(JSON, whole.to_string()),
                }
            });
            let house = roomy(upstream).await;
            let lines = Arc::clone(&house.lines);
            let mut agent = Agent::new(&house, Dialect::Anthropic);
            for number in 0..7 {
                let said = format!("Step {number}. {}", prose(number, 1_000));
                agent.history.push(json!({"role": "user", "content": said}));
                let (url, mut body) = agent.request();
                body["stream"] = json!(is_streamed);
                let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
                response.text().await.unwrap();
                agent.history.push(json!({"role": "assistant", "content": "Noted."}));
                // What was learnt is known before the next call.
                while lines.lock().unwrap().len() <= number {
                    tokio::task::yield_now().await;
                }
            }
            let sizes: Vec<usize> =
                house.upstream.requests().iter().map(|request| request.text.len()).collect();
            assert!(sizes[..6].is_sorted() && sizes[6] < sizes[5], "{is_streamed}: {sizes:?}");
            assert_eq!(house.counted("full_windows_total").await, 1, "{is_streamed}");
            let lines = lines.lock().unwrap();
            let told: Vec<_> = lines.iter().map(|line| line.contains("the window was full before")).collect();
            assert_eq!(told, [false, false, false, false, false, true, false], "{is_streamed}: {lines:?}");
        }
    });
}

#[test]
fn what_a_provider_cuts_without_a_word_makes_the_next_call_smaller() {
    run(async {
        // It keeps no more than so many bytes of what it is sent, and says nothing.
        let upstream = Upstream::scripted(|_, request| {
            Act::Say(Reply::new("Noted.").billed(request.text.len().min(16_000) as u64 / 4, 0))
        });
        let house = roomy(upstream).await;
        let lines = Arc::clone(&house.lines);
        let mut agent = Agent::new(&house, Dialect::Chat);
        for number in 0..12 {
            let (_, status) = agent.say(&format!("Step {number}. {}", prose(number, 600))).await;
            assert_eq!(status, 200);
            while lines.lock().unwrap().len() <= number {
                tokio::task::yield_now().await;
            }
        }
        let sizes: Vec<usize> = house.upstream.requests().iter().map(|request| request.text.len()).collect();
        let first =
            lines.lock().unwrap().iter().position(|line| line.contains("cut the input without a word"));
        let first = first.unwrap_or_else(|| panic!("{sizes:?}: {:?}", lines.lock().unwrap()));
        assert!(sizes[first] > 16_000, "{sizes:?}");
        assert!(sizes[first + 1..].iter().all(|size| *size < sizes[first]), "{first}: {sizes:?}");
        assert!(house.counted("cut_inputs_total").await >= 1);
        let all = house.recorded().await;
        let [(_, whole)] = all.as_slice() else { panic!("{}", all.len()) };
        assert!((0..12).all(|number| whole.contains(&format!("Step {number}. "))), "nothing is lost");
    });
}
