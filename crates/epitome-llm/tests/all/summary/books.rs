//! The books: every request is reserved before it goes out, paid for when it may have been worked on, at the prices of whoever did.

use std::sync::Arc;
use std::time::Duration;

use epitome_core::cost::{Money, Tariff};
use epitome_core::digest::Digest;
use epitome_core::models::{Caching, Price};
use epitome_core::{Entry, Outline, Tokens};
use epitome_llm::knowledge::ModelExtractor;
use epitome_llm::summary::{Caps, ModelSummarizer, Purse, Rung, Spent, Tally, Written};
use epitome_llm::{Backoff, Chance, Client, Limits, Models, Patience};

use super::{GOOD, conversation, counter, request, runtime, tokens};
use crate::support::{StillClock, at, client, impatient};
use crate::upstream::{Act, Reply, Upstream};

fn models(clients: Vec<Client>, attempts: u32) -> Arc<Models> {
    let mut backoff = Backoff::default();
    backoff.attempts = attempts;
    let models = Models::with(clients, backoff, Patience::default());
    Arc::new(models.timed(Arc::new(StillClock::default()), Chance::seeded(5)))
}

// A summary of the usual conversation.
fn write(models: &Arc<Models>, set: impl FnOnce(ModelSummarizer) -> ModelSummarizer) -> Written {
    let (runtime, messages) = (runtime(), conversation());
    let mut model = set(ModelSummarizer::new(Arc::clone(models), runtime.handle.clone()));
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    let (path, count) = (messages.iter().map(entry).collect::<Vec<_>>(), |text: &str| tokens(text));
    let mut offline = Digest::new(&path, &messages, &count);
    model.write(&request(&messages, &[]), &mut offline).unwrap().1
}

fn total(spent: &Spent) -> u64 {
    (spent.usage.total_input() + spent.usage.output).0
}

fn tariff(input: f64, output: f64) -> Tariff {
    let caching = Caching { minimum: Tokens(1_024), write: 1.25, read: 0.1 };
    Tariff::new(Price { input, output }, None, caching)
}

#[test]
fn what_broke_off_is_paid_for_and_what_was_refused_is_not() {
    const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let early = format!("event: error\ndata: {OVERLOADED}\n\n");
    let good = || Reply::new(GOOD);
    // What each does, and whether something of an answer came; none where nothing is to be paid.
    let cases = [
        (Act::Cut(good()), Some(true)),
        (Act::Stall(good()), Some(true)),
        (Act::Fail(good(), OVERLOADED.to_owned()), Some(true)),
        (Act::Silence, Some(false)),
        (Act::Hangup, Some(false)),
        (Act::Garbage, Some(false)),
        (Act::Body("application/json", "{\"is\": \"no answer\"}".to_owned()), Some(false)),
        (Act::Body("text/event-stream", early), None),
        (Act::refuse(529, "overloaded_error", "Overloaded"), None),
        (Act::refuse(401, "authentication_error", "invalid key"), None),
        (Act::refuse(400, "invalid_request_error", "prompt is too long: 5000 tokens > 3000 maximum"), None),
    ];
    for api in ["anthropic", "openai"] {
        for (act, expected) in &cases {
            let upstream = Upstream::new(vec![act.clone()]);
            let models = models(vec![impatient(&upstream, api, Duration::from_millis(80))], 1);
            // One request, whatever it comes to.
            let caps = Caps { calls: 1, ..Caps::default() };
            let written = write(&models, |model| model.caps(caps).priced(vec![Some(tariff(1.0, 5.0))]));
            let spent = &written.spent;
            assert_eq!((spent.calls, spent.unanswered), (1, 1), "{api} {act:?} {spent:?}");
            match expected {
                None => assert_eq!((total(spent), spent.money), (0, None), "{api} {act:?} {spent:?}"),
                Some(came) => {
                    let (sent, said) = (spent.usage.total_input(), spent.usage.output);
                    assert!(sent > Tokens(500), "{api} {act:?} {spent:?}");
                    assert_eq!(said > Tokens::ZERO, *came, "{api} {act:?} {spent:?}");
                    let paid = tariff(1.0, 5.0).billed(&spent.usage) + tariff(1.0, 5.0).output(sent, said);
                    assert_eq!(spent.money, Some(paid), "{api} {act:?}");
                    // Anthropic tells at the beginning what the request comes to.
                    let is_told = api == "anthropic" && *came;
                    assert_eq!(spent.estimated.0, if is_told { 0 } else { total(spent) }, "{api} {act:?}");
                }
            }
        }
        // Nobody is there.
        let models = models(vec![at("http://127.0.0.1:9", api, Limits::default())], 1);
        let written = write(&models, |model| model);
        assert_eq!((written.rung, total(&written.spent)), (Rung::Offline, 0), "{:?}", written.spent);
    }
}

