//! The circuit breaker against a plain model of it, under any sequence of events.

use std::time::Duration;

use epitome_llm::{Breaker, Failure, Kind, Patience};
use proptest::prelude::*;

fn breaker() -> Breaker {
    Breaker::new(Patience::default())
}

fn failure() -> Failure {
    Failure::new(Kind::Server, "no")
}

const REST: Duration = Duration::from_secs(15);

fn opened() -> Breaker {
    let breaker = breaker();
    for _ in 0..5 {
        breaker.enter(Duration::ZERO).unwrap().failed(&failure(), Duration::ZERO);
    }
    breaker
}

#[test]
fn it_opens_after_failures_in_a_row_only() {
    let breaker = breaker();
    for _ in 0..3 {
        for _ in 0..4 {
            breaker.enter(Duration::ZERO).unwrap().failed(&failure(), Duration::ZERO);
        }
        breaker.enter(Duration::ZERO).unwrap().succeeded();
    }
    assert!(breaker.is_closed());
    assert_eq!(opened().enter(Duration::ZERO).unwrap_err(), REST);
}

#[test]
fn failures_of_the_request_speak_for_the_upstream() {
    let breaker = breaker();
    for kind in [Kind::Overflow { limit: None, requested: None }, Kind::TooLarge, Kind::Refused] {
        for _ in 0..10 {
            breaker.enter(Duration::ZERO).unwrap().failed(&Failure::new(kind, "no"), Duration::ZERO);
        }
    }
    assert!(breaker.is_closed());
}

fn limited(seconds: &str) -> Failure {
    let body = format!("rate limited, try again in {seconds}s");
    let failure = Failure::of_reply(429, body.as_bytes()).unwrap();
    assert!(failure.kind == Kind::RateLimited && failure.retry_after().is_some());
    failure
}

// Who says when to come back is there.
#[test]
fn a_limit_that_says_how_long_opens_nothing_and_forgives_nothing() {
    let breaker = breaker();
    for _ in 0..20 {
        breaker.enter(Duration::ZERO).unwrap().failed(&limited("2"), Duration::ZERO);
    }
    assert!(breaker.is_closed());
    for _ in 0..4 {
        breaker.enter(Duration::ZERO).unwrap().failed(&failure(), Duration::ZERO);
    }
    breaker.enter(Duration::ZERO).unwrap().failed(&limited("2"), Duration::ZERO);
    assert!(breaker.is_closed());
    breaker.enter(Duration::ZERO).unwrap().failed(&failure(), Duration::ZERO);
    assert_eq!(breaker.enter(Duration::ZERO).unwrap_err(), REST);
    // One without a word of when counts like any other.
    let breaker = Breaker::new(Patience::default());
    for _ in 0..5 {
        breaker.enter(Duration::ZERO).unwrap().failed(&Failure::new(Kind::RateLimited, "no"), Duration::ZERO);
    }
    assert!(!breaker.is_closed());
}

#[test]
fn a_probe_that_comes_too_early_is_made_again_when_it_is_wanted() {
    let breaker = opened();
    breaker.enter(REST).unwrap().failed(&limited("40"), REST);
    assert_eq!(breaker.enter(REST).unwrap_err(), Duration::from_secs(40));
    let then = REST + Duration::from_secs(40);
    breaker.enter(then).unwrap().failed(&failure(), then);
    assert_eq!(breaker.enter(then).unwrap_err(), REST * 2);
}

#[test]
fn one_probe_at_a_time() {
    let breaker = opened();
    let probe = breaker.enter(REST).unwrap();
    assert_eq!(breaker.enter(REST).unwrap_err(), Duration::ZERO);
    probe.succeeded();
    assert!(breaker.is_closed());
}

#[test]
fn a_probe_that_is_given_up_makes_way_for_the_next() {
    let breaker = opened();
    drop(breaker.enter(REST).unwrap());
    assert!(!breaker.is_closed());
    breaker.enter(REST).unwrap().succeeded();
    assert!(breaker.is_closed());
}

#[test]
fn the_rest_doubles_up_to_its_bound() {
    let breaker = opened();
    let (mut now, mut rest) = (Duration::ZERO, REST);
    for _ in 0..10 {
        assert_eq!(breaker.enter(now).unwrap_err(), rest);
        now += rest;
        breaker.enter(now).unwrap().failed(&failure(), now);
        rest = (rest * 2).min(Duration::from_secs(300));
    }
}

#[test]
fn calls_from_before_tell_nothing_about_now() {
    let breaker = breaker();
    let (early, late) = (breaker.enter(Duration::ZERO).unwrap(), breaker.enter(Duration::ZERO).unwrap());
    for _ in 0..5 {
        breaker.enter(Duration::ZERO).unwrap().failed(&failure(), Duration::ZERO);
    }
    early.succeeded();
    assert!(!breaker.is_closed());
    let probe = breaker.enter(REST).unwrap();
    late.failed(&failure(), REST);
    probe.succeeded();
    assert!(breaker.is_closed());
}

proptest! {
    // Whatever happens, at most one probe is under way, and an upstream that answers again is trusted again.
    #[test]
    fn it_always_recovers(steps in prop::collection::vec((0u8..5, 0u64..40), 0..60)) {
        let breaker = breaker();
        let mut now = Duration::ZERO;
        let mut held = Vec::new();
        for (step, seconds) in steps {
            now += Duration::from_secs(seconds);
            match step {
                0 | 1 => held.extend(breaker.enter(now).ok()),
                2 => if let Some(permit) = held.pop() { permit.failed(&failure(), now) },
                3 => if let Some(permit) = held.pop() { permit.succeeded() },
                _ => drop(held.pop()),
            }
        }
        drop(held);
        now += Duration::from_secs(600);
        let first = breaker.enter(now);
        prop_assert!(first.is_ok());
        if !breaker.is_closed() {
            prop_assert!(breaker.enter(now).is_err(), "a second probe");
        }
        first.unwrap().succeeded();
        prop_assert!(breaker.is_closed());
    }
}
