//! Compactions that gain nothing: they are tried less and less often, until time has passed or the context has grown.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use epitome_core::compact::Preset;
use epitome_core::{Time, Tokens, events};
use epitome_ledger::Clock;

use crate::log;
use crate::seeds::*;
use crate::support::{Place, on_both};

on_both!(what_gains_little_is_throttled_and_recovers);

async fn what_gains_little_is_throttled_and_recovers(place: Place) {
    let seconds = Arc::new(AtomicI64::new(0));
    let clock = Clock::of({
        let seconds = Arc::clone(&seconds);
        move || Time(seconds.load(Ordering::SeqCst) * 1_000)
    });
    let scribe = Scribe::new(&checkpoint("go on"));
    let mut settings = literal(Preset::Nous);
    settings.compact.keep_recent_tokens = Tokens(3_000);
    let engine = of_seed(&place, settings).clock(clock).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("instructions").await.unwrap();
    // The instructions alone almost reach the threshold of 100,000: whatever is compacted, it is soon exceeded again.
    session.beside(&words(97_000), "");
    chat(&session, 10, 500).await;
    let tries = async |what: &str, expected: usize| {
        let before = scribe.asked().len();
        session.context().await.unwrap();
        assert_eq!(scribe.asked().len() - before, expected, "{what}");
    };
    log::listen();
    tries("it is due", 1).await;
    chat(&session, 2, 600).await;
    tries("it gained little", 0).await;
    seconds.store(29, Ordering::SeqCst);
    tries("half a minute has not passed", 0).await;
    let heard = log::heard(&[events::COMPACT]);
    let throttled = heard.iter().filter(|line| line.message.starts_with("Compaction throttled at ~"));
    assert_eq!(throttled.map(|line| line.level).collect::<Vec<_>>(), ["WARN"], "once a wait: {heard:?}");
    seconds.store(30, Ordering::SeqCst);
    tries("half a minute has passed", 1).await;
    chat(&session, 2, 600).await;
    seconds.store(89, Ordering::SeqCst);
    tries("the second wait is twice as long", 0).await;
    seconds.store(90, Ordering::SeqCst);
    tries("and ends", 1).await;
    chat(&session, 12, 500).await;
    tries("6,000 tokens more are not enough for the third time", 0).await;
    chat(&session, 4, 600).await;
    tries("8,000 are", 1).await;
    chat(&session, 2, 600).await;
    assert_eq!(session.messages(0..99).await.unwrap().len(), 32, "whoever writes is not held up");
}
