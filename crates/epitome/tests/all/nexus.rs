//! Conformance with the Nexus design, "Compaction in Agent System": triggers, the compaction as a turn, context assembly,
//! traversal, smart forking, and the ledger of events beside it.
//!
//! Turns are numbered from 1, as in the design; the engine numbers them from 0.

use epitome::{Compact, Engine, Opening, Session, Sight};
use epitome_core::compact::Preset;
use epitome_core::settings::Settings;
use epitome_core::{Time, Tokens};
use epitome_ledger::Paging;
use epitome_ledger::model::{
    EventFilter, Found, NewEvent, Novelty, Order, Scope, Search, Turn, TurnId, TurnKind,
};

use crate::seeds::*;
use crate::support::{Place, assert_sendable, on_both};

on_both!(
    trigger_1_context_overflow,
    trigger_2_threshold_is_the_window_less_the_reserve,
    trigger_3_manual,
    the_first_compaction_is_a_turn_of_its_own,
    the_second_compaction_includes_the_first,
    the_nth_compaction_goes_on,
    the_full_history_holds_turns_and_compactions,
    summarized_turns_stop_at_the_compaction_before,
    a_fork_of_a_summarized_turn_has_its_summary,
    a_fork_of_a_summarized_turn_is_fully_reconstructed,
    a_fork_of_a_kept_turn_stands_on_the_summary,
    events_are_never_compacted,
);

/// A turn: half of it is the query, half the response.
const TURN: usize = 15_000;

async fn opened(place: &Place, settings: Settings, scribe: &Scribe) -> (Engine, Session) {
    let engine = of_seed(place, settings).summarizer(scribe.clone()).build().await.unwrap();
    let session = engine.session("nexus").await.unwrap();
    (engine, session)
}

async fn turns(session: &Session, count: usize) {
    chat(session, count * 2, TURN / 2).await;
}

async fn history(session: &Session) -> Vec<Turn> {
    session.history(Paging::first(500)).await.unwrap().items
}

async fn ids(session: &Session) -> Vec<TurnId> {
    history(session).await.iter().map(|turn| turn.id).collect()
}

async fn trigger(session: &Session) -> Option<String> {
    session.compaction().await.unwrap().map(|(_, record)| record.trigger)
}

/// Five turns of which the first three are summarised.
async fn compacted(place: &Place, scribe: &Scribe) -> (Engine, Session) {
    let (engine, session) = opened(place, literal(Preset::Nexus), scribe).await;
    turns(&session, 5).await;
    assert!(session.compact(Compact::now()).await.unwrap().is_done());
    (engine, session)
}

async fn trigger_1_context_overflow(place: Place) {
    let (_engine, session) =
        opened(&place, literal(Preset::Nexus), &Scribe::new(&checkpoint("refused"))).await;
    turns(&session, 5).await;
    session.context().await.unwrap();
    assert_eq!(trigger(&session).await, None, "far below the threshold");
    let outcome = session.compact(Compact::after_overflow(1)).await.unwrap();
    assert!(outcome.is_done(), "whatever we count, the agent run failed due to the context limit");
    assert_eq!(trigger(&session).await.as_deref(), Some("overflow"));
}

async fn trigger_2_threshold_is_the_window_less_the_reserve(place: Place) {
    let scribe = Scribe::new(&checkpoint("full"));
    let (engine, session) = opened(&place, literal(Preset::Nexus), &scribe).await;
    turns(&session, 12).await;
    assert_eq!(session.context().await.unwrap().pressure.tokens, Tokens(180_000));
    assert_eq!(trigger(&session).await, None, "180,000 are not more than 200,000 - 20,000");
    session.beside("Hi", "");
    session.context().await.unwrap();
    assert_eq!(trigger(&session).await.as_deref(), Some("threshold"));
    engine.close().await;

    let mut settings = literal(Preset::Nexus);
    settings.compact.reserve_tokens = Tokens(110_000);
    let engine = of_seed(&place, settings).summarizer(scribe).build().await.unwrap();
    let session = engine.session("more reserve").await.unwrap();
    turns(&session, 6).await;
    session.context().await.unwrap();
    assert_eq!(trigger(&session).await, None);
    turns(&session, 1).await;
    session.context().await.unwrap();
    assert_eq!(trigger(&session).await.as_deref(), Some("threshold"), "the reserve is configurable");
}

async fn trigger_3_manual(place: Place) {
    let (_engine, session) = compacted(&place, &Scribe::new(&checkpoint("asked for"))).await;
    assert_eq!(trigger(&session).await.as_deref(), Some("manual"));
}

