//! Summaries by a model behind a real HTTP server: recorded with what they cost, never in the way, never trusted blindly.

use std::sync::Arc;
use std::time::Duration;

use epitome::core::pressure::Level;
use epitome::llm::{Clock, Wait};
use epitome::{Builder, Compact, Engine, Error, Session, Tokens};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::support::{Place, assert_sendable, exchange, on_both};
use crate::upstream::{Act, Reply, Upstream};

on_both!(
    a_summary_is_recorded_with_who_wrote_it_and_what_it_cost,
    nobody_waits_for_a_summary_that_is_prepared,
    a_turn_waits_no_longer_than_its_deadline_and_the_models_summary_comes_later,
    a_model_that_is_gone_costs_nothing_but_its_summary,
    who_closes_the_engine_ends_the_call,
    stretches_survive_a_failure_and_a_restart,
    a_stand_in_stays_where_the_models_summary_no_longer_fits,
    a_summary_is_asked_for_behind_what_was_sent,
    nobody_waits_below_the_hard_threshold_whatever_it_costs,
    a_refused_request_waits_no_longer_than_the_deadline,
    who_waited_for_a_model_once_waits_for_none_again,
    what_is_worth_knowing_is_found_by_the_model,
);

/// A summary that says nothing but what the conversations of these tests say.
pub(crate) const SUMMARY: &str = "## Goal\nTell the user more about the old harbour and its lantern.\n\n## Progress\n### Done\n\
    - [x] Told the user about the harbour, the lantern, the meadow and the river.\n\n## Critical Context\n\
    - The lantern shines over the harbour, and the river runs past the meadow.\n\
    - Boats come and go with the tide.\n";

/// A clock that somebody else moves on.
#[derive(Debug)]
pub(crate) struct HandClock(watch::Sender<Duration>);

impl HandClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::channel(Duration::ZERO).0))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.0.send_modify(|now| *now += Duration::from_secs(seconds));
    }
}

impl Clock for HandClock {
    fn now(&self) -> Duration {
        *self.0.borrow()
    }

    fn sleep(&self, wait: Duration) -> Wait<'_> {
        let end = self.now().saturating_add(wait);
        Box::pin(async move {
            let mut now = self.0.subscribe();
            now.wait_for(|now| *now >= end).await.unwrap();
        })
    }
}

pub(crate) fn by_model(place: &Place, upstream: &Upstream, clock: &Arc<HandClock>) -> Builder {
    let model = format!("anthropic:some-model@{}", upstream.url());
    place.builder().summaries_by([model.as_str()]).waits(clock.clone())
}

pub(crate) async fn talk_until(session: &Session, level: Level) {
    while session.peek().await.unwrap().pressure.level < level {
        chat(session).await;
    }
}

// An exchange that a model can tell in fewer words: there are no names and numbers to be quoted.
pub(crate) async fn chat(session: &Session) {
    let question = "Please tell me more about the old harbour and its lantern.";
    session.append(question).await.unwrap();
    let told = "The lantern shines over the harbour, and the river runs past the meadow. Boats come and go with the tide. ";
    session.reply(epitome::Reply::text(told.repeat(20))).await.unwrap();
}

pub(crate) async fn record(session: &Session) -> (Option<String>, Value) {
    let (turn, record) = session.compaction().await.unwrap().unwrap();
    (turn.model, serde_json::from_str(&record.report.unwrap()).unwrap())
}

async fn a_summary_is_recorded_with_who_wrote_it_and_what_it_cost(place: Place) {
    let upstream = Upstream::new(vec![Act::Say(Reply::new(SUMMARY).billed(20_000, 8_000))]);
    let engine =
        by_model(&place, &upstream, &HandClock::new()).model("claude-haiku-4-5").build().await.unwrap();
    let session = engine.session("recorded").await.unwrap();
    talk_until(&session, Level::Warn).await;
    let outcome = session.compact(Compact::now().within(Tokens(6_000))).await.unwrap();
    assert!(outcome.is_done());
    let written = outcome.summaries.last().unwrap();
    assert_eq!(written.rung.as_str(), "whole", "{written:?}");
    let saves = outcome.saves.unwrap();
    assert!(saves.tokens > Tokens(1_000) && saves.money.is_some(), "{saves:?}");

    let (model, report) = record(&session).await;
    assert!(model.is_some());
    let spent = &report["summaries"]["spent"];
    let calls = upstream.requests().len() as u64;
    assert_eq!(spent["calls"], calls, "{report}");
    assert_eq!((&spent["input"], &spent["cache_read"]), (&(12_000 * calls).into(), &(8_000 * calls).into()));
    assert!(spent["output"].as_u64().unwrap() > 0);
    assert_eq!(report["saves"]["tokens"], saves.tokens.0);
    let asked = &upstream.requests()[0];
    assert_eq!((&asked.body["temperature"], asked.header("x-api-key")), (&0.0.into(), None));
}

