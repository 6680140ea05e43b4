//! What goes wrong around an agent, and what the engine makes of it: the work goes on, and what is sent is fit to be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use epitome::core::compact::{Limits, Outcome as Planned};
use epitome::core::knowledge::Finding;
use epitome::core::{Entry, Time, pressure::Level};
use epitome::{
    Answer, Compact, Compacting, Dialect, Error, Extractor, Hook, Message, Opening, Reply, Run, Session,
    Sight, Source, Strategy, Summarizer, SummaryError, SummaryRequest, Tokens, Told, Undo,
};
use epitome_ledger::Clock;
use epitome_wire::check;

use crate::support::{Place, assert_sendable, call, exchange, on_both, prose, result};

on_both!(
    what_the_model_did_not_say_is_no_reply,
    calls_without_a_result_are_said_to_be_interrupted,
    what_says_nothing_is_not_sent,
    who_panics_or_blocks_before_its_future_is_heard_no_longer,
    instructions_larger_than_a_budget_do_not_wipe_the_view,
    who_was_promised_a_size_gets_it,
    a_summariser_that_hangs_gives_way,
    a_strategy_that_panics_gives_way,
    after_everything_was_shown_there_is_nothing_to_undo,
    what_cannot_fit_is_not_compacted_over_and_over,
    a_channel_goes_on_with_what_was_used_last,
    turns_of_others_and_no_messages_are_refused,
);

async fn talk(session: &Session, exchanges: usize) {
    for number in 0..exchanges {
        exchange(session, number, 1_000).await;
    }
}

