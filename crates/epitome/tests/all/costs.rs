//! What models cost is recorded, whatever became of what they were asked: nothing that was spent vanishes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome::core::compact::StrategyName;
use epitome::core::cost::{Money, Tariff};
use epitome::core::models::{ModelPatch, ModelTable, Price};
use epitome::core::pressure::Level;
use epitome::{Answer, Builder, Compact, Compacting, Hook, Session, Tokens, Told};
use serde_json::Value;
use tokio::sync::Notify;

use crate::models::{HandClock, SUMMARY, by_model, chat, record, talk_until};
use crate::support::{Place, exchange, on_both};
use crate::upstream::{Act, Reply, Upstream};

on_both!(
    a_call_that_was_given_up_is_recorded_with_what_took_its_place,
    a_summary_that_was_thrown_away_is_recorded_with_the_next_compaction,
    a_call_that_was_cut_off_by_the_end_of_a_process_is_recorded_by_the_next,
    what_was_learnt_in_vain_is_recorded,
    who_closes_the_engine_ends_learning,
    a_step_that_came_to_nothing_is_not_tried_again_at_every_turn,
    caps_hold_for_a_compaction_however_often_it_begins_again,
    what_is_learnt_draws_on_the_same_purse,
    what_came_to_nothing_can_be_asked_for,
    what_a_price_of_ones_own_comes_to_is_recorded,
    money_that_was_spent_in_vain_is_recorded,
    a_cap_on_money_holds,
);

/// Tokens in and out of what was spent.
fn tokens(spent: &Value) -> (u64, u64) {
    let figure = |name: &str| spent[name].as_u64().unwrap();
    (figure("input") + figure("cache_read") + figure("cache_write"), figure("output"))
}

fn learning(place: &Place, upstream: &Upstream, clock: &Arc<HandClock>) -> Builder {
    let mut settings = epitome::Settings::default();
    settings.summary.learn_by_model = true;
    let model = format!("anthropic:some-model@{}", upstream.url());
    place.builder().settings(settings).summaries_by([model.as_str()]).waits(clock.clone())
}

async fn a_call_that_was_given_up_is_recorded_with_what_took_its_place(place: Place) {
    let upstream = Upstream::new(vec![Act::Silence]);
    let clock = HandClock::new();
    let engine = by_model(&place, &upstream, &clock).build().await.unwrap();
    let session = engine.session("given-up").await.unwrap();
    talk_until(&session, Level::Warn).await;
    let (context, ()) = tokio::join!(session.context_within(Tokens(6_000)), async {
        upstream.arrived(1).await;
        clock.advance(20);
    });
    assert!(context.unwrap().tokens() <= Tokens(6_000));
    let (model, report) = record(&session).await;
    assert_eq!(model, None);
    let spent = &report["summaries"]["spent"];
    assert_eq!((&spent["calls"], &spent["unanswered"]), (&1.into(), &1.into()), "{report}");
    let (sent, said) = tokens(spent);
    assert!(sent > 1_000 && said == 0 && spent["estimated"] == sent, "{spent}");
    upstream.gone(1).await;
    // It is told once.
    talk_until(&session, Level::Warn).await;
    session.compact(Compact::now().within(Tokens(6_000)).offline()).await.unwrap();
    let (_, report) = record(&session).await;
    assert_eq!((&report["summaries"], &report["unused"]), (&Value::Null, &Value::Null), "{report}");
}

async fn a_summary_that_was_thrown_away_is_recorded_with_the_next_compaction(place: Place) {
    let upstream = Upstream::new(vec![Act::Say(Reply::new(SUMMARY).billed(20_000, 8_000))]);
    let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("thrown-away").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    session.prepared().await;
    let calls = upstream.requests().len();
    assert!(calls > 0);
    // What is ready knows nothing of this.
    session.pin(0..1, None).await.unwrap();
    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    let (_, report) = record(&session).await;
    let (unused, calls) = (&report["unused"], calls as u64);
    assert_eq!(unused["calls"], calls, "{report}");
    assert_eq!(
        (&unused["input"], &unused["cache_read"]),
        (&(12_000 * calls).into(), &(8_000 * calls).into())
    );
    assert_eq!(unused["estimated"], 0, "{unused}");
}