#[test]
fn no_attempt_goes_out_that_the_caps_have_no_room_for() {
    let one = {
        let upstream = Upstream::new(vec![Act::Hangup]);
        write(&models(vec![client(&upstream, "openai")], 1), |model| {
            model.caps(Caps { calls: 1, ..Caps::default() })
        })
    };
    let sent = one.spent.usage.total_input().0;
    let tariff = tariff(1.0, 1.0);
    for most in (0..12).map(|step| sent / 2 + step * sent / 2) {
        let money = Money::per_token(1.0).times(Tokens(most));
        let by_tokens = Caps { tokens: Tokens(most), ..Caps::default() };
        let by_money = Caps { money: Some(money), ..Caps::default() };
        for caps in [by_tokens, by_money] {
            let upstream = Upstream::new(vec![Act::Hangup, Act::Hangup, Act::Cut(Reply::new(GOOD))]);
            let models = models(vec![client(&upstream, "openai")], 6);
            let written = write(&models, |model| model.caps(caps).priced(vec![Some(tariff)]));
            assert_eq!(upstream.requests().len(), written.spent.calls, "{most} {:?}", written.spent);
            assert!(total(&written.spent) <= most, "{most} {:?}", written.spent);
            assert!(written.spent.money.unwrap_or(Money::ZERO) <= money, "{most} {:?}", written.spent);
            // Each of them was sent in full, and so counts.
            assert!(written.spent.calls as u64 * sent <= total(&written.spent), "{:?}", written.spent);
            assert!(written.spent.calls > 1 || most < 4 * sent, "{most} {:?}", written.spent);
        }
    }
}

#[test]
fn whoever_answers_is_paid_at_their_own_prices() {
    let (dear, cheap) = (tariff(100.0, 500.0), tariff(1.0, 5.0));
    let answered = || Act::Say(Reply::new(GOOD).billed(1_000, 0));
    let cases = [(Act::refuse(401, "authentication_error", "invalid key"), false), (Act::Hangup, true)];
    for (first, is_paid) in cases {
        for (tariffs, first_tariff, second_tariff) in [
            (vec![Some(dear), Some(cheap)], Some(dear), Some(cheap)),
            (vec![Some(cheap), Some(dear)], Some(cheap), Some(dear)),
            (vec![None, Some(dear)], None, Some(dear)),
            (vec![Some(dear)], Some(dear), None),
        ] {
            let (one, two) = (Upstream::new(vec![first.clone()]), Upstream::new(vec![answered()]));
            let models = models(vec![client(&one, "openai"), client(&two, "openai")], 1);
            let spent = write(&models, |model| model.priced(tariffs.clone())).spent;
            let answers = (spent.calls - spent.unanswered) as u64;
            let said = spent.usage.output;
            let broken = Tokens(spent.usage.input.0 - 1_000 * answers);
            assert_eq!(broken > Tokens::ZERO, is_paid, "{spent:?}");
            let each = Tokens(1_000);
            let second = second_tariff.map(|tariff| {
                tariff.rates(each).input.times(Tokens(1_000 * answers)) + tariff.output(each, said)
            });
            let first = first_tariff.filter(|_| is_paid).map(|tariff| tariff.rates(each).input.times(broken));
            let expected = [first, second].into_iter().flatten().reduce(|sum, paid| sum + paid);
            assert_eq!(spent.money, expected, "{tariffs:?} {spent:?}");
        }
    }
}

#[test]
fn all_who_draw_on_a_purse_share_its_caps() {
    for calls in 0..6 {
        let upstream = Upstream::new(vec![Act::refuse(529, "overloaded_error", "Overloaded")]);
        let models = models(vec![client(&upstream, "openai")], 2);
        let (purse, caps) = (Purse::default(), Caps { calls, ..Caps::default() });
        let tallies = [Tally::of(&purse), Tally::of(&purse), Tally::of(&purse)];
        for tally in &tallies[..2] {
            // A clone draws on the same purse.
            write(&models, |model| model.caps(caps).tallied(tally.clone()).clone());
        }
        let learner = ModelExtractor::new(Arc::clone(&models)).caps(caps).tallied(tallies[2].clone());
        runtime().handle.block_on(learner.extract(&[(0, &conversation())])).unwrap_err();
        let each: Vec<usize> = tallies.iter().map(|tally| tally.spent().calls).collect();
        assert_eq!(each.iter().sum::<usize>(), upstream.requests().len(), "{each:?}");
        assert_eq!(each.iter().sum::<usize>(), calls.min(6), "{each:?}");
        // Another compaction has a purse of its own.
        let other = write(&models, |model| model.caps(caps).tallied(Tally::default()));
        assert!(other.spent.calls <= calls);
    }
}

#[test]
fn the_time_of_a_purse_runs_from_its_first_question() {
    let upstream = Upstream::new(vec![Act::say(GOOD)]);
    let models = models(vec![client(&upstream, "openai")], 1);
    let (purse, clock) = (Purse::default(), Arc::new(StillClock::default()));
    let late = |clock: &Arc<StillClock>| {
        let tally = Tally::of(&purse);
        // The clock waits for nobody who is still asked.
        let caps = Caps { time: Duration::from_secs(300), ..Caps::default() };
        write(&models, |model| model.caps(caps).tallied(tally).timed(Arc::new(Standing(Arc::clone(clock)))))
    };
    assert_eq!(late(&clock).rung, Rung::Whole);
    clock.advance(Duration::from_secs(299));
    assert_eq!(late(&clock).rung, Rung::Whole);
    clock.advance(Duration::from_secs(1));
    let written = late(&clock);
    assert_eq!((written.rung, written.spent.calls), (Rung::Offline, 0), "{written:?}");
    assert_eq!(written.troubles, ["the time for this compaction is over"]);
}

/// A clock whose waits never end.
#[derive(Debug)]
struct Standing(Arc<StillClock>);

impl epitome_llm::Clock for Standing {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn sleep(&self, _: Duration) -> epitome_llm::Wait<'_> {
        Box::pin(std::future::pending())
    }
}
