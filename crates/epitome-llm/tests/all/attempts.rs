//! Attempts, waits and fallbacks, with a clock that takes no time.

use std::sync::Arc;
use std::time::Duration;

use epitome_llm::{Backoff, Chance, Client, Failure, Kind, Models, Patience};
use proptest::prelude::*;

use crate::support::{StillClock, call, client, impatient};
use crate::upstream::{Act, Reply, Upstream};

fn models(clients: Vec<Client>) -> (Models, Arc<StillClock>) {
    let clock = Arc::new(StillClock::default());
    (Models::new(clients).timed(Arc::clone(&clock) as _, Chance::seeded(7)), clock)
}

fn busy() -> Act {
    Act::refuse(529, "overloaded_error", "Overloaded")
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let upstream =
        Upstream::new(vec![busy(), Act::Hangup, Act::Cut(Reply::new("a b c d e")), Act::say("there")]);
    let (models, clock) = models(vec![client(&upstream, "anthropic")]);
    let answered = models.ask(&call()).await.unwrap();
    assert_eq!(answered.answer.text, "there");
    let kinds: Vec<Kind> = answered.tried.iter().map(|tried| tried.failure.as_ref().unwrap().kind).collect();
    assert_eq!(kinds, [Kind::Overloaded, Kind::Cut, Kind::Cut]);
    let waits = clock.waits();
    assert_eq!(waits.len(), 3);
    for (number, wait) in waits.iter().enumerate() {
        assert!(*wait <= Duration::from_millis(500 << number), "{waits:?}");
    }
}

#[tokio::test]
async fn what_cannot_succeed_is_not_tried_again() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
    ] {
        let upstream = Upstream::new(vec![Act::refuse(status, kind, "no")]);
        let (models, clock) = models(vec![client(&upstream, "anthropic")]);
        let error = models.ask(&call()).await.unwrap_err();
        assert_eq!(error.last().unwrap().status, Some(status));
        assert_eq!((upstream.requests().len(), clock.waits().len()), (1, 0), "{status}");
    }
}

#[tokio::test]
async fn the_next_endpoint_is_asked_where_the_first_fails() {
    let wrong = Upstream::new(vec![Act::refuse(401, "authentication_error", "no")]);
    let busy = Upstream::new(vec![busy()]);
    let good = Upstream::new(vec![Act::say("here")]);
    let clients = vec![client(&wrong, "anthropic"), client(&busy, "openai"), client(&good, "responses")];
    let (models, _) = models(clients);
    let answered = models.ask(&call()).await.unwrap();
    assert_eq!(answered.answer.text, "here");
    assert!(answered.by.starts_with("responses:some-model@"), "{}", answered.by);
    assert_eq!((wrong.requests().len(), busy.requests().len()), (1, 4));
}

// Whoever asks knows best how to say it in fewer words; a weaker model is no help.
#[tokio::test]
async fn a_request_that_is_too_large_goes_back_at_once() {
    let full = Upstream::new(vec![Act::refuse(
        400,
        "invalid_request_error",
        "prompt is too long: 9 tokens > 8 maximum",
    )]);
    let other = Upstream::new(vec![Act::say("never")]);
    let (models, clock) = models(vec![client(&full, "anthropic"), client(&other, "anthropic")]);
    let error = models.ask(&call()).await.unwrap_err();
    assert!(error.wants_less().unwrap().is_overflow());
    assert_eq!((full.requests().len(), other.requests().len(), clock.waits().len()), (1, 0, 0));
}

#[tokio::test]
async fn a_server_that_asks_for_time_gets_it_within_the_deadline() {
    let later =
        |seconds: &str| Act::refuse(429, "rate_limit_error", "slow down").header("retry-after", seconds);
    let upstream = Upstream::new(vec![later("20"), Act::say("now")]);
    let (patient, clock) = models(vec![client(&upstream, "openai")]);
    assert_eq!(patient.ask(&call()).await.unwrap().answer.text, "now");
    let waits = clock.waits();
    assert!(waits[0] >= Duration::from_secs(20) && waits[0] <= Duration::from_secs(22), "{waits:?}");

    let upstream = Upstream::new(vec![later("20"), Act::say("now")]);
    let (hasty, clock) = models(vec![client(&upstream, "openai")]);
    let error = hasty.within(Duration::from_secs(10)).ask(&call()).await.unwrap_err();
    assert_eq!(error.last().unwrap().kind, Kind::RateLimited);
    assert_eq!((upstream.requests().len(), clock.waits().len()), (1, 0));

    // Nobody waits for so long, nor asks before; and nobody is left alone for longer than an hour.
    for (asked, rests) in [("900", 900), ("3600", 3_600), ("86400", 3_600)] {
        let upstream = Upstream::new(vec![later(asked), Act::say("now")]);
        let (patient, clock) = models(vec![client(&upstream, "openai")]);
        assert!(patient.ask(&call()).await.is_err(), "{asked}");
        clock.advance(Duration::from_secs(rests - 1));
        assert!(patient.ask(&call()).await.is_err());
        assert_eq!(upstream.requests().len(), 1, "{asked}");
        clock.advance(Duration::from_secs(1));
        assert_eq!(patient.ask(&call()).await.unwrap().answer.text, "now", "{asked}");
    }
}