async fn a_call_that_was_cut_off_by_the_end_of_a_process_is_recorded_by_the_next(place: Place) {
    let upstream = Upstream::new(vec![Act::Silence]);
    let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("cut-off").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    upstream.arrived(1).await;
    engine.close().await;

    let engine = place.engine().await;
    let session = engine.session("cut-off").await.unwrap();
    assert!(session.compact(Compact::now().within(Tokens(6_000))).await.unwrap().is_done());
    let (_, report) = record(&session).await;
    let unused = &report["unused"];
    assert_eq!((&unused["calls"], &unused["unanswered"]), (&1.into(), &1.into()), "{report}");
    assert!(tokens(unused).0 > 1_000 && unused["estimated"] == tokens(unused).0, "{unused}");
    engine.close().await;

    // It is told once.
    let engine = place.engine().await;
    let session = engine.session("cut-off").await.unwrap();
    talk_until(&session, Level::Warn).await;
    assert!(session.compact(Compact::now().within(Tokens(6_000))).await.unwrap().is_done());
    assert_eq!(record(&session).await.1["unused"], Value::Null);
}

async fn what_was_learnt_in_vain_is_recorded(place: Place) {
    let upstream = Upstream::scripted(|_, request| match request.text.contains("worth knowing") {
        true => Act::Say(Reply::new("I know nothing.").billed(500, 0)),
        false => Act::say(SUMMARY),
    });
    let engine = learning(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("in-vain").await.unwrap();
    talk_until(&session, Level::Warn).await;
    assert!(session.compact(Compact::now().within(Tokens(4_000))).await.unwrap().is_done());
    let (_, report) = record(&session).await;
    assert_eq!(report["learnt"], Value::Null, "{report}");
    assert!(report["unused"]["calls"].as_u64() > Some(0) && tokens(&report["unused"]).0 >= 500, "{report}");
}

fn capped(place: &Place, upstream: &Upstream, calls: usize) -> Builder {
    let mut settings = epitome::Settings::default();
    settings.summary.summary_max_calls = calls;
    settings.summary.learn_by_model = true;
    let model = format!("anthropic:some-model@{}", upstream.url());
    place.builder().settings(settings).summaries_by([model.as_str()]).waits(HandClock::new())
}

async fn caps_hold_for_a_compaction_however_often_it_begins_again(place: Place) {
    let gate = Arc::new(Notify::new());
    let upstream =
        Upstream::new(vec![Act::Behind(Arc::clone(&gate), Box::new(Act::say(SUMMARY))), Act::say(SUMMARY)]);
    let engine = capped(&place, &upstream, 1).build().await.unwrap();
    let session = engine.session("again").await.unwrap();
    talk_until(&session, Level::Warn).await;
    let (outcome, ()) = tokio::join!(session.compact(Compact::now().within(Tokens(6_000))), async {
        upstream.arrived(1).await;
        // What the model writes knows nothing of this, so that all begins again.
        session.pin(0..1, None).await.unwrap();
        gate.notify_one();
    });
    let outcome = outcome.unwrap();
    assert!(outcome.is_done());
    assert_eq!(upstream.requests().len(), 1, "{:?}", outcome.summaries);
    let written = outcome.summaries.last().unwrap();
    assert_eq!(written.rung.as_str(), "offline", "{written:?}");
    assert!(written.troubles.iter().any(|trouble| trouble.contains("would cost more")), "{written:?}");
    let (_, report) = record(&session).await;
    assert_eq!(report["unused"]["calls"], 1, "{report}");
}

async fn what_is_learnt_draws_on_the_same_purse(place: Place) {
    for (calls, learns) in [(1, false), (9, true)] {
        let upstream = Upstream::scripted(|_, request| match request.text.contains("worth knowing") {
            true => Act::say(r#"{"kind": "fact", "message": 0, "quote": "nothing of the kind"}"#),
            false => Act::say(SUMMARY),
        });
        let engine = capped(&place, &upstream, calls).build().await.unwrap();
        let session = engine.session(format!("learns with {calls}")).await.unwrap();
        talk_until(&session, Level::Warn).await;
        assert!(session.compact(Compact::now().within(Tokens(6_000))).await.unwrap().is_done());
        let asked = upstream.requests();
        let has_learnt = asked.iter().any(|request| request.text.contains("worth knowing"));
        assert_eq!(has_learnt, learns, "{} requests", asked.len());
        assert!(asked.len() <= calls);
    }
}

async fn what_came_to_nothing_can_be_asked_for(place: Place) {
    let upstream = Upstream::new(vec![Act::Say(Reply::new(SUMMARY).billed(20_000, 8_000))]);
    let clock = HandClock::new();
    let engine = by_model(&place, &upstream, &clock).build().await.unwrap();
    let session = engine.session("in-the-end").await.unwrap();
    assert!(session.spent_in_vain().await.is_none());
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    session.prepared().await;
    // The conversation ends before what is ready is used.
    let spent = session.spent_in_vain().await.unwrap();
    let calls = upstream.requests().len();
    assert_eq!((spent.calls, spent.usage.total_input()), (calls, Tokens(20_000 * calls as u64)));
    assert_eq!(session.spent_in_vain().await, Some(spent), "it is not told to anybody yet");
}

/// A server of one's own whose model costs what its owner says.
fn priced() -> (ModelTable, Tariff) {
    let mut models = ModelTable::default();
    let price = Some(Price { input: 3.0, output: 15.0 });
    models.extend([("some-model".to_owned(), ModelPatch { price, ..Default::default() })]);
    let tariff = Tariff::of(&models.get("some-model").model);
    (models, tariff)
}

/// What was spent in money, and what its tokens come to.
fn money(spent: &Value, tariff: &Tariff) -> (f64, f64) {
    let figure = |name: &str| Tokens(spent[name].as_u64().unwrap());
    let usage = epitome::Usage {
        input: figure("input"),
        cache_read: figure("cache_read"),
        cache_write: figure("cache_write"),
        output: figure("output"),
    };
    let expected = tariff.billed(&usage) + tariff.output(usage.total_input(), usage.output);
    (spent["micro_dollars"].as_f64().unwrap(), expected.as_micros())
}

async fn what_a_price_of_ones_own_comes_to_is_recorded(place: Place) {
    let upstream = Upstream::new(vec![Act::Say(Reply::new(SUMMARY).billed(20_000, 8_000))]);
    let (models, tariff) = priced();
    let engine = by_model(&place, &upstream, &HandClock::new()).models(models).build().await.unwrap();
    let session = engine.session("priced").await.unwrap();
    talk_until(&session, Level::Warn).await;
    let outcome = session.compact(Compact::now().within(Tokens(6_000))).await.unwrap();
    assert!(outcome.is_done());
    let (_, report) = record(&session).await;
    let (paid, expected) = money(&report["summaries"]["spent"], &tariff);
    assert!(paid > 30_000.0 && (paid - expected).abs() < 0.001, "{paid} of {expected}: {report}");
    assert_eq!(outcome.spent.unwrap().money, Some(Money::of_micros(paid)));
}

async fn money_that_was_spent_in_vain_is_recorded(place: Place) {
    let upstream = Upstream::new(vec![Act::Say(Reply::new(SUMMARY).billed(20_000, 8_000))]);
    let (models, tariff) = priced();
    let engine = by_model(&place, &upstream, &HandClock::new()).models(models).build().await.unwrap();
    let session = engine.session("vain-money").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    session.prepared().await;
    // What is ready knows nothing of this.
    session.pin(0..1, None).await.unwrap();
    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    let (_, report) = record(&session).await;
    let (paid, expected) = money(&report["unused"], &tariff);
    assert!(paid > 30_000.0 && (paid - expected).abs() < 0.001, "{paid} of {expected}: {report}");
}

async fn a_cap_on_money_holds(place: Place) {
    // The model's answers are of no use, so that it is asked again where that may be paid.
    let asked = async |cap: Option<Money>| {
        let upstream = Upstream::new(vec![Act::Say(Reply::new("I would rather not.").billed(20_000, 0))]);
        let mut settings = epitome::Settings::default();
        settings.summary.summary_max_cost = cap;
        let model = format!("anthropic:some-model@{}", upstream.url());
        let builder = place.builder().settings(settings).models(priced().0);
        let builder = builder.summaries_by([model.as_str()]).waits(HandClock::new());
        let engine = builder.build().await.unwrap();
        let session = engine.session(format!("capped at {cap:?}")).await.unwrap();
        talk_until(&session, Level::Warn).await;
        let outcome = session.compact(Compact::now().within(Tokens(6_000))).await.unwrap();
        assert!(outcome.is_done() && !outcome.notes.iter().any(|note| note.contains("does not hold")));
        let paid = outcome.spent.and_then(|spent| spent.money).unwrap_or(Money::ZERO);
        engine.close().await;
        (upstream.requests().len(), paid)
    };
    let (free, paid) = asked(None).await;
    assert!(free > 1 && paid > Money::micros(100_000), "{free} calls for {paid}");
    assert_eq!(asked(Some(Money::micros(1_000))).await, (0, Money::ZERO), "not one call may be paid");
    let cap = Money::micros(170_000);
    let (calls, paid) = asked(Some(cap)).await;
    assert!(calls >= 1 && calls <= free && paid <= cap, "{calls} of {free} calls for {paid}");
}

async fn who_closes_the_engine_ends_learning(place: Place) {
    let upstream = Upstream::scripted(|_, request| match request.text.contains("worth knowing") {
        true => Act::Silence,
        false => Act::say(SUMMARY),
    });
    let engine = learning(&place, &upstream, &HandClock::new()).build().await.unwrap();
    let session = engine.session("learning").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    session.prepared().await;
    // The compaction is ready, and somebody still learns from what it will hide.
    upstream.arrived(upstream.requests().len().max(2)).await;
    engine.close().await;
    upstream.gone(1).await;
}

/// Counts the compactions that are begun, and postpones them.
#[derive(Clone, Default)]
struct Postponer(Arc<AtomicUsize>);

impl Hook for Postponer {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Answer::veto("not now")) })
    }
}

