//! What every summary of a session is to mind: kept with it, told to the model with each of its compactions.

use std::sync::Arc;

use epitome::core::pressure::Level;
use epitome::{Answer, Compact, Compacting, Error, Hook, Opening, Session, Sight, Tokens, Told};
use tokio::sync::Notify;

use crate::models::{HandClock, SUMMARY, by_model, record, talk_until};
use crate::support::{Place, on_both};
use crate::upstream::{Act, Request, Upstream};

on_both!(
    every_summary_minds_what_the_session_says,
    a_fork_inherits_what_holds_when_it_is_made,
    what_was_prepared_before_is_not_recorded,
    instructions_have_an_end,
);

const GENERAL: &str = "Write in the present tense.";
const MIND: &str = "Keep the name of every boat.";
const ONCE: &str = "Be brief about the meadow.";
const HOOKED: &str = "Mention the tide.";

/// What a request to the model says beyond the conversation.
fn told(request: &Request) -> String {
    request.body.to_string()
}

/// Has something of its own to say of every compaction.
struct Minder;

impl Hook for Minder {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        Box::pin(async { Ok(Answer::instructions(HOOKED)) })
    }
}

async fn compacted(session: &Session, ask: Compact) {
    assert!(session.compact(ask.within(Tokens(6_000))).await.unwrap().is_done());
}

async fn every_summary_minds_what_the_session_says(place: Place) {
    let upstream = Upstream::new(vec![Act::say(SUMMARY)]);
    let clock = HandClock::new();
    let mut settings = epitome::Settings::default();
    settings.summary.summary_instructions = GENERAL.to_owned();
    let builder = || {
        let model = format!("anthropic:some-model@{}", upstream.url());
        let builder = place.builder().settings(settings.clone()).summaries_by([model.as_str()]);
        builder.waits(clock.clone()).hook("minder", Minder)
    };
    let engine = builder().build().await.unwrap();
    let session = engine.session("minding").await.unwrap();
    session.instruct(Some(MIND)).await.unwrap();
    engine.close().await;

    // Another process knows them, in the background and at the hard threshold.
    let engine = builder().build().await.unwrap();
    let session = engine.session("minding").await.unwrap();
    assert_eq!(session.instructions().await.unwrap().as_deref(), Some(MIND));
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    session.prepared().await;
    assert!(told(&upstream.requests()[0]).contains(MIND), "in the background");
    let before = upstream.requests().len();
    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    let (_, report) = record(&session).await;
    assert_eq!(report["instructions"], format!("{MIND}\n{HOOKED}"), "{report}");
    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    assert!(told(&upstream.requests()[before]).contains(MIND), "at the hard threshold");

    // What is said of one compaction stands behind what always holds.
    talk_until(&session, Level::Warn).await;
    let before = upstream.requests().len();
    compacted(&session, Compact::now().minding(ONCE)).await;
    let asked = told(&upstream.requests()[before]);
    let places = [GENERAL, MIND, ONCE, HOOKED].map(|text| asked.find(text).unwrap());
    assert!(places.is_sorted(), "{places:?}");

    session.instruct(None).await.unwrap();
    assert_eq!(session.instructions().await.unwrap(), None);
    talk_until(&session, Level::Warn).await;
    let before = upstream.requests().len();
    compacted(&session, Compact::now()).await;
    let asked = told(&upstream.requests()[before]);
    assert!(asked.contains(GENERAL) && !asked.contains(MIND) && !asked.contains(ONCE), "{asked}");
}

async fn a_fork_inherits_what_holds_when_it_is_made(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("parent").await.unwrap();
    crate::support::exchange(&session, 0, 200).await;
    session.instruct(Some(MIND)).await.unwrap();
    let head = session.info().await.unwrap().head.unwrap();
    let fork = session.fork(head, Sight::AsSeen, Opening::default()).await.unwrap();
    session.instruct(Some(ONCE)).await.unwrap();
    assert_eq!(fork.instructions().await.unwrap().as_deref(), Some(MIND));
    fork.instruct(None).await.unwrap();
    assert_eq!(session.instructions().await.unwrap().as_deref(), Some(ONCE));
    assert_eq!(fork.instructions().await.unwrap(), None);
}

async fn what_was_prepared_before_is_not_recorded(place: Place) {
    let gate = Arc::new(Notify::new());
    let upstream =
        Upstream::new(vec![Act::Behind(gate.clone(), Box::new(Act::say(SUMMARY))), Act::say(SUMMARY)]);
    let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
    // Another process does not see what this one prepares.
    let other = place.engine().await;
    let session = engine.session("late").await.unwrap();
    talk_until(&session, Level::Soft).await;
    session.context().await.unwrap();
    upstream.arrived(1).await;
    other.resume(session.id()).await.unwrap().instruct(Some(MIND)).await.unwrap();
    gate.notify_one();
    session.prepared().await;
    talk_until(&session, Level::Hard).await;
    session.context().await.unwrap();
    let (_, report) = record(&session).await;
    assert_eq!(report["instructions"], MIND, "{report}");
}

async fn instructions_have_an_end(place: Place) {
    let session = place.engine().await.session("long").await.unwrap();
    let refused = session.instruct(Some(&"mind ".repeat(2_000))).await;
    assert!(matches!(refused, Err(Error::InstructionsTooLong { length: 9_999, .. })), "{refused:?}");
    assert_eq!(session.instructions().await.unwrap(), None);
}
