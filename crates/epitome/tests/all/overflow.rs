//! Requests that a provider refuses as too long, or cuts: less is sent each time, and the window is learnt.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use epitome::core::pressure::Level;
use epitome::llm::Failure;
use epitome::{Compact, Reply, Session, Tokens, Usage};

use crate::models::{HandClock, SUMMARY, by_model, talk_until};
use crate::support::{Place, assert_sendable, call, exchange, on_both, prose, result};
use crate::upstream::{Act, Upstream};

on_both!(
    what_is_refused_is_sent_smaller_three_times,
    what_the_refusal_says_of_the_window_is_kept_for_the_next_process,
    what_a_server_cuts_without_a_word_is_noticed,
    what_was_billed_for_something_else_teaches_nothing,
    what_the_server_of_a_summariser_refuses_is_known_to_the_next_process,
    one_huge_tool_result_is_cut_where_nothing_else_helps,
);

fn overflow(body: &str) -> Failure {
    Failure::of_reply(400, body.as_bytes()).unwrap()
}

fn too_long() -> Failure {
    overflow(r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}"#)
}

async fn talk(session: &Session, exchanges: usize) {
    for number in 0..exchanges {
        exchange(session, number, 600).await;
    }
}

async fn what_is_refused_is_sent_smaller_three_times(place: Place) {
    let engine = place.engine().await;
    let other = Failure::of_reply(500, b"{}").unwrap();
    let too_many_bytes = Failure::of_reply(413, b"{}").unwrap();
    for (name, failure) in [("bytes", too_many_bytes), ("tokens", too_long())] {
        let session = engine.session(name).await.unwrap();
        for turn in 0..2 {
            talk(&session, 12).await;
            let mut before = session.context().await.unwrap().tokens();
            assert!(session.context_after(&other).await.unwrap().is_none(), "its size is not to blame");
            for attempt in 1..=3 {
                let context = session.context_after(&failure).await.unwrap();
                let context = context.unwrap_or_else(|| panic!("{name}: attempt {attempt} of turn {turn}"));
                assert!(context.tokens() < before, "{} is not less than {before}", context.tokens());
                assert_sendable(&context, 32_000);
                before = context.tokens();
            }
            assert!(session.context_after(&failure).await.unwrap().is_none(), "three times are enough");
            if name == "tokens" {
                // Whoever is refused so often has a window in which nothing fits any longer.
                break;
            }
        }
    }
}

async fn what_the_refusal_says_of_the_window_is_kept_for_the_next_process(place: Place) {
    let builder = || place.builder().model("unheard-of").window(Tokens(200_000));
    let engine = builder().build().await.unwrap();
    let session = engine.session("learnt").await.unwrap();
    talk(&session, 30).await;
    let marks = session.context().await.unwrap().pressure.marks;
    let failure = overflow(
        r#"{"error":{"message":"This model's maximum context length is 16384 tokens. However, you requested 20000 tokens"}}"#,
    );
    let context = session.context_after(&failure).await.unwrap().unwrap();
    assert!(context.pressure.marks.input < marks.input);
    assert_sendable(&context, 16_384);
    let id = session.id();
    engine.close().await;

    let engine = builder().build().await.unwrap();
    let session = engine.resume(id).await.unwrap();
    assert_eq!(session.peek().await.unwrap().pressure.marks, context.pressure.marks);
    talk(&session, 30).await;
    assert_sendable(&session.context().await.unwrap(), 16_384);
    let elsewhere = builder().upstream("another server").build().await.unwrap();
    let session = elsewhere.session("elsewhere").await.unwrap();
    assert_eq!(session.peek().await.unwrap().pressure.marks, marks, "another server may offer more");
}

async fn what_the_server_of_a_summariser_refuses_is_known_to_the_next_process(place: Place) {
    // It takes a little less than what it is asked first.
    let (refused, first) = (Arc::new(AtomicUsize::new(0)), Arc::new(OnceLock::new()));
    let refusals = Arc::clone(&refused);
    let upstream = Upstream::scripted(move |_, request| {
        let (length, first) = (request.text.len(), *first.get_or_init(|| request.text.len()));
        if length < first / 10 * 9 {
            return Act::say(SUMMARY);
        }
        refusals.fetch_add(1, Ordering::SeqCst);
        let said = format!("prompt is too long: {} tokens > {} maximum", first / 4, first / 5);
        Act::refuse(400, "invalid_request_error", &said)
    });
    for key in ["first", "second"] {
        let engine = by_model(&place, &upstream, &HandClock::new()).build().await.unwrap();
        let session = engine.session(key).await.unwrap();
        talk_until(&session, Level::Warn).await;
        let before = upstream.requests().len();
        assert!(session.compact(Compact::now().within(Tokens(6_000))).await.unwrap().is_done());
        assert!(upstream.requests().len() > before, "{key}: it is asked in stretches that it takes");
        assert_eq!(refused.load(Ordering::SeqCst), 1, "{key}");
        engine.close().await;
    }
}

async fn what_a_server_cuts_without_a_word_is_noticed(place: Place) {
    let engine = place.builder().model("unheard-of").window(Tokens(200_000)).build().await.unwrap();
    let session = engine.session("cut").await.unwrap();
    talk(&session, 30).await;
    session.append("And now?").await.unwrap();
    assert!(session.context().await.unwrap().pressure.tokens > Tokens(12_000));
    let usage = Usage { input: Tokens(4_000), output: Tokens(96), ..Usage::default() };
    session.reply(Reply::text("What was the question?").billed(usage)).await.unwrap();
    session.append("The one before.").await.unwrap();
    let context = session.context().await.unwrap();
    assert!(context.pressure.tokens <= Tokens(4_096), "{}", context.pressure);
}

async fn what_was_billed_for_something_else_teaches_nothing(place: Place) {
    let engine = place.builder().model("unheard-of").window(Tokens(200_000)).build().await.unwrap();
    let session = engine.session("edited").await.unwrap();
    talk(&session, 30).await;
    session.append("And now?").await.unwrap();
    let before = session.context().await.unwrap().pressure;
    for input in [4_000, 400_000] {
        let usage = Usage { input: Tokens(input), output: Tokens(9), ..Usage::default() };
        let reply = Reply::text("Go on.").billed(usage).billed_for_other();
        session.reply(reply).await.unwrap();
        assert!(!session.input_was_cut());
        session.append("On.").await.unwrap();
        let after = session.context().await.unwrap().pressure;
        assert_eq!(after.marks, before.marks, "{input}");
        let grown = after.tokens.0.abs_diff(before.tokens.0);
        assert!(grown < 100, "{input}: {} became {}", before.tokens, after.tokens);
    }
    let usage = Usage { input: Tokens(4_000), output: Tokens(9), ..Usage::default() };
    session.reply(Reply::text("What was the question?").billed(usage)).await.unwrap();
    assert!(session.input_was_cut());
    engine.close().await;
}

async fn one_huge_tool_result_is_cut_where_nothing_else_helps(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("huge").await.unwrap();
    session.append("Read the log, please.").await.unwrap();
    session.append(call("c1", "read", "{}")).await.unwrap();
    session.append(result("c1", &prose(1, 7_000))).await.unwrap();
    let mut before = session.context().await.unwrap().tokens();
    for _ in 0..3 {
        let context = session.context_after(&too_long()).await.unwrap().unwrap();
        assert!(context.tokens() < before);
        assert_sendable(&context, 32_000);
        before = context.tokens();
    }
    assert_eq!(session.info().await.unwrap().messages, 3, "everything is still there");
}
