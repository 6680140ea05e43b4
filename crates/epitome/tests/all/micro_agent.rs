//! Conformance with the C# micro agent, "Conversation Compaction", of what needs a store or events: when the loop compacts, what
//! becomes of a refused request, the fallback to trimming, and what the log says.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use epitome::{Compact, Engine, Reply, Session};
use epitome_core::compact::{Preset, StrategyName};
use epitome_core::settings::Settings;
use epitome_core::{Time, Tokens, events};
use epitome_ledger::Clock;

use crate::log;
use crate::seeds::*;
use crate::support::{Place, assert_sendable, call, on_both, result};

on_both!(
    compaction_after_a_user_message,
    compaction_after_tool_results,
    a_tool_call_is_never_parted_from_its_result,
    a_refused_request_is_compacted_up_to_three_times,
    everything_protected_the_large_context_is_accepted,
    when_the_summary_fails_the_history_is_trimmed,
    what_fails_is_not_tried_again_at_once,
    strategy_none_relies_on_message_count_trimming,
    the_message_count_is_a_backstop_after_compaction,
    tool_results_are_truncated_from_the_first_sending_on,
    compaction_is_transparent,
);

const REQUEST: &str = "Execute the job search prompt from search-prompt.txt";

async fn opened(place: &Place, settings: Settings, scribe: &Scribe) -> (Engine, Session) {
    let engine = of_seed(place, settings).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("agent").await.unwrap();
    (engine, session)
}

/// A round of the search: a call, a large result, a remark, a refinement by the user.
async fn round(session: &Session, number: usize, tokens: usize) {
    let id = format!("call{number}");
    session.reply(call(&id, "linkedin_job_detail", "{}")).await.unwrap();
    session.append(result(&id, &words(tokens))).await.unwrap();
    session.reply(Reply::text(format!("Scored Company {number} at 7/10."))).await.unwrap();
    session.append(format!("Refine the criteria, round {number}.")).await.unwrap();
}

async fn ordinals(session: &Session) -> Vec<u64> {
    let context = session.context().await.unwrap();
    context.messages().filter_map(|message| message.ordinal).collect()
}

async fn compaction_after_a_user_message(place: Place) {
    let scribe = Scribe::new("Company 0 scored 7/10. Report: todays-jobs.md.");
    let (_engine, session) = opened(&place, literal(Preset::MicroAgent), &scribe).await;
    session.append(REQUEST).await.unwrap();
    chat(&session, 39, 2_040).await;
    session.context().await.unwrap();
    assert_eq!(scribe.asked(), [], "not above 80,000");
    session.append(words(600)).await.unwrap();
    assert_sendable(&session.context().await.unwrap(), 80_000);
    assert_eq!(shape(&session).await, "V0..1 S1..35 V35..41", "the first message and the last six stay");
    let seen = lines(&session).await;
    let merged = format!(
        "user: {REQUEST}\n\n[CONTEXT SUMMARY]\nCompany 0 scored 7/10. Report: todays-jobs.md.\n[END CONTEXT SUMMARY]"
    );
    assert_eq!(seen[0], merged);
    assert!(
        seen[1].starts_with("assistant: word"),
        "no acknowledgement where the tail begins with the model"
    );
}

async fn compaction_after_tool_results(place: Place) {
    let scribe = Scribe::new("Company 0 scored 7/10.");
    let (_engine, session) = opened(&place, literal(Preset::MicroAgent), &scribe).await;
    session.append(REQUEST).await.unwrap();
    for number in 0..10 {
        round(&session, number, 7_700).await;
        assert_eq!(session.context().await.unwrap().messages().len(), 5 + 4 * number);
    }
    session.reply(call("last", "gmail_read", "{}")).await.unwrap();
    session.append(result("last", &words(7_700))).await.unwrap();
    let context = session.context().await.unwrap();
    assert_sendable(&context, 80_000);
    assert_eq!(scribe.asked().len(), 1, "the result, not the user, exceeded the threshold");
    assert_eq!(context.messages().last().unwrap().ordinal, Some(42), "which is there as it was");
}

