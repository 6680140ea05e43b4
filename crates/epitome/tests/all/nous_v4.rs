//! Conformance with spec 008.1 v4 of what needs a store, a lock or events: its test cases under their own names, and what its
//! text promises besides. What needs none of them is in the core's tests of the same name.

use std::sync::{Arc, Mutex, OnceLock};

use epitome::{Answer, Compact, Compacted, Compacting, Engine, Hook, Reply, Session, Told};
use epitome_core::compact::{Decision, Fallback, Preset, Summarizer, SummaryError, SummaryRequest};
use epitome_core::settings::Settings;
use epitome_core::{Tokens, Usage, events};

use crate::log;
use crate::seeds::*;
use crate::support::{Place, assert_sendable, call, on_both, result};

on_both!(
    test_concurrency_lock,
    two_processes_at_the_threshold_compact_once,
    test_cut_point_zero_guard,
    a_tiny_conversation_is_not_compacted,
    test_conversation_state_updated,
    test_iterative_update_prompt,
    the_conversation_survives_a_restart,
    test_summarization_failure_fallback,
    a_summarizer_that_panics_is_one_that_fails,
    the_pre_compaction_event_is_awaited_before_anything_happens,
    messages_arrive_while_a_summary_is_written,
    without_compaction_the_last_20_messages_are_sent,
    tool_results_are_pruned_before_every_call,
    calibration_from_usage_moves_the_trigger,
    the_threshold_is_in_the_models_tokens,
    the_log_has_the_figures,
);

/// At the threshold of 100,000: 34 messages go, 6 stay.
const MESSAGES: usize = 40;
const TOKENS: usize = 3_000;

async fn opened(place: &Place, settings: Settings, scribe: &Scribe) -> (Engine, Session) {
    let engine = of_seed(place, settings).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("telegram").await.unwrap();
    (engine, session)
}

async fn full(place: &Place, scribe: &Scribe) -> (Engine, Session) {
    let (engine, session) = opened(place, literal(Preset::Nous), scribe).await;
    chat(&session, MESSAGES, TOKENS).await;
    (engine, session)
}

async fn test_concurrency_lock(place: Place) {
    let scribe = Scribe::new(&checkpoint("the first"));
    let (_engine, session) = full(&place, &scribe).await;
    scribe.close();
    let ask = |session: &Session| {
        tokio::spawn({
            let session = session.clone();
            async move { session.context().await.unwrap().to_json() }
        })
    };
    let one = ask(&session);
    scribe.until_asked(1).await;
    let two = ask(&session);
    tokio::task::yield_now().await;
    scribe.open();
    assert_eq!(one.await.unwrap(), two.await.unwrap(), "the second sees what the first has done");
    assert_eq!(scribe.asked().len(), 1, "and has nothing written again");
    assert_eq!(session.info().await.unwrap().compactions, 1);
}

async fn two_processes_at_the_threshold_compact_once(place: Place) {
    let (scribe, other) = (Scribe::new(&checkpoint("the first")), Scribe::new(&checkpoint("the other")));
    let (_engine, here) = full(&place, &scribe).await;
    let (_other, there) = opened(&place, literal(Preset::Nous), &other).await;
    assert_eq!(here.id(), there.id());
    scribe.close();
    let one = tokio::spawn({
        let here = here.clone();
        async move { here.context().await.unwrap().to_json() }
    });
    scribe.until_asked(1).await;
    let two = tokio::spawn(async move { there.context().await.unwrap().to_json() });
    tokio::task::yield_now().await;
    scribe.open();
    assert_eq!(one.await.unwrap(), two.await.unwrap());
    assert_eq!((scribe.asked().len(), other.asked().len()), (1, 0), "the second waited for the lease");
    assert_eq!(here.info().await.unwrap().compactions, 1);
}

async fn test_cut_point_zero_guard(place: Place) {
    let (scribe, witness) = (Scribe::new("unused"), Witness::default());
    let builder = of_seed(&place, literal(Preset::Nous)).summarizer(scribe.clone());
    let engine = builder.hook("witness", witness.clone()).build().await.unwrap();
    let session = engine.session("guard").await.unwrap();
    session.beside(&words(90_000), "");
    chat(&session, 10, 1_500).await;
    log::listen();
    let context = session.context().await.unwrap();
    assert_eq!(context.messages().len(), 10, "everything is recent: nothing to compact");
    assert_eq!((scribe.asked(), witness.heard()), (vec![], vec![]), "it returns at once");
    assert_eq!(session.info().await.unwrap().compactions, 0);
    let heard = log::heard(&[events::COMPACT]);
    assert!(heard.iter().any(|line| line.level == "DEBUG" && line.message.starts_with("nothing to compact")));
}

