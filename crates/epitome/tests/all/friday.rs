//! Conformance with ADR 033, progressive history compression: its `HistoryCompressor` on a store, topics as time passes, what
//! survives a restart, and continuity from one session to the next.
//!
//! `addMessage` is [`Session::append`] and [`Session::reply`], `getContext` is [`Session::context_within`] with
//! [`Session::tiers`], `sealCurrentTopic` is [`Session::seal`], `getHistory` is the ledger's `conversation_history`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use epitome::{Engine, Error, Opening, Reply, Session};
use epitome_core::compact::Preset;
use epitome_core::topics::CompressedContext;
use epitome_core::{Block, Time, Tokens};
use epitome_ledger::model::{HistoryRow, Order, Tier};
use epitome_ledger::{Clock, Paging};

use crate::seeds::*;
use crate::support::{Place, assert_sendable, call, on_both, prose, result};

on_both!(
    add_message_keeps_the_current_topic_as_it_is,
    get_context_keeps_to_its_budget_and_its_shares,
    large_messages_are_truncated_first,
    seal_current_topic,
    a_silence_of_30_minutes_ends_a_topic,
    a_topic_beyond_60_percent_of_its_allocation_is_sealed,
    get_history_has_the_tiers,
    compressed_history_survives_a_restart,
    a_new_session_resumes_with_compressed_history,
    conversations_are_kept_apart_by_platform_and_channel,
);

const BUDGET: Tokens = Tokens(4_000);

async fn opened(place: &Place) -> (Engine, Session) {
    let engine = of_seed(place, Preset::Friday.settings()).build().await.unwrap();
    let opening = Opening { key: Some("friday".to_owned()), ..Opening::channel("slack", "#ops") };
    let session = engine.open(opening).await.unwrap();
    (engine, session)
}

/// A topic that the user announces, of about so many tokens.
async fn topic(session: &Session, number: usize, tokens: usize) {
    session.append(format!("New topic. What about number {number}?")).await.unwrap();
    session.reply(Reply::text(format!("Of {number}: {}", prose(number, tokens)))).await.unwrap();
}

async fn history(engine: &Engine, session: &Session) -> Vec<HistoryRow> {
    engine.ledger().conversation_history(engine.tenant(), session.id()).await.unwrap()
}

/// `getContext`.
async fn context(session: &Session, most: Tokens) -> CompressedContext {
    let sent = session.context_within(most).await.unwrap();
    assert_sendable(&sent, 200_000);
    assert!(sent.tokens() <= most, "{} of {most}", sent.tokens());
    session.tiers().await.unwrap()
}

async fn add_message_keeps_the_current_topic_as_it_is(place: Place) {
    let (_engine, session) = opened(&place).await;
    topic(&session, 0, 300).await;
    session.append("And why?").await.unwrap();
    let tiers = context(&session, BUDGET).await;
    assert_eq!(tiers.current_topic, [0, 1, 2], "raw message objects");
    assert!(tiers.historical_topics.is_empty() && tiers.bulk_archives.is_empty());
    assert!((tiers.compression_ratio - 1.0).abs() < 1e-9, "no compression is applied");
}

async fn get_context_keeps_to_its_budget_and_its_shares(place: Place) {
    let (_engine, session) = opened(&place).await;
    let mut had_bulks = false;
    for number in 0..40 {
        topic(&session, number, 600).await;
        let tiers = context(&session, BUDGET).await;
        let topics: Tokens = tiers.historical_topics.iter().map(|topic| topic.tokens).sum();
        let bulks: Tokens = tiers.bulk_archives.iter().map(|bulk| bulk.tokens).sum();
        assert!(topics <= Tokens(1_200), "30 %: {topics} at {number}");
        assert!(bulks <= Tokens(800), "20 %: {bulks} at {number}");
        assert!(tiers.historical_topics.iter().all(|topic| topic.tokens <= Tokens(200)));
        assert!(tiers.bulk_archives.iter().all(|bulk| bulk.tokens <= Tokens(300)));
        assert!(tiers.total_tokens <= BUDGET && tiers.compression_ratio >= 1.0);
        assert!(tiers.current_topic.contains(&(2 * number + 1)), "the latest message is as it was");
        had_bulks |= !tiers.bulk_archives.is_empty();
    }
    assert!(had_bulks, "three oldest topics become a bulk archive");
    assert!(shape(&session).await.starts_with("O0.."), "in the end the oldest bulk is dropped");
    assert_eq!(session.messages(0..999).await.unwrap().len(), 80, "of the view, not of the store");
}

