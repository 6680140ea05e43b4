//! What is prepared is used as soon as it pays for itself, where it is known what the model costs.

use std::sync::{Arc, Condvar, Mutex};

use epitome::{Builder, Reply, Session};
use epitome_core::Tokens;
use epitome_core::compact::{StrategyName, Summarizer, SummaryError, SummaryRequest};
use epitome_core::pressure::Level;
use epitome_core::settings::Settings;

use crate::support::{Place, assert_sendable, call, exchange, on_both, prose, result};

on_both!(
    what_pays_is_not_put_off_until_it_is_due,
    without_prices_it_waits_until_it_is_due,
    other_strategies_wait_until_it_is_due,
    nobody_waits_for_what_is_not_due,
    a_call_that_failed_is_made_again_with_all_that_the_model_has_not_seen,
);

const EXCHANGES: usize = 120;

/// Of each exchange: the context grows slowly, so that a compaction has time to pay for itself before the next.
const TOKENS: usize = 200;

fn priced(place: &Place) -> Builder {
    place.builder().model("claude-sonnet-4-5").window(Tokens(32_000))
}

// Talks, leaves time for what is prepared in the background, and tells how full the window was each time something was sent.
async fn talked(session: &Session) -> Vec<Level> {
    let mut levels = Vec::new();
    for number in 0..EXCHANGES {
        exchange(session, number, TOKENS).await;
        levels.push(session.peek().await.unwrap().pressure.level);
        assert_sendable(&session.context().await.unwrap(), 32_000);
        session.prepared().await;
    }
    levels
}

async fn what_pays_is_not_put_off_until_it_is_due(place: Place) {
    let engine = priced(&place).build().await.unwrap();
    let session = engine.session("paying").await.unwrap();
    let levels = talked(&session).await;
    assert!(levels.iter().all(|level| *level < Level::Hard), "{levels:?}");
    assert!(session.info().await.unwrap().compactions > 1);
    engine.close().await;
}

async fn without_prices_it_waits_until_it_is_due(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("priceless").await.unwrap();
    let levels = talked(&session).await;
    let due = levels.iter().filter(|level| **level == Level::Hard).count() as u64;
    assert_eq!(session.info().await.unwrap().compactions, due);
    assert!(due > 0);
    engine.close().await;
}

async fn other_strategies_wait_until_it_is_due(place: Place) {
    let mut settings = Settings::default();
    settings.compact.strategy = StrategyName::Checkpoint;
    let engine = priced(&place).settings(settings).build().await.unwrap();
    let session = engine.session("patient").await.unwrap();
    let levels = talked(&session).await;
    let due = levels.iter().filter(|level| **level == Level::Hard).count() as u64;
    assert_eq!(session.info().await.unwrap().compactions, due);
    assert!(due > 0);
    engine.close().await;
}

/// Writes no summary while it is closed, and tells that it was asked for one.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: bool,
    asked: bool,
}

impl Gate {
    fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    fn was_asked(&self) -> bool {
        self.0.0.lock().unwrap().asked
    }
}

impl Summarizer for Gate {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let (state, opened) = &*self.0;
        let mut held = state.lock().unwrap();
        held.asked = true;
        drop(opened.wait_while(held, |state| !state.open).unwrap());
        Ok("## Goal\n- Go on as before.".to_owned())
    }
}

async fn nobody_waits_for_what_is_not_due(place: Place) {
    let gate = Gate::default();
    let engine = priced(&place).summarizer(gate.clone()).build().await.unwrap();
    let session = engine.session("gated").await.unwrap();
    let mut number = 0;
    // Nothing is written as long as the gate is closed, and every context is handed out.
    while !gate.was_asked() {
        exchange(&session, number, TOKENS).await;
        let level = session.peek().await.unwrap().pressure.level;
        assert!(level < Level::Hard, "nothing was prepared before it is due");
        session.context().await.unwrap();
        number += 1;
        let waiting = tokio::spawn({
            let session = session.clone();
            async move { session.prepared().await }
        });
        while !waiting.is_finished() && !gate.was_asked() {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(session.info().await.unwrap().compactions, 0);
    gate.open();
    session.prepared().await;
    exchange(&session, number, 100).await;
    let context = session.context().await.unwrap();
    assert_eq!(session.info().await.unwrap().compactions, 1, "{}", context.pressure);
    engine.close().await;
}

async fn a_call_that_failed_is_made_again_with_all_that_the_model_has_not_seen(place: Place) {
    let engine = priced(&place).build().await.unwrap();
    let session = engine.session("retried").await.unwrap();
    let mut number = 0;
    while session.peek().await.unwrap().pressure.tokens < Tokens(8_800) {
        exchange(&session, number, 200).await;
        number += 1;
    }
    session.append("Now read the file.").await.unwrap();
    session.reply(Reply::from(call("read", "read_file", "{}"))).await.unwrap();
    let file = prose(9_999, 5_000);
    session.append(result("read", &file)).await.unwrap();
    assert!(session.context().await.unwrap().to_json().contains(&file));
    assert_eq!(session.info().await.unwrap().compactions, 0, "{:?}", session.peek().await.unwrap().pressure);
    assert!(session.prepared().await, "nothing was prepared");
    // The model's server failed meanwhile: it has still not seen the file.
    assert!(session.context().await.unwrap().to_json().contains(&file), "cut before it was seen");
    assert_eq!(session.info().await.unwrap().compactions, 0);
    session.reply(Reply::text("I have read it.")).await.unwrap();
    session.append("Go on.").await.unwrap();
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    assert_eq!(session.info().await.unwrap().compactions, 1, "what was prepared is used once it was seen");
    engine.close().await;
}
