//! What agents really send: tools and thinking, streams, several models under one name; and what each mode leaves alone.

use epitome::{Dialect, Tokens};
use epitome_server::{Mode, Modes};
use serde_json::{Value, json};

use crate::house::{Agent, House, header, prose};
use crate::support::run;
use crate::upstream::{Act, Reply, Upstream};

/// What an agent adds to its history for a call of a tool and its result.
fn call_and_result(dialect: Dialect, number: usize, output: &str) -> Vec<Value> {
    let id = format!("call_{number}");
    let arguments = json!({"path": format!("src/part{number}.rs")});
    match dialect {
        Dialect::Anthropic => vec![
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I look.", "signature": format!("sig{number}")},
                {"type": "tool_use", "id": id, "name": "read", "input": arguments}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}),
        ],
        Dialect::Chat => vec![
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments.to_string()}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": output}),
        ],
        _ => vec![
            json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [], "encrypted_content": "e"}),
            json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments.to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": output}),
        ],
    }
}

/// The ids of calls and of results in a body.
fn pairs(body: &Value) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = body["messages"].as_array().or(body["input"].as_array()).unwrap();
    for message in list {
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => calls.push(text(&block["id"])),
                Some("tool_result") => results.push(text(&block["tool_use_id"])),
                _ => {}
            }
        }
        calls.extend(message["tool_calls"].as_array().into_iter().flatten().map(|call| text(&call["id"])));
        match (message["role"].as_str(), message["type"].as_str()) {
            (Some("tool"), _) => results.push(text(&message["tool_call_id"])),
            (_, Some("function_call")) => calls.push(text(&message["call_id"])),
            (_, Some("function_call_output")) => results.push(text(&message["call_id"])),
            _ => {}
        }
    }
    (calls, results)
}

#[test]
fn tools_and_thinking_stay_in_order_when_history_goes() {
    run(async {
        for dialect in Dialect::ALL {
            let house = House::new(Upstream::new(vec![Act::say("Done.")]), |_| {}).await;
            let mut agent = Agent::new(&house, dialect);
            agent.say("Read every part. Never touch the file secrets.toml.").await;
            for number in 0..40 {
                agent.history.push(json!({"role": "user", "content": format!("Part {number}, please.")}));
                agent.history.extend(call_and_result(dialect, number, &prose(number, 1_000)));
                let (headers, status, answer) = agent.call().await;
                let told = header(&headers, "x-epitome-error");
                assert_eq!((status, told), (200, ""), "{dialect} {number}: {answer}");
                match dialect {
                    Dialect::Anthropic => {
                        agent.history.push(json!({"role": "assistant", "content": answer["content"]}));
                    }
                    Dialect::Chat => agent.history.push(answer["choices"][0]["message"].clone()),
                    _ => agent.history.extend(answer["output"].as_array().cloned().unwrap()),
                }
            }
            let sent = house.upstream.requests();
            for request in &sent {
                assert!(request.text.len() / 4 < 32_000, "{dialect}");
                let (calls, results) = pairs(&request.body);
                assert_eq!(calls, results, "{dialect}");
                // Thinking is as it was, or gone.
                for at in request.text.match_indices(r#""signature":"#).map(|(at, _)| at) {
                    assert!(request.text[at..].starts_with(r#""signature":"sig"#), "{dialect}");
                }
            }
            assert!(sent.last().unwrap().text.contains("secrets.toml"), "{dialect}");
            let all = house.recorded().await;
            let [(_, whole)] = all.as_slice() else { panic!("{dialect}: {}", all.len()) };
            assert!((0..40).all(|number| whole.contains(&format!("src/part{number}.rs"))), "{dialect}");
        }
    });
}

#[test]
fn streams_are_recorded_as_what_they_said() {
    run(async {
        for dialect in Dialect::ALL {
            let reply = Reply::new("The harbour is calm tonight.").thinking("Let me see.");
            let house = House::new(Upstream::new(vec![Act::Say(reply)]), |_| {}).await;
            let mut agent = Agent::new(&house, dialect);
            let mut ids = Vec::new();
            for number in 0..3 {
                agent.history.push(json!({"role": "user", "content": format!("Question {number}.")}));
                let (url, mut body) = agent.request();
                body["stream"] = json!(true);
                let response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
                ids.push(header(response.headers(), "x-epitome-session").to_owned());
                assert!(response.text().await.unwrap().contains("harbour"), "{dialect}");
                let said = json!("The harbour is calm tonight.");
                agent.history.push(match dialect {
                    Dialect::Responses => json!({"type": "message", "role": "assistant",
                        "content": [{"type": "output_text", "text": said}]}),
                    _ => json!({"role": "assistant", "content": said}),
                });
            }
            ids.dedup();
            assert_eq!(ids.len(), 1, "{dialect}: {ids:?}");
            let all = house.recorded().await;
            let [(session, whole)] = all.as_slice() else { panic!("{dialect}: {}", all.len()) };
            assert_eq!(session.turns, 3, "{dialect}");
            assert_eq!(whole.matches("The harbour is calm tonight.").count(), 3, "{dialect}: {whole}");
        }
    });
}

#[test]
fn another_model_under_the_same_name_goes_on_or_stands_apart_by_what_was_said() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
        let call = async |model: &str, messages: &[Value]| {
            let body = json!({"model": model, "max_tokens": 9, "messages": messages});
            let request = reqwest::Client::new().post(format!("{}/v1/messages", house.url)).json(&body);
            let told = request.header("x-claude-code-session-id", "s1").send().await.unwrap();
            header(told.headers(), "x-epitome-session").to_owned()
        };
        let user = |text: &str| json!({"role": "user", "content": text});
        let noted = json!({"role": "assistant", "content": "Noted."});
        let first = [user("Begin.")];
        let main = call("claude-sonnet-4-5", &first).await;
        // A small model is asked something beside it.
        let beside = call("claude-haiku-4-5", &[user("A title for: Begin.")]).await;
        assert_ne!(main, beside);
        let second = [user("Begin."), noted.clone(), user("Go on.")];
        assert_eq!(call("claude-sonnet-4-5", &second).await, main);
        // The person chooses another model in the midst of it.
        let third = [user("Begin."), noted.clone(), user("Go on."), noted, user("And on.")];
        assert_eq!(call("claude-opus-4-5", &third).await, main);
        let all = house.recorded().await;
        let mut lengths: Vec<u64> = all.iter().map(|(session, _)| session.messages).collect();
        lengths.sort_unstable();
        assert_eq!(lengths, [2, 6]);
    });
}