async fn large_messages_are_truncated_first(place: Place) {
    let (_engine, session) = opened(&place).await;
    session.append("What is in it?").await.unwrap();
    let mut long = call("call", "read", "{}");
    long.blocks[0] = Block::text("lorem ipsum ".repeat(1_200));
    session.reply(long).await.unwrap();
    session.append(result("call", "Nothing.")).await.unwrap();
    session.reply(call("again", "read", "{}")).await.unwrap();
    session.append(result("again", "Still nothing.")).await.unwrap();
    let tiers = context(&session, BUDGET).await;
    assert_eq!((tiers.current_topic.len(), tiers.historical_topics.len()), (5, 0), "nothing is summarised");
    let long = lines(&session).await.remove(1);
    assert!(long.contains("[truncated]") && long.len() < 2_200, "{} characters", long.len());
}

async fn seal_current_topic(place: Place) {
    let (engine, session) = opened(&place).await;
    assert!(matches!(session.seal(None).await, Err(Error::NothingToSeal)));
    for number in 0..2 {
        session.append(format!("Question {number}: {}", words(400))).await.unwrap();
        session.reply(Reply::text(format!("Answer {number}: {}", words(400)))).await.unwrap();
        let note = session.seal(Some("a topic".to_owned())).await.unwrap();
        assert_eq!(note.messages, 2 * number..2 * number + 2, "what was said since the last seal");
        assert!(matches!(session.seal(None).await, Err(Error::NothingToSeal)), "it is sealed already");
    }
    session.append("Something else.").await.unwrap();
    let tiers = context(&session, BUDGET).await;
    assert_eq!(tiers.current_topic, [4], "what came after the seal");
    let topics: Vec<_> = tiers.historical_topics.into_iter().map(|topic| topic.range).collect();
    assert_eq!(topics, [0..2, 2..4], "what was sealed is summarised, each topic by itself");
    assert!(history(&engine, &session).await.iter().any(|row| row.tier == Tier::Topic));
}

async fn a_silence_of_30_minutes_ends_a_topic(place: Place) {
    let minutes = Arc::new(AtomicI64::new(0));
    let clock = Clock::of({
        let minutes = Arc::clone(&minutes);
        move || Time(minutes.load(Ordering::SeqCst) * 60_000)
    });
    let engine = of_seed(&place, Preset::Friday.settings()).clock(clock).build().await.unwrap();
    for (key, pause) in [("short", 30), ("long", 31)] {
        let session = engine.session(key).await.unwrap();
        for number in 0..2 {
            session.append(format!("Question {number}: {}", words(400))).await.unwrap();
            session.reply(Reply::text(format!("Answer {number}: {}", words(400)))).await.unwrap();
            minutes.fetch_add(pause, Ordering::SeqCst);
        }
        session.append("Good morning.").await.unwrap();
        let tiers = context(&session, BUDGET).await;
        assert_eq!(tiers.current_topic, [4]);
        let topics = tiers.historical_topics.into_iter().map(|topic| (topic.range.start, topic.range.end));
        let topics: Vec<(usize, usize)> = topics.collect();
        match pause {
            30 => assert_eq!(topics, [(0, 4)], "the same topic goes on, until it has grown too large"),
            _ => assert_eq!(topics, [(0, 2), (2, 4)]),
        }
    }
}