async fn a_tiny_conversation_is_not_compacted(place: Place) {
    let scribe = Scribe::new("unused");
    let (_engine, session) = opened(&place, literal(Preset::Nous), &scribe).await;
    chat(&session, 4, 100).await;
    let outcome = session.compact(Compact::now()).await.unwrap();
    assert_eq!((outcome.turn, outcome.report.decision), (None, Decision::Nothing));
    assert_eq!(scribe.asked(), []);
}

async fn test_conversation_state_updated(place: Place) {
    let scribe = Scribe::new(&checkpoint("the first"));
    let (engine, session) = full(&place, &scribe).await;
    let state = engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap();
    assert_eq!((state.summary, state.compaction_count), (None, 0));
    session.context().await.unwrap();
    assert_eq!(shape(&session).await, "S0..34 V34..40");
    let state = engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap();
    assert_eq!((state.agent_id.as_str(), state.session_id.as_str()), ("tester", "telegram"));
    assert_eq!(state.summary, Some(checkpoint("the first")));
    assert_eq!(state.compaction_count, 1);
    let messages: Vec<serde_json::Value> = serde_json::from_str(&state.messages).unwrap();
    assert_eq!(messages.len(), 6, "the recent messages");
    assert_eq!(messages[0]["role"], "user");
    assert!(state.updated_at >= state.created_at && state.turn_count >= 20);
}

async fn test_iterative_update_prompt(place: Place) {
    let scribe = Scribe::new(&checkpoint("the first"));
    let (engine, session) = full(&place, &scribe).await;
    session.context().await.unwrap();
    let first = session.compaction().await.unwrap().unwrap().0.id;
    scribe.write(&checkpoint("the second"));
    chat(&session, 30, TOKENS).await;
    session.context().await.unwrap();
    assert_eq!(shape(&session).await, "S0..64 V64..70");
    let update = Asked { first: 34, messages: 30, previous: vec![checkpoint("the first")] };
    assert_eq!(scribe.asked()[1..], [update], "the existing summary and the new conversation");
    let state = engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap();
    assert_eq!((state.summary, state.compaction_count), (Some(checkpoint("the second")), 2));
    let (_, earlier) = engine.ledger().compaction(engine.tenant(), first).await.unwrap();
    assert_eq!(earlier.compaction.summary(), Some(checkpoint("the first")), "earlier versions are kept");
}

async fn the_conversation_survives_a_restart(place: Place) {
    let scribe = Scribe::new(&checkpoint("the first"));
    let (engine, session) = full(&place, &scribe).await;
    let before = session.context().await.unwrap().to_json();
    let state = engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap();
    engine.close().await;

    let (engine, session) = opened(&place, literal(Preset::Nous), &scribe).await;
    assert_eq!(session.context().await.unwrap().to_json(), before);
    assert_eq!(
        engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap(),
        state,
        "what was saved is restored"
    );
    scribe.write(&checkpoint("the second"));
    chat(&session, 30, TOKENS).await;
    session.context().await.unwrap();
    assert_eq!(scribe.asked()[1].previous, [checkpoint("the first")], "the summary goes on from there");
}

async fn test_summarization_failure_fallback(place: Place) {
    let (engine, session) = full(&place, &Scribe::broken()).await;
    log::listen();
    let context = session.context().await.unwrap();
    assert_eq!(shape(&session).await, "O0..34 V34..40", "truncated without summary");
    assert_eq!(
        context.messages().map(|message| message.ordinal).collect::<Vec<_>>(),
        (34..40).map(Some).collect::<Vec<_>>()
    );
    let failed = log::heard(&[events::COMPACT]).into_iter().find(|line| line.level == "WARN").unwrap();
    assert!(failed.message.starts_with("Compaction failed: no connection"), "{failed:?}");
    let state = engine.ledger().conversation_state(engine.tenant(), session.id()).await.unwrap();
    assert_eq!(state.summary, None);
    assert_eq!(session.messages(0..99).await.unwrap().len(), MESSAGES, "nothing is lost");

    let builder = of_seed(&place, literal(Preset::Nous)).summarizer(Scribe::new("too short"));
    let engine = builder.build().await.unwrap();
    let other = engine.session("garbage").await.unwrap();
    chat(&other, MESSAGES, TOKENS).await;
    other.context().await.unwrap();
    assert_eq!(shape(&other).await, "O0..34 V34..40", "a summary that fails validation is none");
}