async fn nobody_waits_for_a_summary_that_is_prepared(place: Place) {
    let gate = Arc::new(Notify::new());
    let upstream =
        Upstream::new(vec![Act::Behind(gate.clone(), Box::new(Act::say(SUMMARY))), Act::say(SUMMARY)]);
    let clock = HandClock::new();
    let engine = by_model(&place, &upstream, &clock).build().await.unwrap();
    let session = engine.session("prepared").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    upstream.arrived(1).await;
    // The model is at it, and turns go on.
    for _ in 0..3 {
        let said = session.info().await.unwrap().messages;
        chat(&session).await;
        assert_eq!(session.context().await.unwrap().messages().len() as u64, said + 2);
    }
    assert_eq!(clock.now(), Duration::ZERO, "no turn has waited");
    // Half a minute later the summary is there.
    clock.advance(30);
    gate.notify_one();
    assert!(session.prepared().await);
    assert_eq!(engine.time_of_models(), Duration::from_secs(30));
    let ready = clock.now();
    talk_until(&session, Level::Hard).await;
    let context = session.context().await.unwrap();
    assert_eq!(clock.now(), ready, "it was used at once");
    assert_sendable(&context, 32_000);
    assert!(context.pressure.level < Level::Hard);
    let (model, report) = record(&session).await;
    assert!(model.is_some() && report["summaries"]["written"][0]["by"] == "whole", "{report}");
    assert_eq!(session.info().await.unwrap().compactions, 1);
}

async fn a_turn_waits_no_longer_than_its_deadline_and_the_models_summary_comes_later(place: Place) {
    let gate = Arc::new(Notify::new());
    let upstream =
        Upstream::new(vec![Act::Behind(gate.clone(), Box::new(Act::say(SUMMARY))), Act::say(SUMMARY)]);
    let clock = HandClock::new();
    let engine = by_model(&place, &upstream, &clock).build().await.unwrap();
    let session = engine.session("deadline").await.unwrap();
    talk_until(&session, Level::Hard).await;
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.context().await.unwrap() }
    });
    upstream.arrived(1).await;
    clock.advance(19);
    assert!(!waiting.is_finished(), "it waits for the model");
    clock.advance(1);
    let context = waiting.await.unwrap();
    assert_sendable(&context, 32_000);
    assert!(context.pressure.level < Level::Hard, "{}", context.pressure);
    let (model, report) = record(&session).await;
    assert_eq!(model, None, "code has picked it: {report}");

    // Turns go on, the model's summary arrives and takes its place.
    exchange(&session, 900, 100).await;
    session.context().await.unwrap();
    gate.notify_one();
    assert!(session.prepared().await);
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    let (model, report) = record(&session).await;
    assert!(model.is_some(), "{report}");
    assert!(report["notes"].to_string().contains("takes the place"), "{report}");
    assert_eq!(upstream.requests().len(), 1, "it was asked once");
    for said in ["Question 900", "Answer 900"] {
        assert!(context.to_json().contains(said), "{said} is shown");
    }
    let checkup = engine.ledger().doctor().await.unwrap();
    assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
}

async fn a_stand_in_stays_where_the_models_summary_no_longer_fits(place: Place) {
    let gate = Arc::new(Notify::new());
    let upstream =
        Upstream::new(vec![Act::Behind(gate.clone(), Box::new(Act::say(SUMMARY))), Act::say(SUMMARY)]);
    let clock = HandClock::new();
    let engine = by_model(&place, &upstream, &clock).build().await.unwrap();
    let session = engine.session("outgrown").await.unwrap();
    talk_until(&session, Level::Hard).await;
    let (context, ()) = tokio::join!(session.context(), async {
        upstream.arrived(1).await;
        clock.advance(20);
    });
    let standing = context.unwrap().pressure.tokens;
    // So much is said meanwhile that the window would be full again.
    talk_until(&session, Level::Soft).await;
    gate.notify_one();
    session.prepared().await;
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    assert!(context.pressure.tokens > standing);
    session.prepared().await;
    let (_, report) = record(&session).await;
    assert!(!report["notes"].to_string().contains("takes the place"), "{report}");
}

async fn a_model_that_is_gone_costs_nothing_but_its_summary(place: Place) {
    let upstream = Upstream::new(vec![Act::refuse(401, "authentication_error", "invalid x-api-key")]);
    let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("gone").await.unwrap();
    for round in 0..3 {
        talk_until(&session, Level::Hard).await;
        let context = session.context().await.unwrap();
        assert_sendable(&context, 32_000);
        let (model, report) = record(&session).await;
        assert_eq!(model, None);
        let troubles = report["summaries"]["written"][0]["troubles"].to_string();
        assert!(
            troubles.contains("invalid x-api-key") || troubles.contains("left alone"),
            "{round}: {report}"
        );
    }
}