async fn a_tool_call_is_never_parted_from_its_result(place: Place) {
    let scribe = Scribe::new("so far");
    for rounds in 4..8 {
        for more in 0..3 {
            let engine = of_seed(&place, literal(Preset::MicroAgent))
                .summarizer(scribe.clone())
                .build()
                .await
                .unwrap();
            let session = engine.session(format!("pairs {rounds} {more}")).await.unwrap();
            session.append(REQUEST).await.unwrap();
            for number in 0..rounds {
                round(&session, number, 100).await;
            }
            for number in 0..more {
                let id = format!("more{number}");
                session.reply(call(&id, "gmail_read", "{}")).await.unwrap();
                session.append(result(&id, "mail")).await.unwrap();
            }
            assert!(session.compact(Compact::now()).await.unwrap().is_done());
            // The checker refuses a result without its call, and a call without its result.
            assert_sendable(&session.context().await.unwrap(), 80_000);
            engine.close().await;
        }
    }
}

async fn a_refused_request_is_compacted_up_to_three_times(place: Place) {
    let scribe = Scribe::new("so far");
    let (_engine, session) = opened(&place, Preset::MicroAgent.settings(), &scribe).await;
    session.append(REQUEST).await.unwrap();
    chat(&session, 30, 2_000).await;
    let mut size = session.context().await.unwrap().tokens();
    for attempt in 1..=3 {
        assert!(session.compact(Compact::after_overflow(attempt)).await.unwrap().is_done());
        let now = session.context().await.unwrap().tokens();
        assert!(now < size, "attempt {attempt}: {now} after {size}");
        size = now;
    }
    assert!(!session.compact(Compact::after_overflow(4)).await.unwrap().is_done(), "up to 3 attempts");
    assert!(lines(&session).await[0].contains(REQUEST), "the request is there whatever happens");
}

async fn everything_protected_the_large_context_is_accepted(place: Place) {
    let scribe = Scribe::new("unused");
    let (_engine, session) = opened(&place, literal(Preset::MicroAgent), &scribe).await;
    chat(&session, 8, 12_000).await;
    let context = session.context().await.unwrap();
    assert_eq!((context.messages().len(), context.tokens()), (8, Tokens(96_000)));
    assert_eq!((scribe.asked(), session.info().await.unwrap().compactions), (vec![], 0));
}

async fn when_the_summary_fails_the_history_is_trimmed(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::MicroAgent), &Scribe::broken()).await;
    chat(&session, 60, 2_000).await;
    log::listen();
    assert_eq!(ordinals(&session).await, (10..60).collect::<Vec<_>>(), "MaxConversationMessages");
    let heard = log::heard(&[events::COMPACT]);
    let warned = heard.iter().find(|line| line.level == "WARN").unwrap();
    assert_eq!(warned.message, "Compaction failed: no connection. Falling back.");
    assert_eq!(session.messages(0..99).await.unwrap().len(), 60, "nothing is lost");
}

