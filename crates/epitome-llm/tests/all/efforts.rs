//! Models that reason are asked to think little, as far as they and their servers understand that.

use epitome_llm::{Client, Limits, Secret};
use serde_json::Value;

use crate::support::{KEY, call};
use crate::upstream::{Act, Upstream};

fn client(upstream: &Upstream, api: &str, model: &str) -> Client {
    let endpoint = format!("{api}:{model}@{}", upstream.url()).parse().unwrap();
    Client::new(endpoint, Secret::new(KEY), Limits::default()).unwrap()
}

async fn asked(api: &str, model: &str) -> Value {
    let upstream = Upstream::new(vec![Act::say("there")]);
    client(&upstream, api, model).ask(&call()).await.unwrap();
    upstream.requests()[0].body.clone()
}

#[tokio::test]
async fn models_that_reason_are_asked_to_think_little() {
    for (model, effort) in [
        ("gpt-5", "minimal"),
        ("openai/gpt-5-mini", "minimal"),
        ("GPT-5.1", "minimal"),
        ("o3", "low"),
        ("o4-mini", "low"),
    ] {
        assert_eq!(asked("openai", model).await["reasoning_effort"], effort, "{model}");
        assert_eq!(asked("responses", model).await["reasoning"]["effort"], effort, "{model}");
        let body = asked("anthropic", model).await;
        assert!(body.get("reasoning").is_none() && body.get("reasoning_effort").is_none(), "{body}");
    }
    for model in ["gpt-4.1", "gpt-50", "o10", "olmo", "qwen3", "some-model"] {
        for api in ["openai", "responses"] {
            let body = asked(api, model).await;
            assert!(body.get("reasoning").is_none() && body.get("reasoning_effort").is_none(), "{body}");
        }
    }
}

#[tokio::test]
async fn an_effort_that_is_refused_is_not_asked_for_again() {
    let upstream = Upstream::scripted(|_, request| {
        let refuse = |what: &str| Act::refuse(400, "invalid_request_error", what);
        match request.body["reasoning_effort"].as_str() {
            Some("minimal") => refuse(
                "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.",
            ),
            Some(_) => refuse("Unrecognized request argument supplied: reasoning_effort"),
            None => Act::say("at last"),
        }
    });
    let client = client(&upstream, "openai", "gpt-5");
    for _ in 0..2 {
        assert_eq!(client.ask(&call()).await.unwrap().text, "at last");
    }
    let requests = upstream.requests();
    let efforts: Vec<Option<&str>> =
        requests.iter().map(|request| request.body["reasoning_effort"].as_str()).collect();
    assert_eq!(efforts, [Some("minimal"), Some("low"), None, None]);
}