async fn who_closes_the_engine_ends_the_call(place: Place) {
    let upstream = Upstream::new(vec![Act::Silence]);
    let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("closed").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    upstream.arrived(1).await;
    engine.close().await;
    upstream.gone(1).await;
}

async fn stretches_survive_a_failure_and_a_restart(place: Place) {
    // A window in which the conversation has to be told in stretches; the second one fails.
    let fails = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let failing = fails.clone();
    let upstream = Upstream::scripted(move |number, _| {
        match number > 0 && failing.load(std::sync::atomic::Ordering::SeqCst) {
            true => Act::refuse(400, "invalid_request_error", "not today"),
            false => Act::say(SUMMARY),
        }
    });
    let clock = HandClock::new();
    let small = |builder: Builder| {
        let mut models = epitome::core::models::ModelTable::default();
        let window = epitome::core::models::ModelPatch { window: Some(Tokens(12_000)), ..Default::default() };
        models.extend([("some-model".to_owned(), window)]);
        builder.models(models)
    };
    let engine = small(by_model(&place, &upstream, &clock)).build().await.unwrap();
    let session = engine.session("stretches").await.unwrap();
    talk_until(&session, Level::Warn).await;
    let id = session.id();
    let outcome = session.compact(Compact::now().within(Tokens(6_000))).await.unwrap();
    assert_eq!(outcome.summaries[0].rung.as_str(), "offline", "{:?}", outcome.summaries);
    engine.close().await;

    fails.store(false, std::sync::atomic::Ordering::SeqCst);
    let engine = small(by_model(&place, &upstream, &clock)).build().await.unwrap();
    let session = engine.resume(id).await.unwrap();
    session.undo(epitome::Undo::All, epitome::Run::Real).await.unwrap();
    let outcome = session.compact(Compact::now().within(Tokens(6_000))).await.unwrap();
    let written = &outcome.summaries[0];
    assert_eq!(written.rung.as_str(), "staged", "{written:?}");
    assert!(written.chunks > 1 && written.reused > 0, "{written:?}");
}

async fn nobody_waits_below_the_hard_threshold_whatever_it_costs(place: Place) {
    use epitome::core::compact::StrategyName;

    for strategy in [StrategyName::Auto, StrategyName::Tiered, StrategyName::Narrative] {
        let upstream = Upstream::new(vec![Act::Silence]);
        let mut settings = epitome::Settings::default();
        settings.compact.strategy = strategy;
        settings.max_conversation_messages = 10;
        let builder = by_model(&place, &upstream, &HandClock::new()).model("claude-haiku-4-5");
        let builder = builder.settings(epitome::Settings {
            summary: epitome::core::summaries::SummarySettings {
                summarizer: epitome::core::summaries::Writers(vec![format!("openai:m@{}", upstream.url())]),
                ..settings.summary.clone()
            },
            ..settings
        });
        let engine = builder.build().await.unwrap();
        let session = engine.session(strategy.as_str()).await.unwrap();
        while session.peek().await.unwrap().pressure.level < Level::Soft {
            chat(&session).await;
            session.append("Go on.").await.unwrap();
            let context = tokio::time::timeout(Duration::from_secs(30), session.context()).await;
            assert_sendable(&context.expect("it waits for the model").unwrap(), 32_000);
            session.reply(epitome::Reply::text("I do.")).await.unwrap();
        }
        engine.close().await;
    }
}

async fn a_refused_request_waits_no_longer_than_the_deadline(place: Place) {
    let upstream = Upstream::new(vec![Act::Silence]);
    let clock = HandClock::new();
    let engine = by_model(&place, &upstream, &clock).build().await.unwrap();
    let session = engine.session("refused").await.unwrap();
    talk_until(&session, Level::Soft).await;
    let before = session.context().await.unwrap().tokens();
    upstream.arrived(1).await;
    let refusal = epitome::llm::Failure::of_reply(413, b"{}").unwrap();
    let (context, ()) = tokio::join!(session.context_after(&refusal), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        clock.advance(20);
    });
    let context = context.unwrap().unwrap();
    assert!(context.tokens() < before);
    assert_sendable(&context, 32_000);
    assert_eq!(upstream.requests().len(), 1, "nobody else asks it");
}

