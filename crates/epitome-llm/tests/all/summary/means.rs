//! What summaries may take: requests are counted one by one, unusable answers lead to the next endpoint, orders stay.

use std::sync::Arc;

use epitome_core::compact::{Level, SummaryRequest};
use epitome_core::digest::Digest;
use epitome_core::{Entry, Message, Outline, Role, Tokens};
use epitome_llm::summary::{Caps, ModelSummarizer, Rung, Stages, Written};
use epitome_llm::{Backoff, Chance, Models, Patience};

use super::{GOOD, conversation, counter, request, runtime, tokens};
use crate::support::{StillClock, client};
use crate::upstream::{Act, Reply, Stop, Upstream};

fn write(
    upstreams: &[&Upstream],
    level: Level,
    set: impl FnOnce(ModelSummarizer) -> ModelSummarizer,
) -> (String, Written) {
    let runtime = runtime();
    let clients = upstreams.iter().map(|upstream| client(upstream, "openai")).collect();
    let models = Models::with(clients, Backoff::default(), Patience::default());
    let models = models.timed(Arc::new(StillClock::default()), Chance::seeded(3));
    let mut model = set(ModelSummarizer::new(Arc::new(models), runtime.handle.clone()));
    let messages = conversation();
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    let (path, count) = (messages.iter().map(entry).collect::<Vec<_>>(), |text: &str| tokens(text));
    let mut offline = Digest::new(&path, &messages, &count);
    model.write(&SummaryRequest { level, ..request(&messages, &[]) }, &mut offline).unwrap()
}

fn sent(upstreams: &[&Upstream]) -> usize {
    upstreams.iter().map(|upstream| upstream.requests().len()).sum()
}

#[test]
fn attempts_lessons_and_stretches_are_all_counted() {
    let busy = || Act::refuse(529, "overloaded_error", "Overloaded");
    let taught = || Act::refuse(400, "invalid_request_error", "temperature is not supported here");
    for calls in 0..9 {
        let caps = Caps { calls, ..Caps::default() };
        for acts in
            [vec![busy()], vec![taught(), busy()], vec![busy(), taught(), Act::say(""), Act::say(GOOD)]]
        {
            for window in [Tokens(1_300), Tokens(200_000)] {
                let (one, two) = (Upstream::new(acts.clone()), Upstream::new(vec![busy(), Act::say("no")]));
                let stages = Stages { reserve: Tokens(300), ..Stages::default() };
                let (_, written) = write(&[&one, &two], Level::Checkpoint, |model| {
                    model.caps(caps).window(window).stages(stages)
                });
                assert_eq!(sent(&[&one, &two]), written.spent.calls, "{written:?}");
                assert!(written.spent.calls <= calls && written.spent.unanswered <= written.spent.calls);
            }
        }
    }
}

#[test]
fn who_says_nothing_of_use_twice_makes_way_for_the_next() {
    let cases = [
        Act::say(""),
        Act::say("# Weather\nSunny all day."),
        Act::Say(Reply::new("no").stopped(Stop::Declined)),
        Act::say("<think>I wonder about the parser"),
    ];
    for act in cases {
        let (useless, good) = (Upstream::new(vec![act.clone()]), Upstream::new(vec![Act::say(GOOD)]));
        let (text, written) = write(&[&useless, &good], Level::Checkpoint, |model| model);
        assert_eq!((written.rung, written.retries), (Rung::Whole, 1), "{act:?} {written:?}");
        assert_eq!((useless.requests().len(), good.requests().len()), (2, 1), "{act:?}");
        assert!(!written.troubles.is_empty() && text.contains("**Use the chrono crate**"));
        // Where nobody is left, code writes.
        let (_, written) = write(&[&useless], Level::Checkpoint, |model| model);
        assert_eq!(written.rung, Rung::Offline, "{act:?}");
    }
}

#[test]
fn every_level_keeps_orders_and_goal_that_the_model_forgets() {
    let forgetful = "We decided to use the chrono crate because it validates dates. thread panicked at src/parser.rs:88: month out of range. The parser in src/parser.rs reads the month from group one now.";
    for level in [Level::Narrative, Level::Rolling, Level::Topic, Level::Bulk] {
        let upstream = Upstream::new(vec![Act::say(forgetful)]);
        let (text, written) = write(&[&upstream], level, |model| model);
        assert!(written.added > 0 && written.score.is_some(), "{level:?} {written:?}");
        for kept in ["Never touch src/generated.rs", "must stay at 4096 bytes", "fix the date parser"] {
            assert!(text.contains(kept), "{level:?} {kept}: {written:?}\n{text}");
        }
    }
}

// Other things go first, however little room there is.
#[test]
fn orders_are_the_last_to_go() {
    let orders = "- Never touch src/generated.rs, it is written by a tool.\n- The limit must stay at 4096 bytes per line.\n";
    let context = "\n- thread panicked at src/parser.rs:88: month out of range".repeat(12);
    for answer in [format!("{GOOD}{context}"), format!("{}{context}", GOOD.replace(orders, ""))] {
        for room in [130, 160, 200, 260] {
            let upstream = Upstream::new(vec![Act::say(&answer)]);
            let (text, written) = write_within(&upstream, Tokens(room), &[], &[]);
            assert!(tokens(&text) <= Tokens(room), "{text}");
            // There the model says next to nothing beside what it forgot, and code writes what it writes alone.
            if room == 130 && !answer.contains(orders) {
                assert_eq!(written.rung, Rung::Offline, "{written:?}");
                continue;
            }
            assert_eq!(written.rung, Rung::Whole, "{room} {written:?}");
            for order in ["Never touch src/generated.rs", "must stay at 4096 bytes"] {
                assert!(text.contains(order), "{room} {written:?}\n{text}");
            }
        }
    }
}

#[test]
fn an_order_that_an_earlier_summary_lost_comes_back() {
    let orders = "- Never touch src/generated.rs, it is written by a tool.\n- The limit must stay at 4096 bytes per line.\n";
    let previous = [GOOD.replace(orders, "")];
    let upstream = Upstream::new(vec![Act::say(r#"{"changes": []}"#)]);
    let mut path = conversation();
    path.push(Message::text(Role::Assistant, "tests/dates.rs is written, with the leap years. ".repeat(20)));
    let (text, written) = write_within(&upstream, Tokens(600), &path, &previous);
    assert_eq!(written.rung, Rung::Delta, "{written:?}");
    assert!(
        text.contains("Never touch src/generated.rs") && text.contains("must stay at 4096 bytes"),
        "{text}"
    );
}

// Within so much room; with a path, its last messages are new and an earlier summary stands for the others.
fn write_within(
    upstream: &Upstream,
    room: Tokens,
    path: &[Message],
    previous: &[String],
) -> (String, Written) {
    let (runtime, whole) = (runtime(), conversation());
    let first = if path.is_empty() { 0 } else { whole.len() - 1 };
    let all = if path.is_empty() { &whole } else { path };
    let mut model = super::summarizer(upstream, &runtime);
    let entry = |message| Entry { outline: Outline::of(message, &counter(), 0).into(), time: None };
    let (entries, count) = (all.iter().map(entry).collect::<Vec<_>>(), |text: &str| tokens(text));
    let mut offline = Digest::new(&entries, all, &count);
    let request = request(all.get(first..).unwrap(), previous);
    let request = SummaryRequest { first, range: 0..all.len(), max_tokens: room, ..request };
    model.write_of(&request, &mut offline, path).unwrap()
}
