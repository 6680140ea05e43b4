//! What models bill is learnt from usage, and known to the engines that come after.

use std::time::Duration;

use epitome::{Builder, Engine, Reply, Session};
use epitome_core::{Tokens, Usage};

use crate::support::{Place, on_both, prose};

on_both!(
    what_was_learnt_is_known_after_a_restart,
    what_one_engine_learnt_another_does_not_destroy,
    a_few_lessons_do_not_wait_for_the_end,
    what_cannot_be_read_is_learnt_anew,
);

const MODEL: &str = "claude-sonnet-4.5";
/// What the provider calls it in its answers.
const ANSWERS_AS: &str = "claude-sonnet-4-5-20250929";

/// Tokens that the model of these tests bills for one that is counted.
const RATIO: f64 = 1.7;

fn builder(place: &Place) -> Builder {
    place.builder().model(MODEL).window(Tokens(1_000_000))
}

/// Calls whose usage is the same multiple of what is counted.
async fn teach(session: &Session, calls: usize) {
    for number in 0..calls {
        session.append(format!("{number}: {}", prose(number, 600)).as_str()).await.unwrap();
        let counted = session.context().await.unwrap().tokens();
        let output = Tokens(9);
        let usage = Usage { input: Tokens((counted.0 as f64 * RATIO) as u64), output, ..Usage::default() };
        let reply = Reply::text("Understood, go on.").billed(usage);
        session.reply(Reply { model: Some(ANSWERS_AS.to_owned()), ..reply }).await.unwrap();
    }
}

/// What a new session of these words is taken to cost, by token counted.
async fn estimated(engine: &Engine, key: &str) -> f64 {
    let session = engine.session(key).await.unwrap();
    session.append(prose(7, 4_000).as_str()).await.unwrap();
    let context = session.peek().await.unwrap();
    context.pressure.tokens.0 as f64 / context.tokens().0 as f64
}

async fn kept(engine: &Engine, model: &str) -> Option<String> {
    let memo = engine.ledger().memo(engine.tenant(), "calibration", model).await.unwrap();
    memo.map(|memo| memo.value)
}

/// From how many calls it was learnt what is kept.
async fn samples(engine: &Engine) -> u64 {
    let kept: serde_json::Value = serde_json::from_str(&kept(engine, MODEL).await.unwrap()).unwrap();
    kept["samples"].as_u64().unwrap()
}

async fn what_was_learnt_is_known_after_a_restart(place: Place) {
    let engine = builder(&place).build().await.unwrap();
    let untaught = estimated(&engine, "untaught").await;
    teach(&engine.session("taught").await.unwrap(), 30).await;
    let taught = estimated(&engine, "before").await;
    assert!((taught - RATIO).abs() < (untaught - RATIO).abs() / 2.0, "{untaught} became {taught}");
    engine.close().await;

    let engine = builder(&place).build().await.unwrap();
    let after = estimated(&engine, "after").await;
    assert!((after - taught).abs() < 1e-9, "{taught} before the restart, {after} after it");
    engine.close().await;

    let other = place.builder().model("gpt-4o").build().await.unwrap();
    assert!(estimated(&other, "other").await < 1.2, "what one model bills says nothing of another");
    other.close().await;
}

async fn what_one_engine_learnt_another_does_not_destroy(place: Place) {
    let (much, little) = (builder(&place).build().await.unwrap(), builder(&place).build().await.unwrap());
    teach(&much.session("much").await.unwrap(), 30).await;
    let taught = estimated(&much, "before").await;
    much.close().await;
    // It was there before, and knows nothing of what the other one learnt meanwhile.
    teach(&little.session("little").await.unwrap(), 3).await;
    little.close().await;

    let engine = builder(&place).build().await.unwrap();
    let after = estimated(&engine, "after").await;
    assert!((after - taught).abs() < 0.01, "{taught} was learnt, {after} is known");
    assert!(samples(&engine).await >= 29, "the lessons of the one are still there");
    engine.close().await;
}

async fn a_few_lessons_do_not_wait_for_the_end(place: Place) {
    let engine = builder(&place).build().await.unwrap();
    teach(&engine.session("taught").await.unwrap(), 2).await;
    // The first call is an anchor, the second a lesson.
    let kept = async {
        while kept(&engine, MODEL).await.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), kept).await.unwrap();
    engine.close().await;
}

async fn what_cannot_be_read_is_learnt_anew(place: Place) {
    let engine = builder(&place).build().await.unwrap();
    let untaught = estimated(&engine, "untaught").await;
    engine.ledger().put_memo(engine.tenant(), "calibration", MODEL, "{}").await.unwrap();
    engine.close().await;

    let engine = builder(&place).build().await.unwrap();
    assert!((estimated(&engine, "still untaught").await - untaught).abs() < 1e-9);
    teach(&engine.session("taught").await.unwrap(), 2).await;
    engine.close().await;
    let engine = builder(&place).build().await.unwrap();
    assert_eq!(samples(&engine).await, 1);
    engine.close().await;
}