async fn who_waited_for_a_model_once_waits_for_none_again(place: Place) {
    let gate = Arc::new(tokio::sync::Notify::new());
    let upstream =
        Upstream::new(vec![Act::Behind(Arc::clone(&gate), Box::new(Act::say(SUMMARY))), Act::Silence]);
    let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("patient").await.unwrap();
    talk_until(&session, Level::Soft).await;
    let before = session.context().await.unwrap().tokens();
    upstream.arrived(1).await;
    let refusal = epitome::llm::Failure::of_reply(413, b"{}").unwrap();
    let (context, ()) = tokio::join!(session.context_after(&refusal), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        gate.notify_one();
    });
    assert!(context.unwrap().unwrap().tokens() < before);
    assert_eq!(upstream.requests().len(), 1, "the time of this turn is spent");
}

async fn a_summary_is_asked_for_behind_what_was_sent(place: Place) {
    let upstream = Upstream::new(vec![Act::say(SUMMARY)]);
    let mut settings = epitome::Settings::default();
    settings.summary.summary_behind_prefix = true;
    let model = format!("anthropic:some-model@{}", upstream.url());
    let builder = || place.builder().settings(settings.clone()).summaries_by([model.as_str()]);
    // Another model has nothing of it in its cache, and is not sent the conversation as it is.
    let other = builder().model("another-model").waits(HandClock::new()).build().await.unwrap();
    let session = other.session("beside").await.unwrap();
    session.beside("You tell no stories.", "");
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    assert!(session.prepared().await);
    assert!(!upstream.requests()[0].text.contains("You tell no stories."));
    let asked_before = upstream.requests().len();
    let engine = builder().model("some-model").waits(HandClock::new()).build().await.unwrap();
    let session = engine.session("behind").await.unwrap();
    let tools = r#"[{"name":"look","description":"Looks.","input_schema":{"type":"object"}}]"#;
    session.beside("You tell stories.", tools);
    talk_until(&session, Level::Soft).await;
    session.append("Go on.").await.unwrap();
    let context = session.context().await.unwrap();
    assert!(session.prepared().await);
    let asked = &upstream.requests()[asked_before];
    let messages = context.to_json();
    assert!(asked.text.contains(messages.trim_end_matches(']')), "the messages are sent as they were");
    assert!(asked.text.contains(tools) && asked.body["system"] == "You tell stories.", "{}", asked.text);
    let told = "The lantern shines over the harbour";
    assert_eq!(
        asked.text.matches(told).count(),
        messages.matches(told).count(),
        "nothing is quoted beside them"
    );
}

async fn what_is_worth_knowing_is_found_by_the_model(place: Place) {
    let quote = "The staging cluster runs in Frankfurt since May.";
    let found = format!(r#"{{"kind": "fact", "message": 0, "quote": "{quote}"}}"#);
    let invented = r#"{"kind": "fact", "message": 0, "quote": "The staging cluster runs in Paris."}"#;
    let knowledge = format!("{found}\n{invented}");
    let upstream = Upstream::scripted(move |_, request| match request.text.contains("worth knowing") {
        true => Act::say(&knowledge),
        false => Act::say(SUMMARY),
    });
    let mut settings = epitome::Settings::default();
    settings.summary.learn_by_model = true;
    let model = format!("anthropic:some-model@{}", upstream.url());
    let builder = place.builder().settings(settings).summaries_by([model.as_str()]);
    let engine = builder.waits(HandClock::new()).build().await.unwrap();
    let session = engine.session("knowing").await.unwrap();
    session.append(format!("{quote} Please tell me about the harbour.").as_str()).await.unwrap();
    session.reply(epitome::Reply::text("It is old.")).await.unwrap();
    talk_until(&session, Level::Warn).await;
    assert!(session.compact(Compact::now().within(Tokens(4_000))).await.unwrap().is_done());
    let (_, report) = record(&session).await;
    assert_eq!(
        (&report["learnt"]["found"], &report["learnt"]["dropped"]),
        (&1.into(), &1.into()),
        "{report}"
    );
    let known = engine
        .knowledge(epitome::ledger::model::FindingFilter::default(), epitome::Paging::first(10))
        .await
        .unwrap();
    assert!(known.items.iter().any(|memory| memory.text == quote), "{known:?}");
}

#[test]
fn a_summarizer_that_cannot_be_had_is_told_at_once() {
    crate::support::run(async {
        let place = Place::sqlite();
        let error = |builder: Builder| async { builder.build().await.map(|_: Engine| ()).unwrap_err() };
        let unknown = error(place.builder().summaries_by(["gibberish"])).await;
        assert!(matches!(unknown, Error::Scribe(_)), "{unknown}");
        assert!(unknown.to_string().contains("write anthropic:MODEL"), "{unknown}");
        if std::env::var("ANTHROPIC_API_KEY").is_err() {
            let keyless =
                error(place.builder().summaries_by(["anthropic:claude-haiku-4-5"])).await.to_string();
            assert!(keyless.contains("ANTHROPIC_API_KEY") && keyless.contains("[keys]"), "{keyless}");
        }
    });
}
