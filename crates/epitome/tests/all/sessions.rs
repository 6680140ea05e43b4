//! Sessions from opening to export, on both databases.

use epitome::{Compact, Error, Input, Opening, Reply, Run, Sight, Undo};
use epitome_core::compact::Decision;
use epitome_core::{Message, Role, Tokens, Usage};
use epitome_ledger::Paging;
use epitome_ledger::model::{Order, TurnKind};
use epitome_wire::Dialect;

use crate::support::{Place, assert_sendable, call, exchange, on_both, prose, result};

on_both!(
    what_was_said_is_sent_and_survives_a_restart,
    a_long_session_stays_inside_its_window_and_loses_nothing,
    undo_shows_again_what_was_hidden,
    forks_stand_on_any_turn,
    a_new_session_goes_on_from_the_last_one_on_its_channel,
    pins_stay_whatever_happens,
    a_refused_request_is_made_smaller_each_time,
    json_is_kept_byte_for_byte,
    two_engines_share_a_session,
    what_is_hidden_is_found,
);

async fn what_was_said_is_sent_and_survives_a_restart(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("one").await.unwrap();
    session.append("What is the capital of France?").await.unwrap();
    let context = session.context().await.unwrap();
    assert_eq!(context.to_json(), r#"[{"role":"user","content":"What is the capital of France?"}]"#);
    let usage = Usage { input: Tokens(2_000), output: Tokens(10), ..Usage::default() };
    session.reply(Reply::text("Paris.").billed(usage)).await.unwrap();
    let before = session.context().await.unwrap().to_json();
    engine.close().await;

    let engine = place.engine().await;
    let session = engine.session("one").await.unwrap();
    assert_eq!(session.context().await.unwrap().to_json(), before);
    let turns = session.history(Paging::first(10)).await.unwrap().items;
    assert_eq!(turns.len(), 1);
    assert!(turns[0].estimated.is_some(), "the input was estimated");
    assert_eq!(turns[0].reply.as_ref().unwrap().usage, Some(usage));
}

async fn a_long_session_stays_inside_its_window_and_loses_nothing(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("long").await.unwrap();
    let mut sent = Vec::new();
    let mut bodies = Vec::new();
    for number in 0..40 {
        let ask = format!("Step {number}: {}", prose(number, 400));
        session.append(ask.as_str()).await.unwrap();
        let id = format!("call{number}");
        let context = session.context().await.unwrap();
        assert_sendable(&context, 32_000);
        sent.push((context.turn.unwrap(), context.to_json()));
        session.reply(call(&id, "read", &format!(r#"{{"path":"src/file{number}.rs"}}"#))).await.unwrap();
        session.append(result(&id, &prose(number + 50, 2_000))).await.unwrap();
        let context = session.context().await.unwrap();
        assert_sendable(&context, 32_000);
        sent.push((context.turn.unwrap(), context.to_json()));
        session.reply(Reply::text(format!("Read file {number}."))).await.unwrap();
        bodies.push(ask);
    }
    let info = session.info().await.unwrap();
    assert!(info.compactions > 0, "it had to be compacted");
    assert_eq!(info.messages, 160);
    for (turn, json) in &sent {
        assert_eq!(&session.view(*turn).await.unwrap().to_json(), json, "view of {turn}");
    }
    let all = session.export(Dialect::Anthropic).await.unwrap();
    assert!(bodies.iter().all(|body| all.contains(body.as_str())));
    let checkup = engine.ledger().doctor().await.unwrap();
    assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
}

async fn undo_shows_again_what_was_hidden(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("undo").await.unwrap();
    assert!(matches!(session.undo(Undo::Last, Run::Real).await, Err(Error::NothingToUndo)));
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    let before = session.context().await.unwrap().to_json();
    let first = session.compact(Compact::now().within(Tokens(4_000))).await.unwrap();
    assert_eq!(first.report.decision, Decision::Compacted);
    let compacted = session.context().await.unwrap().to_json();
    assert!(compacted.len() < before.len() / 2);
    exchange(&session, 10, 1_000).await;
    session.compact(Compact::now().within(Tokens(2_000))).await.unwrap();
    let twice = session.context().await.unwrap();

    let dry = session.undo(Undo::Last, Run::Dry).await.unwrap();
    assert!(dry.turn.is_none() && dry.report.tokens_after > dry.report.tokens_before);
    assert_eq!(session.context().await.unwrap().to_json(), twice.to_json(), "a dry run changes nothing");

    session.undo(Undo::Messages(0..1), Run::Real).await.unwrap();
    let one = session.context().await.unwrap();
    assert!(one.messages().any(|message| message.ordinal == Some(0)));

    session.undo(Undo::Last, Run::Real).await.unwrap();
    let once = session.context().await.unwrap().to_json();
    assert!(once.starts_with(&compacted[..compacted.len() - 1]), "as it was after the first compaction");
    session.undo(Undo::Last, Run::Real).await.unwrap();
    let none = session.context().await.unwrap().to_json();
    assert!(none.starts_with(&before[..before.len() - 1]), "as it was before any compaction");
    assert!(matches!(session.undo(Undo::Last, Run::Real).await, Err(Error::NothingToUndo)));

    session.compact(Compact::now().within(Tokens(2_000))).await.unwrap();
    session.undo(Undo::All, Run::Real).await.unwrap();
    assert_eq!(session.context().await.unwrap().to_json(), none);
}

async fn forks_stand_on_any_turn(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("trunk").await.unwrap();
    let mut views = Vec::new();
    for number in 0..10 {
        session.append(format!("Question {number}: {}", prose(number, 500)).as_str()).await.unwrap();
        session.reply(Reply::text(format!("Answer {number}: {}", prose(number, 500)))).await.unwrap();
        let head = session.info().await.unwrap().head.unwrap();
        views.push((head, session.context().await.unwrap().to_json()));
    }
    session.compact(Compact::now().within(Tokens(2_000))).await.unwrap();
    let (third, seen) = &views[3];

    let as_seen = session.fork(*third, Sight::AsSeen, Opening::key("as seen")).await.unwrap();
    assert_eq!(&as_seen.context().await.unwrap().to_json(), seen);
    let summary = session.fork(*third, Sight::Summary, Opening::key("summary")).await.unwrap();
    let short = summary.context().await.unwrap().to_json();
    assert!(short.len() < seen.len(), "a summary stands for what was summarised");
    assert!(!short.contains("Question 4"), "nothing that came later is known");
    let info = summary.compaction().await.unwrap().unwrap();
    assert!(info.1.summarized_through.is_some(), "the boundaries are turns of the fork's own path");

    session.compact(Compact::now().within(Tokens(1_500))).await.unwrap();
    let head = session.info().await.unwrap().head.unwrap();
    let whole = session.fork(head, Sight::Whole, Opening::key("whole")).await.unwrap();
    let everything = whole.context().await.unwrap().to_json();
    assert!((0..10).all(|number| everything.contains(&format!("Question {number}:"))));

    exchange(&whole, 99, 100).await;
    assert!(!session.context().await.unwrap().to_json().contains("Question 99"), "the trunk does not notice");
    let checkup = engine.ledger().doctor().await.unwrap();
    assert!(checkup.findings.is_empty(), "{:?}", checkup.findings);
}

async fn a_new_session_goes_on_from_the_last_one_on_its_channel(place: Place) {
    let engine = place.engine().await;
    let fresh = engine.continue_on(Opening::channel("chat", "#ops"), Tokens(2_000)).await.unwrap();
    fresh.append("My name is Ada and the server is called aurora-7.").await.unwrap();
    fresh.reply(Reply::text("Noted.")).await.unwrap();
    for number in 0..8 {
        exchange(&fresh, number, 1_000).await;
    }
    let other = engine.continue_on(Opening::channel("chat", "#dev"), Tokens(2_000)).await.unwrap();
    assert!(other.context().await.unwrap().messages().len() == 0, "another channel knows nothing");

    let next = engine.continue_on(Opening::channel("chat", "#ops"), Tokens(2_000)).await.unwrap();
    assert_ne!(next.id(), fresh.id());
    let context = next.context().await.unwrap();
    assert!(context.tokens() <= Tokens(2_000));
    assert!(context.to_json().contains("aurora-7"), "{}", context.to_json());
    let found = next.search("aurora-7", Order::Best, Paging::first(5)).await.unwrap();
    assert!(!found.items.is_empty(), "what was said before is on its path");
}

async fn pins_stay_whatever_happens(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("pins").await.unwrap();
    session.append("Never touch src/generated.rs, whatever happens.").await.unwrap();
    session.reply(Reply::text("Understood.")).await.unwrap();
    session.pin(0..1, Some("an order".into())).await.unwrap();
    assert!(matches!(session.pin(5..6, None).await, Err(Error::NotThere { .. })));
    for number in 0..12 {
        exchange(&session, number, 3_000).await;
        let context = session.context().await.unwrap();
        assert_sendable(&context, 32_000);
        assert!(context.messages().any(|message| message.ordinal == Some(0)), "the pin is gone at {number}");
    }
    session.unpin(0..1).await.unwrap();
    session.compact(Compact::now().within(Tokens(1_000))).await.unwrap();
    let context = session.context().await.unwrap();
    assert!(!context.messages().any(|message| message.ordinal == Some(0)));
}

async fn a_refused_request_is_made_smaller_each_time(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("refused").await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_500).await;
    }
    let mut size = session.context().await.unwrap().tokens();
    for attempt in 1..=3 {
        let outcome = session.compact(Compact::after_overflow(attempt)).await.unwrap();
        let now = session.context().await.unwrap().tokens();
        assert!(outcome.is_done() && now < size, "attempt {attempt}: {now} after {size}");
        size = now;
    }
    let outcome = session.compact(Compact::after_overflow(4)).await.unwrap();
    assert!(!outcome.is_done(), "enough is enough");
}

async fn json_is_kept_byte_for_byte(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("bytes").await.unwrap();
    let odd = r#"{ "content" : [ {"type":"text", "text":"h\u00e9llo \/ 😀", "x_own":1e400} ], "role":"user" , "z":null}"#;
    session.append(Input::json(odd)).await.unwrap();
    session.reply(Reply::json(r#"{"role":"assistant","content":"ok"}"#)).await.unwrap();
    let json = session.context().await.unwrap().to_json();
    assert_eq!(json, format!(r#"[{odd},{{"role":"assistant","content":"ok"}}]"#));
    assert!(matches!(session.append(Input::json("{not json")).await, Err(Error::Message(_))));
    assert_eq!(session.info().await.unwrap().messages, 2, "what is refused leaves nothing behind");
}

async fn two_engines_share_a_session(place: Place) {
    let (one, two) = (place.engine().await, place.engine().await);
    let (here, there) = (one.session("shared").await.unwrap(), two.session("shared").await.unwrap());
    assert_eq!(here.id(), there.id());
    for number in 0..20 {
        exchange(if number % 2 == 0 { &here } else { &there }, number, 2_000).await;
        let context = here.context().await.unwrap();
        assert_sendable(&context, 32_000);
    }
    let all = here.export(Dialect::Anthropic).await.unwrap();
    let order: Vec<usize> = (0..20).map(|number| all.find(&format!("Question {number}:")).unwrap()).collect();
    assert!(order.is_sorted(), "every message once, in its order");
    let seen = (here.context().await.unwrap(), there.context().await.unwrap());
    assert_eq!(seen.0.turn.is_some(), seen.1.turn.is_some());
}

async fn what_is_hidden_is_found(place: Place) {
    let engine = place.engine().await;
    let session = engine.session("found").await.unwrap();
    session.append("The deployment key is stored under vault/aurora/deploy_key_v7.").await.unwrap();
    session.reply(Reply::from(Message::text(Role::Assistant, "I will remember."))).await.unwrap();
    for number in 0..10 {
        exchange(&session, number, 1_000).await;
    }
    session.compact(Compact::now().within(Tokens(600))).await.unwrap();
    let hits = session.search("deploy_key_v7", Order::Best, Paging::first(5)).await.unwrap().items;
    assert!(!hits.is_empty());
    let turns = session.history(Paging::first(100)).await.unwrap().items;
    let compaction = turns.iter().find(|turn| turn.kind == TurnKind::Compaction).unwrap();
    assert!(!session.summarized_turns(compaction.id).await.unwrap().is_empty());
}