#[test]
fn pruning_changes_nothing_but_what_tools_said() {
    run(async {
        for dialect in Dialect::ALL {
            let house = House::new(Upstream::new(vec![Act::say("Done.")]), |keeping| {
                keeping.modes = Modes::all(Mode::Prune);
                keeping.window = Some(Tokens(32_000));
            });
            let house = house.await;
            let mut agent = Agent::new(&house, dialect);
            for number in 0..24 {
                agent.history.push(json!({"role": "user", "content": format!("Part {number}, please.")}));
                agent.history.extend(call_and_result(dialect, number, &prose(number, 1_500)));
                let (_, status, answer) = agent.call().await;
                assert_eq!(status, 200, "{dialect}");
                match dialect {
                    Dialect::Anthropic => {
                        agent.history.push(json!({"role": "assistant", "content": answer["content"]}));
                    }
                    Dialect::Chat => agent.history.push(answer["choices"][0]["message"].clone()),
                    _ => agent.history.extend(answer["output"].as_array().cloned().unwrap()),
                }
            }
            let last = house.upstream.requests().pop().unwrap();
            let sent = last.body["messages"].as_array().or(last.body["input"].as_array()).unwrap().clone();
            let lead = usize::from(dialect == Dialect::Chat);
            let client = &agent.history[..agent.history.len() - 1];
            let without_outputs = |messages: &[Value]| -> Vec<String> {
                let mut kept = Vec::new();
                for message in messages {
                    let mut message = message.clone();
                    if message["role"] == "tool" {
                        message["content"] = Value::Null;
                    }
                    if message["type"] == "function_call_output" {
                        message["output"] = Value::Null;
                    }
                    if let Some(blocks) = message["content"].as_array_mut() {
                        blocks.retain(|block| block["type"] != "thinking");
                        blocks.iter_mut().filter(|block| block["type"] == "tool_result").for_each(|block| {
                            block["content"] = Value::Null;
                        });
                    }
                    if message["type"] != "reasoning" {
                        kept.push(message.to_string());
                    }
                }
                kept
            };
            assert_eq!(without_outputs(&sent[lead..]), without_outputs(client), "{dialect}");
            let before: usize = client.iter().map(|message| message.to_string().len()).sum();
            let after: usize = sent.iter().map(|message| message.to_string().len()).sum();
            assert!(after < before * 3 / 4, "{dialect}: {after} of {before}");
        }
    });
}