/// Panics.
#[derive(Clone)]
struct Panicking;

impl Summarizer for Panicking {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        panic!("on purpose")
    }
}

async fn a_summarizer_that_panics_is_one_that_fails(place: Place) {
    let mut settings = literal(Preset::Nous);
    settings.compact.fallback = Fallback::Escalate;
    let engine = of_seed(&place, settings).summarizer(Panicking).build().await.unwrap();
    let session = engine.session("panics").await.unwrap();
    chat(&session, MESSAGES, TOKENS).await;
    assert_sendable(&session.context().await.unwrap(), 100_000);
    assert_eq!(shape(&session).await, "S0..34 V34..40", "an offline checkpoint takes its place");
}

/// Writes down what it hears, and how the session stood then.
#[derive(Clone, Default)]
struct Witness {
    heard: Arc<Mutex<Vec<String>>>,
    session: Arc<OnceLock<Session>>,
    scribe: Scribe,
}

impl Witness {
    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    // What was recorded and written when it heard of it.
    async fn note(self, what: String) {
        let compactions = match self.session.get() {
            Some(session) => session.info().await.unwrap().compactions,
            None => 0,
        };
        let written = self.scribe.asked().len();
        self.heard.lock().unwrap().push(format!("{what}: {compactions} recorded, {written} written"));
    }
}

impl Hook for Witness {
    fn compacting(&self, event: Arc<Compacting>) -> Told<Answer> {
        let numbers: Vec<u64> = event.messages.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..event.count() as u64).collect::<Vec<_>>(), "the list is the oldest messages");
        assert!(event.messages.iter().all(|(_, message)| !message.blocks.is_empty()), "with what they say");
        let (witness, what) = (self.clone(), format!("{} messages of {}", event.count(), event.agent));
        let here = self.session.get().is_none_or(|session| session.id() == event.session);
        Box::pin(async move {
            assert!(here);
            tokio::task::yield_now().await;
            witness.note(what).await;
            Ok(Answer::default())
        })
    }

    fn compacted(&self, event: Arc<Compacted>) -> Told<()> {
        let (witness, what) = (self.clone(), format!("compacted {:?}", event.dropped));
        Box::pin(async move {
            witness.note(what).await;
            Ok(())
        })
    }
}

async fn the_pre_compaction_event_is_awaited_before_anything_happens(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let witness = Witness { scribe: scribe.clone(), ..Witness::default() };
    let builder = of_seed(&place, literal(Preset::Nous)).summarizer(scribe);
    let engine = builder.hook("heart", witness.clone()).build().await.unwrap();
    let session = engine.session("event").await.unwrap();
    witness.session.set(session.clone()).unwrap();
    chat(&session, MESSAGES, TOKENS).await;
    session.context().await.unwrap();
    let expected =
        ["34 messages of tester: 0 recorded, 0 written", "compacted [0..34]: 1 recorded, 1 written"];
    assert_eq!(witness.heard(), expected);
}

async fn messages_arrive_while_a_summary_is_written(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let (_engine, session) = full(&place, &scribe).await;
    scribe.close();
    let compacting = tokio::spawn({
        let session = session.clone();
        async move { session.context().await.unwrap() }
    });
    scribe.until_asked(1).await;
    session.append("And one more thing.").await.unwrap();
    scribe.open();
    let context = compacting.await.unwrap();
    assert_eq!(shape(&session).await, "S0..34 V34..41", "it stands behind the summary as it is");
    assert!(context.to_json().contains("And one more thing."));
    assert_eq!(scribe.asked().len(), 1);
}

async fn without_compaction_the_last_20_messages_are_sent(place: Place) {
    let mut settings = literal(Preset::Nous);
    settings.compact.compaction_enabled = false;
    let scribe = Scribe::new("unused");
    let (_engine, session) = opened(&place, settings, &scribe).await;
    for messages in [20, 1, 1, 38] {
        chat(&session, messages, TOKENS).await;
        let (context, length) = (session.context().await.unwrap(), session.info().await.unwrap().messages);
        let sent: Vec<u64> = context.messages().filter_map(|message| message.ordinal).collect();
        let last: Vec<u64> = (length.saturating_sub(20)..length).collect();
        assert!(last.ends_with(&sent) && last.len() - sent.len() <= 1, "{sent:?} of {length}");
    }
    assert_eq!(scribe.asked(), [], "no model is asked");
    assert_eq!(session.messages(0..99).await.unwrap().len(), 60, "nothing is lost");
}

