//! Any schedule of faults: a call ends, with an answer that was given whole or with a list of what failed.

use std::sync::Arc;
use std::time::Duration;

use epitome_llm::{Answered, Chance, Kind, Models, NoAnswer};
use proptest::prelude::*;

use crate::support::{APIS, StillClock, call, impatient};
use crate::upstream::{Act, Reply, Upstream};

const WHOLE: &str = "all of the answer in one piece";
const PART: &str = "only a part of what was meant to be said here";

fn act() -> impl Strategy<Value = Act> {
    let part = || Reply::new(PART);
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    prop::sample::select(vec![
        Act::say(WHOLE),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
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
