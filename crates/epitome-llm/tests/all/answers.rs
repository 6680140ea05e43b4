//! Answers of the three APIs over real connections, streamed and whole.

use epitome_core::{Tokens, Usage};
use epitome_llm::{Delivery, Ending, Prefix};
use serde_json::{Value, json};

use crate::support::{APIS, KEY, call, client};
use crate::upstream::{Act, Reply, Stop, Upstream};

const DELIVERIES: [Delivery; 2] = [Delivery::Streamed, Delivery::Whole];

#[tokio::test]
async fn every_api_answers_both_ways() {
    let reply = Reply::new("The tests pass — all of them. Ünïcode 🦀 too.").thinking("Hm.").billed(900, 300);
    for api in APIS {
        for delivery in DELIVERIES {
            let upstream = Upstream::new(vec![Act::Say(reply.clone())]);
            let answer = client(&upstream, api).ask(&call().delivered(delivery)).await.unwrap();
            assert_eq!(answer.text, reply.text, "{api} {delivery:?}");
            assert_eq!((answer.ending, answer.model.as_str()), (Ending::Whole, "loopback"));
            let usage = answer.usage.unwrap();
            let expected = Usage {
                input: Tokens(600),
                cache_read: Tokens(300),
                cache_write: Tokens(0),
                output: Tokens(reply.text.split_whitespace().count() as u64),
            };
            assert_eq!(usage, expected, "{api} {delivery:?}");
        }
    }
}

#[tokio::test]
async fn requests_are_what_each_api_expects() {
    for api in APIS {
        for delivery in DELIVERIES {
            let upstream = Upstream::new(vec![Act::say("yes")]);
            let asked = call().then("Much.", "Say more.").delivered(delivery);
            client(&upstream, api).ask(&asked).await.unwrap();
            let request = upstream.requests().remove(0);
            let body = &request.body;
            assert_eq!(body["model"], "some-model");
            assert_eq!(body["temperature"], 0.0);
            assert_eq!(body["stream"] == true, delivery == Delivery::Streamed);
            let roles = |list: &Value| -> Vec<String> {
                list.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap().to_owned()).collect()
            };
            match api {
                "anthropic" => {
                    assert_eq!(request.path, "/v1/messages");
                    assert_eq!(request.header("x-api-key"), Some(KEY));
                    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
                    assert_eq!(
                        (&body["system"], &body["max_tokens"]),
                        (&json!("You summarise."), &json!(500))
                    );
                    assert_eq!(roles(&body["messages"]), ["user", "assistant", "user"]);
                    assert_eq!(body.get("thinking"), None);
                }
                "openai" => {
                    assert_eq!(request.path, "/v1/chat/completions");
                    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
                    assert_eq!(body["max_tokens"], 500);
                    assert_eq!(roles(&body["messages"]), ["system", "user", "assistant", "user"]);
                    let usage = body["stream_options"]["include_usage"] == true;
                    assert_eq!(usage, delivery == Delivery::Streamed);
                }
                _ => {
                    assert_eq!(request.path, "/v1/responses");
                    assert_eq!(
                        (&body["instructions"], &body["store"]),
                        (&json!("You summarise."), &json!(false))
                    );
                    assert_eq!(body["max_output_tokens"], 500);
                    assert_eq!(roles(&body["input"]), ["user", "assistant", "user"]);
                }
            }
        }
    }
}

