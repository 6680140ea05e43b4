//! Summaries that are prepared ahead of need, by a summariser that takes its time.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use epitome::{Compact, Engine, Run, Session, Undo};
use epitome_core::Tokens;
use epitome_core::compact::{Summarizer, SummaryError, SummaryRequest};
use epitome_core::pressure::Level;

use crate::support::{Place, assert_sendable, exchange, on_both};

on_both!(
    nobody_waits_for_a_summary_below_the_hard_threshold,
    what_was_prepared_for_another_base_is_dropped,
    what_was_prepared_before_an_undo_is_dropped,
    who_closes_the_engine_leaves_no_lease_behind,
    what_is_pinned_after_a_summary_was_prepared_stays,
    what_no_longer_fits_makes_room_for_another,
    who_has_time_waits_until_it_is_prepared,
);

/// Counts who asks for a summary, and writes none while it is closed.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: bool,
    asked: usize,
}

impl Gate {
    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    pub(crate) fn close(&self) {
        self.0.0.lock().unwrap().open = false;
    }

    pub(crate) fn asked(&self) -> usize {
        self.0.0.lock().unwrap().asked
    }
}

impl Summarizer for Gate {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let mut state = self.0.0.lock().unwrap();
        state.asked += 1;
        drop(self.0.1.wait_while(state, |state| !state.open).unwrap());
        Ok("## Goal\n- Go on as before.".to_owned())
    }
}

async fn gated(place: &Place) -> (Engine, Session, Gate) {
    let gate = Gate::default();
    let engine = place.builder().summarizer(gate.clone()).build().await.unwrap();
    let session = engine.session("background").await.unwrap();
    (engine, session, gate)
}

// Talks until the window is as full as this.
async fn talk_until(session: &Session, level: Level, mut number: usize) -> usize {
    while session.peek().await.unwrap().pressure.level < level {
        exchange(session, number, 600).await;
        number += 1;
    }
    number
}

async fn asked_after(gate: &Gate, before: usize) {
    while gate.asked() == before {
        tokio::task::yield_now().await;
    }
}

async fn nobody_waits_for_a_summary_below_the_hard_threshold(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    let number = talk_until(&session, Level::Soft, 0).await;
    assert_sendable(&session.context().await.unwrap(), 32_000);
    asked_after(&gate, 0).await;
    let covered = session.info().await.unwrap().messages;
    exchange(&session, number, 100).await;
    let context = session.context().await.unwrap();
    assert_eq!(context.messages().len() as u64, covered + 2, "nothing is hidden yet, and nobody waited");

    gate.open();
    talk_until(&session, Level::Hard, number + 1).await;
    let length = session.info().await.unwrap().messages;
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    assert!(context.pressure.level < Level::Hard);
    assert_eq!(gate.asked(), 1, "what was ready is used: nothing else was written");
    for ordinal in covered..length {
        assert!(context.messages().any(|shown| shown.ordinal == Some(ordinal)), "{ordinal} came meanwhile");
    }
    assert_eq!(session.info().await.unwrap().compactions, 1);
    engine.close().await;
}

async fn what_was_prepared_for_another_base_is_dropped(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    let number = talk_until(&session, Level::Soft, 0).await;
    session.context().await.unwrap();
    asked_after(&gate, 0).await;
    gate.open();
    // This one waits until the other is ready, and takes its base away.
    let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert!(outcome.is_done());
    let asked = gate.asked();
    assert!(asked > 1);
    talk_until(&session, Level::Hard, number).await;
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    assert!(gate.asked() > asked, "what is no longer there was not used: another one was written");
    assert_eq!(session.info().await.unwrap().compactions, 2);
    engine.close().await;
}

async fn what_was_prepared_before_an_undo_is_dropped(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    gate.open();
    let number = talk_until(&session, Level::Warn, 0).await;
    assert!(session.compact(Compact::now().within(Tokens(4_000))).await.unwrap().is_done());
    let number = talk_until(&session, Level::Soft, number).await;
    let asked = gate.asked();
    gate.close();
    session.context().await.unwrap();
    asked_after(&gate, asked).await;
    gate.open();
    // This one waits until the other is ready, and shows again what that took for hidden.
    let undone = session.undo(Undo::Last, Run::Real).await.unwrap();
    assert!(undone.is_done());
    let asked = gate.asked();
    talk_until(&session, Level::Hard, number).await;
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    assert!(context.pressure.level < Level::Hard);
    assert!(gate.asked() > asked, "what is no longer there was not used: another one was written");
    assert_eq!(session.info().await.unwrap().compactions, 3);
    engine.close().await;
}

async fn who_closes_the_engine_leaves_no_lease_behind(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    talk_until(&session, Level::Soft, 0).await;
    session.context().await.unwrap();
    asked_after(&gate, 0).await;
    engine.close().await;
    gate.open();
    let next = place.engine().await;
    let taken = next.ledger().acquire_lease(next.tenant(), session.id(), "next", LEASE).await;
    assert!(taken.is_ok(), "{taken:?}");
    next.close().await;
}

async fn what_is_pinned_after_a_summary_was_prepared_stays(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    let number = talk_until(&session, Level::Soft, 0).await;
    session.context().await.unwrap();
    asked_after(&gate, 0).await;
    session.pin(5..6, None).await.unwrap();
    gate.open();
    talk_until(&session, Level::Hard, number).await;
    let context = session.context().await.unwrap();
    assert!(context.pressure.level < Level::Hard);
    assert!(context.messages().any(|shown| shown.ordinal == Some(5)), "what is pinned is shown");
    engine.close().await;
}

async fn what_no_longer_fits_makes_room_for_another(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    let number = talk_until(&session, Level::Soft, 0).await;
    session.context().await.unwrap();
    asked_after(&gate, 0).await;
    gate.open();
    session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    let asked = gate.asked();
    talk_until(&session, Level::Soft, number).await;
    assert_eq!(gate.asked(), asked);
    session.context().await.unwrap();
    asked_after(&gate, asked).await;
    engine.close().await;
}

/// How long the lease of whoever comes next lasts.
const LEASE: Duration = Duration::from_secs(1);

async fn who_has_time_waits_until_it_is_prepared(place: Place) {
    let (engine, session, gate) = gated(&place).await;
    assert!(!session.prepared().await, "there is nothing to wait for");
    talk_until(&session, Level::Soft, 0).await;
    session.context().await.unwrap();
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.prepared().await }
    });
    asked_after(&gate, 0).await;
    assert!(!waiting.is_finished(), "the summary is not written yet");
    gate.open();
    assert!(waiting.await.unwrap());
    assert!(!session.prepared().await, "it is ready");
    // One that is given up does not keep anybody waiting either.
    gate.close();
    let other = engine.session("given up").await.unwrap();
    talk_until(&other, Level::Soft, 0).await;
    other.context().await.unwrap();
    let waiting = tokio::spawn({
        let other = other.clone();
        async move { other.prepared().await }
    });
    asked_after(&gate, 1).await;
    gate.open();
    engine.close().await;
    waiting.await.unwrap();
}