async fn what_fails_is_not_tried_again_at_once(place: Place) {
    let seconds = Arc::new(AtomicI64::new(0));
    let clock = Clock::of({
        let seconds = Arc::clone(&seconds);
        move || Time(seconds.load(Ordering::SeqCst) * 1_000)
    });
    let scribe = Scribe::broken();
    let builder = of_seed(&place, literal(Preset::MicroAgent)).clock(clock).summarizer(scribe.clone());
    let engine = builder.build().await.unwrap();
    let session = engine.session("throttled").await.unwrap();
    chat(&session, 42, 2_000).await;
    let mut asked = Vec::new();
    let mut ask = async |why: &'static str| {
        let before = scribe.asked().len();
        assert_eq!(
            session.context().await.unwrap().messages().len() as u64,
            session.info().await.unwrap().messages
        );
        asked.push((why, scribe.asked().len() - before));
    };
    ask("at first").await;
    ask("at once").await;
    seconds.store(29, Ordering::SeqCst);
    ask("soon").await;
    seconds.store(30, Ordering::SeqCst);
    ask("after a while").await;
    seconds.store(60, Ordering::SeqCst);
    ask("the next wait is longer").await;
    chat(&session, 2, 2_000).await;
    ask("the context has grown").await;
    ask("at once again").await;
    scribe.write("so far");
    ask("although it would work now").await;
    let expected = [
        ("at first", 1),
        ("at once", 0),
        ("soon", 0),
        ("after a while", 1),
        ("the next wait is longer", 0),
        ("the context has grown", 1),
        ("at once again", 0),
        ("although it would work now", 0),
    ];
    assert_eq!(asked, expected);
    seconds.store(600, Ordering::SeqCst);
    let context = session.context().await.unwrap();
    assert!(context.tokens() < Tokens(20_000), "it recovers by itself: {}", context.tokens());
    assert_eq!(session.info().await.unwrap().compactions, 1);
}

async fn strategy_none_relies_on_message_count_trimming(place: Place) {
    let mut settings = literal(Preset::MicroAgent);
    settings.compact.strategy = StrategyName::None;
    let scribe = Scribe::new("unused");
    let (_engine, session) = opened(&place, settings, &scribe).await;
    chat(&session, 50, 2_000).await;
    assert_eq!(ordinals(&session).await.len(), 50, "100,000 tokens are no matter");
    chat(&session, 10, 20).await;
    assert_eq!(ordinals(&session).await, (10..60).collect::<Vec<_>>());
    assert_eq!(scribe.asked(), []);
}

async fn the_message_count_is_a_backstop_after_compaction(place: Place) {
    let scribe = Scribe::new("so far");
    let (_engine, session) = opened(&place, literal(Preset::MicroAgent), &scribe).await;
    chat(&session, 42, 2_000).await;
    session.context().await.unwrap();
    assert_eq!(shape(&session).await, "V0..1 S1..36 V36..42");
    chat(&session, 60, 20).await;
    let sent = ordinals(&session).await;
    assert!(sent.len() <= 51 && sent.ends_with(&[100, 101]), "the first and fifty more: {sent:?}");
    assert_eq!(scribe.asked().len(), 1, "small talk costs no summary");
}

async fn tool_results_are_truncated_from_the_first_sending_on(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::MicroAgent), &Scribe::new("unused")).await;
    let output = "a job description ".repeat(3_000);
    session.append(REQUEST).await.unwrap();
    session.reply(call("call", "linkedin_job_detail", "{}")).await.unwrap();
    session.append(result("call", &output)).await.unwrap();
    let context = session.context().await.unwrap();
    let shown = text_of(&context.decoded().unwrap()[2]);
    assert!((30_000..=40_000).contains(&shown.chars().count()), "{} characters", shown.chars().count());
    let recorded = session.messages(2..3).await.unwrap().remove(0);
    assert!(recorded.body.len() > output.len(), "in the agent it is irreversible, here it is not");
}

async fn compaction_is_transparent(place: Place) {
    let (_engine, session) =
        opened(&place, literal(Preset::MicroAgent), &Scribe::new("They searched, and scored.")).await;
    session.append(REQUEST).await.unwrap();
    chat(&session, 24, 3_550).await;
    log::listen();
    let before = session.peek().await.unwrap().tokens();
    session.context().await.unwrap();
    let heard = log::heard(&[events::COMPACT]);
    let said: Vec<&str> = heard.iter().map(|line| line.message.as_str()).collect();
    let freed = before - session.peek().await.unwrap().tokens();
    let expected = [
        format!("Compaction: estimated ~{before:#} tokens, threshold 80,000 — compacting 18 messages"),
        format!("Compaction: summarized 18 messages into ~6 tokens, freed ~{freed:#} estimated tokens"),
    ];
    assert_eq!(said, expected);
    assert!(heard.iter().all(|line| line.level == "INFO"));
}