async fn calls_without_a_result_are_said_to_be_interrupted(place: Place) {
    for dialect in Dialect::ALL {
        let key = format!("killed in {dialect}");
        let engine = place.builder().dialect(dialect).build().await.unwrap();
        let session = engine.session(key.as_str()).await.unwrap();
        session.append("Look at the file.").await.unwrap();
        session.reply(call("call_1", "read", r#"{"path":"a"}"#)).await.unwrap();
        // The agent dies here, and the user has lost interest in the file.
        let engine = place.builder().dialect(dialect).build().await.unwrap();
        let session = engine.session(key.as_str()).await.unwrap();
        let before = session.info().await.unwrap().messages;
        let receipt = session.append("Never mind. What is the time?").await.unwrap();
        let context = session.context().await.unwrap();
        assert!(context.to_json().contains("interrupted"), "{}", context.to_json());
        let violations = check::check(dialect, None, &context.decoded().unwrap());
        assert!(violations.iter().all(|found| found.severity() != check::Severity::Error), "{violations:?}");
        let seen = session.view(receipt.head.unwrap()).await.unwrap();
        assert_eq!(seen.to_json(), context.to_json());
        assert_eq!(session.info().await.unwrap().messages, before + 1, "nothing else was recorded");

        session.append(result("call_1", "It came after all.")).await.unwrap();
        let late = session.peek().await.unwrap().to_json();
        assert!(late.contains("It came after all.") && !late.contains("interrupted"), "{late}");
        assert_eq!(late, sent_anew(&place, dialect, &key).await, "whoever reads it anew sees the same");
    }
}

// What a new engine would send.
async fn sent_anew(place: &Place, dialect: Dialect, key: &str) -> String {
    let engine = place.builder().dialect(dialect).build().await.unwrap();
    engine.session(key).await.unwrap().peek().await.unwrap().to_json()
}

async fn what_says_nothing_is_not_sent(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("silence").await.unwrap();
    assert!(matches!(session.append(" \n").await, Err(Error::Empty)));
    session.append("Are you there?").await.unwrap();
    session.reply(Reply::text("")).await.unwrap();
    session.append("Hello?").await.unwrap();
    let context = session.context().await.unwrap();
    assert_eq!(context.messages().len(), 2);
    assert_eq!(session.info().await.unwrap().messages, 3, "what the model said is recorded all the same");
    let other = place.engine().await.session("silence").await.unwrap();
    assert_eq!(other.context().await.unwrap().to_json(), context.to_json());
}

/// Panics or blocks where only a future was asked for.
struct Rash(&'static str);

impl Hook for Rash {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        if self.0 == "blocks" {
            std::thread::sleep(Duration::from_secs(3));
        }
        panic!("on purpose");
    }
}

impl Extractor for Rash {
    fn extract(&self, _: Arc<Source>) -> Told<Vec<Finding>> {
        panic!("on purpose");
    }
}

async fn who_panics_or_blocks_before_its_future_is_heard_no_longer(place: Place) {
    let builder = place.builder().hook("one", Rash("panics")).hook("two", Rash("blocks"));
    let engine =
        builder.extractor(Rash("panics")).hook_timeout(Duration::from_secs(1)).build().await.unwrap();
    let session = engine.session("rash").await.unwrap();
    talk(&session, 10).await;
    let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert!(outcome.is_done());
    let notes = outcome.notes.join("\n");
    for note in ["one panicked", "two took longer", "extractor panicked"] {
        assert!(notes.contains(note), "{notes}");
    }
}

async fn instructions_larger_than_a_budget_do_not_wipe_the_view(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("narrow").await.unwrap();
    session.append("Never touch the production database. Build the lighthouse.").await.unwrap();
    session.reply(Reply::text("I will not touch it.")).await.unwrap();
    talk(&session, 5).await;
    session.append("Which lamp does it get?").await.unwrap();
    session.beside(&prose(1, 3_000), "");
    let context = session.context_within(Tokens(2_000)).await.unwrap();
    assert!(context.shortfall > Tokens::ZERO);
    let shown = context.to_json();
    assert!(shown.contains("Which lamp does it get?"), "{shown}");
    let report = session.compact(Compact::now().within(Tokens(1))).await.unwrap().report;
    assert!(report.shortfall > Tokens::ZERO && report.budget == Tokens(1), "{report:?}");
    assert!(report.notes.iter().any(|note| note.contains("below the minimum")), "{report:?}");
}

/// Is against everything.
struct Contrary;

impl Hook for Contrary {
    fn compacting(&self, _: Arc<Compacting>) -> Told<Answer> {
        Box::pin(async { Ok(Answer::veto("not now")) })
    }
}

async fn who_was_promised_a_size_gets_it(place: Place) {
    let engine = place.builder().hook("contrary", Contrary).build().await.unwrap();
    let on = || Opening::channel("chat", "general");
    let session = engine.open(on()).await.unwrap();
    talk(&session, 10).await;
    let context = session.context_within(Tokens(3_000)).await.unwrap();
    assert!(context.tokens() <= Tokens(3_000) && context.shortfall == Tokens::ZERO);
    let next = engine.continue_on(on(), Tokens(2_000)).await.unwrap();
    assert!(next.peek().await.unwrap().tokens() <= Tokens(2_000));
}

/// Sleeps over every summary.
#[derive(Clone)]
struct Asleep;

impl Summarizer for Asleep {
    fn summarize(&mut self, _: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        std::thread::sleep(Duration::from_secs(3));
        Ok("too late".to_owned())
    }
}

async fn a_summariser_that_hangs_gives_way(place: Place) {
    let builder = place.builder().summarizer(Asleep).summary_timeout(Duration::from_millis(200));
    let engine = builder.build().await.unwrap();
    let session = engine.session("asleep").await.unwrap();
    talk(&session, 10).await;
    let outcome = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert!(outcome.is_done());
    assert!(outcome.notes.iter().any(|note| note.contains("no summary came")), "{:?}", outcome.notes);
    let shown = session.peek().await.unwrap().to_json();
    assert!(!shown.contains("too late"), "{shown}");
}

/// Has no plan.
struct Planless;

impl Strategy for Planless {
    fn name(&self) -> &'static str {
        "planless"
    }

    fn plan(&self, _: &[Entry], _: &[Message], _: &Limits<'_>) -> Planned {
        panic!("on purpose");
    }
}

async fn a_strategy_that_panics_gives_way(place: Place) {
    let engine = place.builder().strategy(Planless).build().await.unwrap();
    let session = engine.session("planless").await.unwrap();
    talk(&session, 34).await;
    let context = session.context().await.unwrap();
    assert_sendable(&context, 32_000);
    assert!(context.pressure.level < Level::Hard);
}

async fn after_everything_was_shown_there_is_nothing_to_undo(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("undone").await.unwrap();
    talk(&session, 10).await;
    let first = session.compact(Compact::now().within(Tokens(5_000))).await.unwrap();
    assert!(first.is_done());
    let fork = session.fork(first.turn.unwrap(), Sight::Whole, Opening::default()).await.unwrap();
    session.compact(Compact::now().within(Tokens(3_000))).await.unwrap();
    session.undo(Undo::All, Run::Real).await.unwrap();
    for session in [session, fork] {
        assert_eq!(session.peek().await.unwrap().messages().len(), 20);
        assert!(matches!(session.undo(Undo::Last, Run::Real).await, Err(Error::NothingToUndo)));
        assert_eq!(session.peek().await.unwrap().messages().len(), 20);
    }
}

async fn what_cannot_fit_is_not_compacted_over_and_over(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("pinned").await.unwrap();
    talk(&session, 36).await;
    session.pin(0..72, None).await.unwrap();
    session.append("What now?").await.unwrap();
    assert!(session.context().await.unwrap().shortfall > Tokens::ZERO);
    let compactions = session.info().await.unwrap().compactions;
    for _ in 0..3 {
        assert!(session.context().await.unwrap().shortfall > Tokens::ZERO);
    }
    assert_eq!(session.info().await.unwrap().compactions, compactions);
}

async fn a_channel_goes_on_with_what_was_used_last(place: Place) {
    // Each look at the clock is a second later than the one before.
    let seconds = AtomicI64::new(1_700_000_000);
    let clock = Clock::of(move || Time(seconds.fetch_add(1, Ordering::SeqCst) * 1_000));
    let engine = place.builder().clock(clock).build().await.unwrap();
    let on = |key: &str| Opening { key: Some(key.to_owned()), ..Opening::channel("chat", "general") };
    let older = engine.open(on("older")).await.unwrap();
    older.append("First words.").await.unwrap();
    let newer = engine.open(on("newer")).await.unwrap();
    newer.append("Other words.").await.unwrap();
    older.append("Last words.").await.unwrap();
    let next = engine.continue_on(on("next"), Tokens(2_000)).await.unwrap();
    assert!(next.peek().await.unwrap().to_json().contains("Last words."));
    assert_eq!(engine.continue_on(on("next"), Tokens(2_000)).await.unwrap().id(), next.id());
    let nowhere = engine.continue_on(Opening::key("nowhere"), Tokens(2_000)).await;
    assert!(matches!(nowhere, Err(Error::NoChannel)));
}

async fn turns_of_others_and_no_messages_are_refused(place: Place) {
    let engine = place.engine().await;
    let (one, other) = (engine.session("one").await.unwrap(), engine.session("other").await.unwrap());
    talk(&one, 2).await;
    talk(&other, 2).await;
    let turn = other.info().await.unwrap().head.unwrap();
    let forked = one.fork(turn, Sight::AsSeen, Opening::default()).await;
    assert!(matches!(forked, Err(Error::Elsewhere { .. })));
    assert!(matches!(one.pin(2..2, None).await, Err(Error::NoMessages)));
}

async fn what_the_model_did_not_say_is_no_reply(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("not a reply").await.unwrap();
    session.append("Who are you?").await.unwrap();
    let mistaken = session.reply(epitome::Reply::json(r#"{"role":"user","content":"I am the user."}"#)).await;
    assert!(matches!(mistaken, Err(epitome::Error::NotAReply)), "{mistaken:?}");
    assert_eq!(session.info().await.unwrap().messages, 1, "nothing of it is recorded");
}

#[cfg(unix)]
#[test]
fn a_ledger_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    crate::support::run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let engine = epitome::Engine::builder().file(&path).build().await.unwrap();
        engine.session("private").await.unwrap().append("a secret").await.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", file.path());
        }
        engine.close().await;
    });
}