#[tokio::test]
async fn all_attempts_together_end_in_time() {
    let silent =
        [Upstream::new(vec![Act::Silence]), Upstream::new(vec![Act::Stall(Reply::new("a b c d e f"))])];
    let clients = silent.iter().map(|upstream| client(upstream, "anthropic")).collect();
    let within = Duration::from_millis(150);
    let asked = Models::new(clients).within(within);
    let error = tokio::time::timeout(Duration::from_secs(30), asked.ask(&call())).await.unwrap().unwrap_err();
    assert_eq!(error.last().unwrap().kind, Kind::Timeout);
    assert_eq!(silent[1].requests().len(), 0, "no time is left for another one");
}

#[tokio::test]
async fn an_upstream_that_keeps_failing_is_left_alone_until_it_is_back() {
    let is_back = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let upstream = Upstream::scripted(move |_, _| match seen.load(std::sync::atomic::Ordering::SeqCst) {
        true => Act::say("back"),
        false => Act::refuse(500, "api_error", "no"),
    });
    let (models, clock) = models(vec![client(&upstream, "anthropic")]);
    for _ in 0..2 {
        models.ask(&call()).await.unwrap_err();
    }
    assert_eq!(upstream.requests().len(), 5, "the fifth failure in a row opens the breaker");
    let error = models.ask(&call()).await.unwrap_err();
    assert_eq!((error.last(), upstream.requests().len()), (None, 5));
    assert!(error.to_string().contains("left alone after many failures"), "{error}");

    clock.advance(Duration::from_secs(15));
    models.ask(&call()).await.unwrap_err();
    assert_eq!(upstream.requests().len(), 6, "one probe");
    is_back.store(true, std::sync::atomic::Ordering::SeqCst);
    clock.advance(Duration::from_secs(15));
    models.ask(&call()).await.unwrap_err();
    assert_eq!(upstream.requests().len(), 6, "the rest has doubled");
    clock.advance(Duration::from_secs(15));
    assert_eq!(models.ask(&call()).await.unwrap().answer.text, "back");
    assert_eq!(models.ask(&call()).await.unwrap().answer.text, "back");
}

#[tokio::test]
async fn nobody_to_ask_is_an_error_that_says_so() {
    let (models, _) = models(Vec::new());
    assert_eq!(models.ask(&call()).await.unwrap_err().to_string(), "no model answered: none is set");
}

#[tokio::test]
async fn an_error_lists_what_was_tried() {
    let upstream = Upstream::new(vec![Act::Silence]);
    let client = impatient(&upstream, "openai", Duration::from_millis(20));
    let mut once = Backoff::default();
    once.attempts = 1;
    let error = Models::with(vec![client], once, Patience::default()).ask(&call()).await.unwrap_err();
    let expected =
        format!("no model answered: openai:some-model@{}: no answer in time: no reply came", upstream.url());
    assert_eq!(error.to_string(), expected);
}

proptest! {
    #[test]
    fn waits_stay_within_their_bounds(failed in 1u32..200, chance in 0.0f64..=1.0, asked in prop::option::of(0u64..100_000)) {
        let backoff = Backoff::default();
        let failure = Failure::of_reply(429, asked.map_or(String::new(), |ms| format!("try again in {ms}ms")).as_bytes()).unwrap();
        let asked = asked.map(Duration::from_millis);
        match backoff.wait(failed, &failure, chance) {
            None => prop_assert!(failed >= backoff.attempts || asked.is_some_and(|asked| asked > backoff.longest)),
            Some(wait) => {
                prop_assert!(failed < backoff.attempts);
                prop_assert!(wait >= asked.unwrap_or_default());
                prop_assert!(wait <= backoff.longest + backoff.longest / 10);
            }
        }
    }

    #[test]
    fn chances_lie_between_none_and_all_and_follow_from_their_seed(seed in any::<u64>()) {
        let (one, two) = (Chance::seeded(seed), Chance::seeded(seed));
        for _ in 0..50 {
            let chance = one.next();
            prop_assert!((0.0..1.0).contains(&chance));
            prop_assert_eq!(chance, two.next());
        }
    }
}