async fn a_step_that_came_to_nothing_is_not_tried_again_at_every_turn(place: Place) {
    let upstream = Upstream::new(vec![Act::say(SUMMARY)]);
    let mut settings = epitome::Settings::default();
    settings.compact.strategy = StrategyName::Narrative;
    settings.max_conversation_messages = 8;
    let model = format!("anthropic:some-model@{}", upstream.url());
    let builder = place.builder().settings(settings).summaries_by([model.as_str()]);
    let begun = Postponer::default();
    let engine = builder.waits(HandClock::new()).hook("later", begun.clone()).build().await.unwrap();
    let session = engine.session("steps").await.unwrap();
    for number in 0..8 {
        exchange(&session, number, 1_000).await;
    }
    let turn = async |session: &Session| {
        session.context().await.unwrap();
        session.prepared().await;
        begun.0.load(Ordering::SeqCst)
    };
    let first = turn(&session).await;
    assert_eq!(first, 1, "there is something to summarise, far from any threshold");
    for _ in 0..5 {
        session.append("Go on.").await.unwrap();
        session.reply(epitome::Reply::text("I do.")).await.unwrap();
        assert_eq!(turn(&session).await, first);
    }
    for _ in 0..4 {
        chat(&session).await;
    }
    assert_eq!(turn(&session).await, first + 1, "once the context has grown");
}