async fn the_first_compaction_is_a_turn_of_its_own(place: Place) {
    let (_engine, session) = compacted(&place, &Scribe::new(&checkpoint("project setup"))).await;
    let ids = ids(&session).await;
    let (turn, record) = session.compaction().await.unwrap().unwrap();
    assert_eq!((turn.kind, turn.number, turn.id), (TurnKind::Compaction, 5, ids[5]), "its parent is turn 5");
    assert_eq!(session.info().await.unwrap().head, Some(turn.id), "it is the session's head");
    assert_eq!(record.compaction.summary(), Some(checkpoint("project setup")));
    assert_eq!((record.summarized_through, record.first_kept), (Some(ids[2]), Some(ids[3])));
    assert_eq!(record.tokens_before, Tokens(75_000));
    assert!((Tokens(30_000)..Tokens(31_000)).contains(&record.tokens_after), "{}", record.tokens_after);

    session.append("And now?").await.unwrap();
    let context = session.context().await.unwrap();
    assert_eq!(context.system.as_deref(), Some(checkpoint("project setup").as_str()), "a system summary");
    let ordinals: Vec<Option<u64>> = context.messages().map(|message| message.ordinal).collect();
    assert_eq!(ordinals, [6, 7, 8, 9, 10].map(Some), "turn 4, turn 5, the new query");
    assert_sendable(&context, 180_000);
    let child = history(&session).await.remove(6);
    assert_eq!((child.kind, child.nearest), (TurnKind::Call, Some(5)), "its child is the next turn");
}

async fn the_second_compaction_includes_the_first(place: Place) {
    let scribe = Scribe::new(&checkpoint("project setup"));
    let (_engine, session) = compacted(&place, &scribe).await;
    turns(&session, 3).await;
    let second = format!("{}\nThen the user worked on auth.", checkpoint("project setup"));
    scribe.write(&second);
    session.compact(Compact::now()).await.unwrap();
    let ids = ids(&session).await;
    let (turn, record) = session.compaction().await.unwrap().unwrap();
    assert_eq!((turn.number, turn.compactions), (9, 2), "behind turn 8");
    assert_eq!((record.summarized_through, record.first_kept), (Some(ids[6]), Some(ids[7])));
    let asked = Asked { first: 6, messages: 6, previous: vec![checkpoint("project setup")] };
    assert_eq!(scribe.asked()[1..], [asked], "turns 4 to 6, and the summary of 1 to 3");
    assert_eq!(session.context().await.unwrap().system.as_deref(), Some(second.as_str()));
}

async fn the_nth_compaction_goes_on(place: Place) {
    let scribe = Scribe::new(&checkpoint("number 0"));
    let (engine, session) = opened(&place, literal(Preset::Nexus), &scribe).await;
    for number in 1..=6 {
        scribe.write(&checkpoint(&format!("number {number}")));
        turns(&session, 5).await;
        session.compact(Compact::now()).await.unwrap();
        let (_, record) = session.compaction().await.unwrap().unwrap();
        assert_eq!(
            shape(&session).await,
            format!("S0..{} V{}..{}", 10 * number - 4, 10 * number - 4, 10 * number)
        );
        assert!(record.tokens_after < record.tokens_before);
    }
    assert_eq!(session.info().await.unwrap().compactions, 6);
    assert_eq!(engine.ledger().doctor().await.unwrap().findings, []);
}

async fn the_full_history_holds_turns_and_compactions(place: Place) {
    let (_engine, session) = opened(&place, literal(Preset::Nexus), &Scribe::new(&checkpoint("go on"))).await;
    turns(&session, 5).await;
    let (before, seen) = (session.messages(0..10).await.unwrap(), ids(&session).await);
    let view = session.view(seen[4]).await.unwrap().to_json();
    session.compact(Compact::now()).await.unwrap();
    turns(&session, 2).await;
    let kinds: Vec<TurnKind> = history(&session).await.iter().map(|turn| turn.kind).collect();
    let (call, compaction) = (TurnKind::Call, TurnKind::Compaction);
    assert_eq!(kinds, [call, call, call, call, call, compaction, call, call]);
    assert_eq!(ids(&session).await[..5], seen, "turns that were summarised are where they were");
    assert_eq!(session.messages(0..10).await.unwrap(), before, "and say what they said");
    assert_eq!(session.view(seen[4]).await.unwrap().to_json(), view, "what the agent saw then is known");
}

async fn summarized_turns_stop_at_the_compaction_before(place: Place) {
    let (_engine, session) = compacted(&place, &Scribe::new(&checkpoint("go on"))).await;
    turns(&session, 3).await;
    session.compact(Compact::now()).await.unwrap();
    let ids = ids(&session).await;
    let summarized = async |compaction: TurnId| -> Vec<TurnId> {
        session.summarized_turns(compaction).await.unwrap().iter().map(|turn| turn.id).collect()
    };
    assert_eq!(summarized(ids[5]).await, ids[..3]);
    assert_eq!(summarized(ids[9]).await, ids[5..7], "the first compaction stands for what it summarised");
}