// The provider's cache knows again only what is the same byte for byte.
#[tokio::test]
async fn what_was_sent_before_is_sent_as_it_was() {
    let prefix = Prefix {
        system: Some(r#"[ {"type":"text", "text":"be\u0020brief"} ]"#.to_owned()),
        tools: Some(r#"[{"name" : "x", "z":1, "a":2}]"#.to_owned()),
        messages: vec![
            r#"{"role":"user",  "content":"hé\u00e9"}"#.to_owned(),
            r#"{ "role":"assistant","content":"b"}"#.to_owned(),
        ],
        fields: Vec::new(),
    };
    let upstream = Upstream::new(vec![Act::say("yes")]);
    client(&upstream, "anthropic").ask(&call().behind(prefix.clone())).await.unwrap();
    let text = upstream.requests().remove(0).text;
    let messages = prefix.messages.join(",");
    for part in [prefix.system.as_ref().unwrap(), prefix.tools.as_ref().unwrap(), &messages] {
        assert!(text.contains(part.as_str()), "{text}");
    }
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    assert!(!text.contains("You summarise."), "the system prompt is that of the prefix");
}

#[tokio::test]
async fn endings_are_told_apart() {
    for api in APIS {
        for delivery in DELIVERIES {
            for (stop, ending) in [
                (Stop::MaxTokens, Ending::MaxOutput),
                (Stop::Declined, Ending::Declined),
                (Stop::Call, Ending::Unfinished),
            ] {
                let upstream = Upstream::new(vec![Act::Say(Reply::new("so far").stopped(stop))]);
                let answer = client(&upstream, api).ask(&call().delivered(delivery)).await.unwrap();
                assert_eq!((answer.text.as_str(), answer.ending), ("so far", ending), "{api} {delivery:?}");
            }
        }
    }
}

#[tokio::test]
async fn thoughts_written_into_the_text_are_left_out() {
    for (said, expected) in [
        ("<think>\nHm, hm.\n</think>\n\nIt works.", "It works."),
        ("<think>never ends", ""),
        ("It says <think> here.", "It says <think> here."),
        ("Hm, hm.\n</think>\n\nIt works.", "It works."),
        ("It says </think> here.\nAnd ends.", "It says </think> here.\nAnd ends."),
        ("Between <think> and </think>\nit thinks.", "Between <think> and </think>\nit thinks."),
    ] {
        let upstream = Upstream::new(vec![Act::say(said)]);
        assert_eq!(client(&upstream, "openai").ask(&call()).await.unwrap().text, expected);
    }
}

#[tokio::test]
async fn a_whole_reply_to_a_streamed_question_is_understood() {
    let body = json!({"choices": [{"message": {"content": [{"type": "text", "text": "all "}, {"type": "text", "text": "at once"}]}, "finish_reason": "stop"}]});
    let upstream = Upstream::new(vec![Act::Body("application/json", body.to_string())]);
    let answer = client(&upstream, "openai").ask(&call()).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.usage), ("all at once", None));
}

#[tokio::test]
async fn streams_that_end_without_ceremony_are_whole() {
    let chunk = r#"{"choices":[{"delta":{"content":"done"},"finish_reason":"stop"}]}"#;
    for stream in [format!("data: {chunk}\n\n"), format!("data:{chunk}\r\n\r\ndata: [DONE]")] {
        let upstream = Upstream::new(vec![Act::Body("text/event-stream", stream)]);
        assert_eq!(client(&upstream, "openai").ask(&call()).await.unwrap().text, "done");
    }
}

// Each refusal teaches something about the server, and the client remembers it.
#[tokio::test]
async fn what_a_server_does_not_take_is_left_out() {
    let upstream = Upstream::scripted(|_, request| {
        let body = &request.body;
        let unsupported = |what: &str| Act::refuse(400, "invalid_request_error", what);
        if body.get("max_tokens").is_some() {
            return unsupported(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            );
        }
        if body.get("temperature").is_some() {
            return unsupported(
                "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
            );
        }
        if body.get("stream_options").is_some() {
            return unsupported("stream_options: extra fields not permitted");
        }
        if body["max_completion_tokens"].as_u64() > Some(400) {
            return unsupported(
                "max_tokens is too large: 500. This model supports at most 400 completion tokens, whereas you provided 500.",
            );
        }
        Act::say("at last")
    });
    let client = client(&upstream, "openai");
    assert_eq!(client.ask(&call()).await.unwrap().text, "at last");
    assert_eq!(upstream.requests().len(), 5);
    assert_eq!(client.ask(&call()).await.unwrap().text, "at last");
    let requests = upstream.requests();
    assert_eq!(requests.len(), 6);
    assert_eq!(requests[5].body["max_completion_tokens"], 400);
}
