//! Hooks: asked before, told after, and never in the way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use epitome::{Answer, Compact, Compacted, Compacting, Hook, Told};
use epitome_core::Tokens;
use epitome_core::compact::Decision;

use crate::support::{Place, assert_sendable, exchange, on_both};

on_both!(
    hooks_are_asked_before_and_told_after,
    a_veto_postpones_until_there_is_no_room,
    hooks_that_fail_hold_nothing_up
);

/// Writes down what it hears, and answers as it was told to.
#[derive(Clone, Default)]
struct Listener {
    heard: Arc<Mutex<Vec<String>>>,
    answer: Answer,
}

impl Hook for Listener {
    fn compacting(&self, event: Arc<Compacting>) -> Told<Answer> {
        let line = format!("compacting {} of {} in {}", event.count(), event.agent, event.session);
        self.heard.lock().unwrap().push(line);
        let answer = self.answer.clone();
        Box::pin(async move { Ok(answer) })
    }

    fn compacted(&self, event: Arc<Compacted>) -> Told<()> {
        let dropped: u64 = event.dropped.iter().map(|range| range.end - range.start).sum();
        self.heard.lock().unwrap().push(format!("compacted, {dropped} dropped"));
        Box::pin(async { Ok(()) })
    }
}

async fn hooks_are_asked_before_and_told_after(place: Place) {
    let listener = Listener { answer: Answer::pin(2..3), ..Listener::default() };
    let engine = place.builder().hook("listener", listener.clone()).build().await.unwrap();
    let session = engine.session("hooks").await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert_eq!(outcome.report.decision, Decision::Compacted);
    let heard = listener.heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].starts_with("compacting ") && heard[0].contains("of tester in"), "{heard:?}");
    assert!(!heard[0].starts_with("compacting 0"), "{heard:?}");
    assert!(heard[1].starts_with("compacted, ") && !heard[1].contains(" 0 dropped"), "{heard:?}");
    let context = session.context().await.unwrap();
    assert!(context.messages().any(|message| message.ordinal == Some(2)), "what a hook pins stays");
}

async fn a_veto_postpones_until_there_is_no_room(place: Place) {
    let listener = Listener { answer: Answer::veto("in the middle of a deployment"), ..Listener::default() };
    let engine = place.builder().hook("deployer", listener.clone()).build().await.unwrap();
    let session = engine.session("veto").await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert!(!outcome.is_done());
    assert_eq!(outcome.vetoes, ["deployer: in the middle of a deployment"]);
    for number in 10..40 {
        exchange(&session, number, 1_000).await;
        assert_sendable(&session.context().await.unwrap(), 32_000);
    }
    assert!(session.info().await.unwrap().compactions > 0, "at the hard threshold nobody can veto");
}

/// Fails, panics or hangs.
struct Broken(&'static str);

impl Hook for Broken {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        match self.0 {
            "fails" => Box::pin(async { Err("no connection".into()) }),
            "panics" => Box::pin(async { panic!("on purpose") }),
            _ => Box::pin(std::future::pending()),
        }
    }
}

async fn hooks_that_fail_hold_nothing_up(place: Place) {
    let listener = Listener::default();
    let builder = place.builder().hook_timeout(Duration::from_secs(4));
    let builder =
        builder.hook("one", Broken("fails")).hook("two", Broken("panics")).hook("three", Broken("hangs"));
    let engine = builder.hook("four", listener.clone()).build().await.unwrap();
    let session = engine.session("broken").await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert!(outcome.is_done());
    assert_eq!(outcome.notes.len(), 3, "{:?}", outcome.notes);
    assert!(outcome.notes[0].contains("one failed: no connection"));
    assert!(outcome.notes[1].contains("two panicked"));
    assert!(outcome.notes[2].contains("three took longer"));
    assert_eq!(listener.heard.lock().unwrap().len(), 2, "the others are heard as usual");
}