async fn a_topic_beyond_60_percent_of_its_allocation_is_sealed(place: Place) {
    let (_engine, session) = opened(&place).await;
    for number in 0..6 {
        session.append(format!("Go on with step {number}.")).await.unwrap();
        session.reply(Reply::text(prose(number, 500))).await.unwrap();
    }
    session.append("And now?").await.unwrap();
    let all = session.peek().await.unwrap().tokens();
    assert!(all < BUDGET, "{all}: all of it would fit");
    let tiers = context(&session, BUDGET).await;
    assert!(
        !tiers.historical_topics.is_empty(),
        "beyond 60 % of half the budget it is sealed and summarised"
    );
    assert!(tiers.current_topic.contains(&12));
}

async fn get_history_has_the_tiers(place: Place) {
    let (engine, session) = opened(&place).await;
    for number in 0..9 {
        topic(&session, number, 600).await;
        context(&session, BUDGET).await;
    }
    let rows = history(&engine, &session).await;
    for tier in [Tier::Message, Tier::Topic, Tier::Bulk] {
        let of_tier: Vec<&HistoryRow> = rows.iter().filter(|row| row.tier == tier).collect();
        assert!(!of_tier.is_empty(), "{tier}");
        assert!(of_tier.is_sorted_by_key(|row| row.sequence), "ordered within their tier");
        assert!(of_tier.iter().all(|row| row.sealed_at.is_some() == (tier != Tier::Message)), "{tier}");
        assert!(of_tier.iter().all(|row| row.token_count > Tokens::ZERO && !row.content.is_empty()));
    }
    assert!(rows.iter().all(|row| row.platform == "slack" && row.conversation_id == session.id()));
}

async fn compressed_history_survives_a_restart(place: Place) {
    let (engine, session) = opened(&place).await;
    for number in 0..9 {
        topic(&session, number, 600).await;
        context(&session, BUDGET).await;
    }
    let (sent, tiers) =
        (session.context_within(BUDGET).await.unwrap().to_json(), session.tiers().await.unwrap());
    let rows = history(&engine, &session).await;
    engine.close().await;
    let (engine, session) = opened(&place).await;
    assert_eq!(session.context_within(BUDGET).await.unwrap().to_json(), sent);
    assert_eq!(session.tiers().await.unwrap(), tiers);
    assert_eq!(history(&engine, &session).await, rows);
}

async fn a_new_session_resumes_with_compressed_history(place: Place) {
    let (engine, session) = opened(&place).await;
    session.append("New topic. My name is Ada, and the server is called aurora-7.").await.unwrap();
    session.reply(Reply::text("Noted.")).await.unwrap();
    for number in 0..4 {
        topic(&session, number, 600).await;
    }
    engine.close().await;

    let (engine, before) = opened(&place).await;
    let next = engine.continue_on(Opening::channel("slack", "#ops"), BUDGET).await.unwrap();
    assert_ne!(next.id(), before.id(), "another session");
    let sent = next.context_within(BUDGET).await.unwrap();
    assert!(sent.tokens() <= BUDGET);
    assert!(sent.to_json().contains("aurora-7"), "{}", sent.to_json());
    assert!(!next.tiers().await.unwrap().historical_topics.is_empty(), "compressed, and intact");
    topic(&next, 9, 100).await;
    let third = engine.continue_on(Opening::channel("slack", "#ops"), BUDGET).await.unwrap();
    assert!(third.context_within(BUDGET).await.unwrap().to_json().contains("Of 9:"), "on and on");
    let hits = third.search("aurora-7", Order::Best, Paging::first(5)).await.unwrap().items;
    assert!(!hits.is_empty(), "and everything can be found");
    assert_eq!(before.info().await.unwrap().messages, 10, "the earlier session stays as it was");
}

async fn conversations_are_kept_apart_by_platform_and_channel(place: Place) {
    let (engine, session) = opened(&place).await;
    topic(&session, 0, 100).await;
    for (platform, channel) in [("slack", "#dev"), ("discord", "#ops")] {
        let other = engine.continue_on(Opening::channel(platform, channel), BUDGET).await.unwrap();
        assert_eq!(other.context().await.unwrap().messages().len(), 0, "{platform} {channel} knows nothing");
    }
    let same = engine.continue_on(Opening::channel("slack", "#ops"), BUDGET).await.unwrap();
    assert!(same.context().await.unwrap().to_json().contains("number 0"));
}
