//! Streams go back when they come; only where a refusal for size may well follow is their beginning held back.

use std::sync::Arc;
use std::time::Duration;

use epitome::ledger::{Ledger, Options};
use epitome::{Layers, Tokens};
use epitome_server::{Keeping, Sessions};
use serde_json::{Value, json};

use crate::house::prose;
use crate::support::{Proxy, run};
use crate::wire::{answer, chunk, post};

// A proxy that holds back for good what it holds back, and believes that every window is so large.
async fn patient(folder: &tempfile::TempDir, window: Option<u64>) -> Proxy {
    let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let settings = Layers::default().finish().unwrap();
    let mut keeping = Keeping::of(ledger, settings, folder.path().join("spool"));
    keeping.window = window.map(Tokens);
    let sessions = Sessions::new(keeping).await.unwrap();
    let held = Duration::from_secs(3_600);
    Proxy::configured(Some(Arc::new(sessions)), |config| config.limits.held = held).await
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "r", "error": null}})
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";

#[test]
fn the_first_event_is_with_the_client_before_the_second_is_sent() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let proxy = patient(&folder, Some(200_000)).await;
        let mut client = proxy.client().await;
        client.send(post("/v1/responses", r#"{"model":"gpt-5.1","input":"Hello.","stream":true}"#)).await;
        let mut upstream = proxy.upstream().await;
        upstream.message().await;
        upstream.send(format!("{STREAM}{}", chunk(&event(&created())))).await;
        client.until("response.created").await;
        let delta = json!({"type": "response.output_text.delta", "delta": "Good day."});
        upstream.send(format!("{}0\r\n\r\n", chunk(&event(&delta)))).await;
        client.until("Good day.").await;
    });
}

#[test]
fn near_the_window_a_refusal_within_the_stream_is_answered_by_less() {
    run(async {
        // Near the window that is believed in; and anywhere where none is known.
        for (window, model) in [(Some(32_000), "gpt-5.1"), (None, "somebodys-own")] {
            let folder = tempfile::tempdir().unwrap();
            let proxy = patient(&folder, window).await;
            let mut client = proxy.client().await;
            let mut input = Vec::new();
            for number in 0..14 {
                let said = format!("Step {number}. {}", prose(number, 1_200));
                input.push(json!({"role": "user", "content": said}));
                input.push(json!({"role": "assistant", "content": "Noted."}));
            }
            input.push(json!({"role": "user", "content": "And now?"}));
            let body = json!({"model": model, "input": input, "stream": true}).to_string();
            client.send(post("/v1/responses", &body)).await;
            let mut upstream = proxy.upstream().await;
            let whole = upstream.message().await.body;
            upstream.send(format!("{STREAM}{}", chunk(&event(&created())))).await;
            let error = json!({"code": "context_length_exceeded",
                "message": "Your input exceeds the context window of this model."});
            let failed = json!({"type": "response.failed", "response": {"id": "r", "error": error}});
            upstream.send(format!("{}0\r\n\r\n", chunk(&event(&failed)))).await;
            let mut again = proxy.upstream().await;
            let less = again.message().await.body;
            assert!(less.len() < whole.len(), "{model}: {} after {}", less.len(), whole.len());
            again.send(answer("200 OK", "{}")).await;
            assert_eq!(client.message().await.body, b"{}", "{model}: of the refusal nothing is seen");
        }
    });
}