async fn tool_results_are_pruned_before_every_call(place: Place) {
    for enabled in [true, false] {
        let mut settings = literal(Preset::Nous);
        settings.compact.compaction_enabled = enabled;
        settings.max_conversation_messages = 50;
        let engine = of_seed(&place, settings).build().await.unwrap();
        let session = engine.session(format!("loop {enabled}")).await.unwrap();
        session.append("Find the fault.").await.unwrap();
        let output = |number: usize| format!("{number} {}", "line of output ".repeat(600));
        let mut sent = Vec::new();
        for number in 0..10 {
            let id = format!("call{number}");
            session.reply(call(&id, "bash", "{}")).await.unwrap();
            session.append(result(&id, &output(number))).await.unwrap();
            let context = session.context().await.unwrap();
            assert_sendable(&context, 100_000);
            let messages = context.decoded().unwrap();
            let results: Vec<String> =
                (0..=number).map(|number| text_of(&messages[2 + 2 * number])).collect();
            for (at, text) in results.iter().enumerate() {
                let (age, chars) = (number - at, output(at).len());
                let trimmed = format!("--- trimmed (kept 1500 head + 1500 tail of {chars} chars) ---");
                match age {
                    0..2 => assert_eq!(text, &output(at), "the last two are never touched"),
                    2..6 => assert!(text.contains(&trimmed), "{at} at {number}: {text}"),
                    _ => assert!(
                        text.starts_with("[Tool output cleared — content was processed in earlier turns]")
                    ),
                }
            }
            sent.push((context.turn.unwrap(), context.to_json()));
        }
        for (turn, json) in sent {
            assert_eq!(session.view(turn).await.unwrap().to_json(), json);
        }
        let recorded = session.messages(0..99).await.unwrap();
        let first = String::from_utf8(recorded[2].body.clone()).unwrap();
        assert!(first.contains(output(0).as_str()), "what is stored is not changed");
    }
}

async fn calibration_from_usage_moves_the_trigger(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let (_engine, session) = opened(&place, literal(Preset::Nous), &scribe).await;
    chat(&session, 19, TOKENS).await;
    let context = session.context().await.unwrap();
    assert_eq!(context.pressure.tokens, Tokens(57_000), "counted");
    let billed = Usage { input: Tokens(110_000), output: Tokens(10), ..Usage::default() };
    session.reply(Reply::text("Noted.").billed(billed)).await.unwrap();
    session.append("Go on.").await.unwrap();
    let context = session.context().await.unwrap();
    assert_eq!(session.info().await.unwrap().compactions, 1, "the provider's count exceeds the threshold");
    assert!(context.tokens() < Tokens(30_000), "{}", context.tokens());
}

async fn the_threshold_is_in_the_models_tokens(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let builder = place.builder().model("unheard-of").window(Tokens(200_000));
    let engine = builder.settings(literal(Preset::Nous)).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("unknown").await.unwrap();
    chat(&session, 32, TOKENS).await;
    let context = session.peek().await.unwrap();
    assert_eq!(context.tokens(), Tokens(96_000));
    assert!(context.pressure.tokens > Tokens(100_000), "of a model that nobody knows, more is expected");
    session.context().await.unwrap();
    assert_eq!(session.info().await.unwrap().compactions, 1);
}

async fn the_log_has_the_figures(place: Place) {
    let scribe = Scribe::new(&checkpoint("go on"));
    let (_engine, session) = full(&place, &scribe).await;
    log::listen();
    session.context().await.unwrap();
    let heard = log::heard(&[events::COMPACT, events::PRUNE]);
    let said: Vec<&str> = heard.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], "Compaction: estimated ~120,000 tokens, threshold 100,000 — compacting 34 messages");
    assert!(said[1].starts_with("Compaction: summarized 34 messages into ~"), "{}", said[1]);
    assert_eq!(heard[1].fields["tokens_before"], "120000");

    for number in 0..3 {
        session.append(format!("Look {number}.")).await.unwrap();
        session.reply(call(&format!("call{number}"), "bash", "{}")).await.unwrap();
        session.append(result(&format!("call{number}"), &"line of output ".repeat(600))).await.unwrap();
        session.reply(Reply::text("I see.")).await.unwrap();
    }
    session.append("And now?").await.unwrap();
    session.context().await.unwrap();
    let heard = log::heard(&[events::COMPACT, events::PRUNE]);
    let said: Vec<&str> = heard.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(said, ["Pruned 1 tool results (soft: 1, hard: 0)"], "a step of pruning summarises nothing");
}