async fn a_fork_of_a_summarized_turn_has_its_summary(place: Place) {
    let scribe = Scribe::new(&checkpoint("of five turns"));
    let (engine, session) = opened(&place, Preset::Nexus.settings(), &scribe).await;
    turns(&session, 8).await;
    session.compact(Compact::now()).await.unwrap();
    let (ids, before) = (ids(&session).await, session.context().await.unwrap().to_json());
    scribe.write(&checkpoint("of the fork"));
    let fork = session.fork(ids[4], Sight::default(), Opening::key("fork")).await.unwrap();
    let info = fork.info().await.unwrap();
    let origin = info.origin.unwrap();
    assert_eq!((origin.session, origin.turn, origin.messages), (session.id(), ids[4], 10));
    let (turn, record) = fork.compaction().await.unwrap().unwrap();
    assert_eq!((turn.session, turn.number), (fork.id(), 5), "the compaction is the fork's own");
    assert_eq!(record.compaction.summary(), Some(checkpoint("of the fork")), "made of what lies before it");
    let bounds = [record.summarized_through, record.first_kept].into_iter().flatten();
    assert!(bounds.into_iter().all(|bound| ids[..5].contains(&bound)), "no boundary lies behind the fork");

    chat(&fork, 1, 100).await;
    assert_sendable(&fork.context().await.unwrap(), 180_000);
    assert_eq!(session.context().await.unwrap().to_json(), before, "the trunk does not notice");
    assert_eq!(engine.ledger().doctor().await.unwrap().findings, []);
}

async fn a_fork_of_a_summarized_turn_is_fully_reconstructed(place: Place) {
    let (_engine, session) = compacted(&place, &Scribe::new(&checkpoint("project setup"))).await;
    turns(&session, 1).await;
    let ids = ids(&session).await;
    let whole = session.fork(ids[1], Sight::Whole, Opening::key("early")).await.unwrap();
    let context = whole.context().await.unwrap();
    assert_eq!(
        (context.messages().len(), context.system.as_deref()),
        (4, None),
        "turns 1 and 2 as they were"
    );
    let late = session.fork(ids[6], Sight::Whole, Opening::key("late")).await.unwrap();
    let context = late.context().await.unwrap();
    assert_eq!((context.messages().len(), context.system.as_deref()), (12, None), "summarised ones, too");
    assert_eq!(late.messages(0..99).await.unwrap(), session.messages(0..12).await.unwrap());
}

async fn a_fork_of_a_kept_turn_stands_on_the_summary(place: Place) {
    let scribe = Scribe::new(&checkpoint("project setup"));
    let (_engine, session) = compacted(&place, &scribe).await;
    turns(&session, 2).await;
    let ids = ids(&session).await;
    let fork = session.fork(ids[6], Sight::default(), Opening::key("fork")).await.unwrap();
    let context = fork.context().await.unwrap();
    assert_eq!(context.system.as_deref(), Some(checkpoint("project setup").as_str()));
    let ordinals: Vec<Option<u64>> = context.messages().map(|message| message.ordinal).collect();
    assert_eq!(ordinals, (6..12).map(Some).collect::<Vec<_>>(), "turns 4 to 6");
    assert_eq!(scribe.asked().len(), 1, "nothing is summarised again");

    turns(&fork, 3).await;
    fork.compact(Compact::now()).await.unwrap();
    let own = history(&fork).await;
    let (_, record) = fork.compaction().await.unwrap().unwrap();
    let kept = own.iter().position(|turn| Some(turn.id) == record.first_kept).unwrap();
    assert_eq!((own[kept].session, own[kept].first), (fork.id(), 14), "boundaries are turns of its own path");
    assert_eq!(scribe.asked()[1].previous, [checkpoint("project setup")]);
}

async fn events_are_never_compacted(place: Place) {
    let (engine, session) = opened(&place, literal(Preset::Nexus), &Scribe::new(&checkpoint("go on"))).await;
    turns(&session, 5).await;
    let first = ids(&session).await[0];
    for number in 0..3 {
        let event = NewEvent {
            platform: "imessage".to_owned(),
            channel: "family".to_owned(),
            external: format!("m{number}"),
            time: Time(number),
            payload: format!(r#"{{"text":"the heron came back {number}"}}"#).into_bytes(),
            turns: if number == 0 { vec![first] } else { Vec::new() },
        };
        assert_eq!(engine.append_event(event.clone()).await.unwrap().novelty, Novelty::New);
        assert_eq!(engine.append_event(event).await.unwrap().novelty, Novelty::Known);
    }
    let filter = EventFilter { platform: Some("imessage".to_owned()), ..EventFilter::default() };
    let before = engine.events(filter.clone(), Paging::first(9)).await.unwrap().items;
    assert_eq!(before.len(), 3);
    session.compact(Compact::now()).await.unwrap();
    assert_eq!(engine.events(filter.clone(), Paging::first(9)).await.unwrap().items, before);
    assert_eq!(
        engine.events_of_turn(first).await.unwrap(),
        before[2..],
        "also of a turn that was summarised"
    );
    engine.link_event(before[1].number, first).await.unwrap();
    assert_eq!(engine.events_of_turn(first).await.unwrap().len(), 2);
    engine.close().await;

    let engine = of_seed(&place, literal(Preset::Nexus)).build().await.unwrap();
    assert_eq!(engine.events(filter, Paging::first(9)).await.unwrap().items[2], before[2]);
    let search = Search { query: "heron".to_owned(), scope: Scope::Tenant, order: Order::Best };
    let hits = engine.ledger().search(engine.tenant(), search, Paging::first(9)).await.unwrap().items;
    assert_eq!(hits.iter().filter(|hit| matches!(hit.found, Found::Event { .. })).count(), 3);
}
