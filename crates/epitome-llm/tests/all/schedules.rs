//! Any schedule of faults: a call ends, with an answer that was given whole or with a list of what failed.

use std::sync::Arc;
use std::time::Duration;

use epitome_llm::{Answered, Chance, Kind, Models, NoAnswer};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{APIS, StillClock, call, impatient};
use crate::upstream::{Act, Reply, Upstream};

const WHOLE: &str = "all of the answer in one piece";
const PART: &str = "only a part of what was meant to be said here";

fn act() -> impl Strategy<Value = Act> {
    let part = || Reply::new(PART);
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    prop::sample::select(vec![
        Act::say(WHOLE),
        Act::Unended(Reply::new(WHOLE)),
        Act::refuse(400, "invalid_request_error", "no"),
        Act::refuse(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        Act::refuse(401, "authentication_error", "no"),
        Act::refuse(429, "rate_limit_error", "later").header("retry-after", "2"),
        Act::refuse(500, "api_error", "no"),
        Act::refuse(529, "overloaded_error", "no"),
        Act::Cut(part()),
        Act::Fail(part(), overloaded.to_owned()),
        Act::Fail(part(), "not JSON".to_owned()),
        Act::Stall(part()),
        Act::Silence,
        Act::Garbage,
        Act::Hangup,
        Act::Endless,
        Act::Body("text/event-stream", String::new()),
        Act::Body("application/json", "[]".to_owned()),
    ])
}

async fn run(schedules: &[Vec<Act>], api: &str, seed: u64) -> Vec<Result<Answered, NoAnswer>> {
    let upstreams: Vec<Upstream> = schedules.iter().map(|acts| Upstream::new(acts.clone())).collect();
    let clients =
        upstreams.iter().map(|upstream| impatient(upstream, api, Duration::from_millis(30))).collect();
    let clock = Arc::new(StillClock::default());
    let models = Models::new(clients).timed(Arc::clone(&clock) as _, Chance::seeded(seed));
    let mut ends = Vec::new();
    for _ in 0..3 {
        ends.push(models.ask(&call()).await);
        clock.advance(Duration::from_secs(10));
    }
    // The breakers forgive whoever answers again.
    clock.advance(Duration::from_secs(600));
    ends.push(models.ask(&call()).await);
    ends
}

/// Events and bodies with the names of the real ones, and values of any type.
fn odd() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::sample::select(vec![
            "message_start",
            "content_block_delta",
            "text_delta",
            "message_delta",
            "message_stop",
            "text",
            "message",
            "response.output_text.delta",
            "response.completed",
            "output_text",
            "completed",
            "stop",
            "length",
            "error",
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "type",
        "message",
        "delta",
        "content",
        "content_block",
        "text",
        "usage",
        "input_tokens",
        "output_tokens",
        "stop_reason",
        "choices",
        "finish_reason",
        "model",
        "prompt_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "response",
        "output",
        "status",
        "error",
    ]);
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let object = prop::collection::vec((key.clone(), inner.clone()), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            object.prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_reply_upsets_a_client(bodies in prop::collection::vec(odd(), 1..6), api in prop::sample::select(APIS.to_vec())) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stream: String = bodies.iter().map(|body| format!("data: {body}\n\n")).collect();
        let acts = vec![Act::Body("text/event-stream", stream), Act::Body("application/json", bodies[0].to_string())];
        let upstream = Upstream::new(acts);
        runtime.block_on(async {
            let client = impatient(&upstream, api, Duration::from_secs(60));
            for _ in 0..2 {
                if let Err(failure) = client.ask(&call()).await {
                    assert!(!matches!(failure.kind, Kind::Unreachable | Kind::Timeout), "{failure}");
                }
            }
        });
    }

    #[test]
    fn every_call_ends_and_no_part_passes_for_the_whole(
        schedules in prop::collection::vec(prop::collection::vec(act(), 1..6), 1..3),
        api in prop::sample::select(APIS.to_vec()),
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ends = runtime.block_on(run(&schedules, api, seed));
        for end in ends {
            let tried = match end {
                Ok(answered) => {
                    prop_assert_eq!(&answered.answer.text, WHOLE);
                    answered.tried
                }
                Err(error) => {
                    prop_assert!(!error.tried.is_empty());
                    error.tried
                }
            };
            prop_assert!(tried.len() <= 5 * schedules.len(), "{tried:?}");
            for failure in tried.iter().filter_map(|tried| tried.failure.as_ref()) {
                prop_assert!(failure.kind != Kind::Unreachable, "{failure}");
            }
        }
    }
}
