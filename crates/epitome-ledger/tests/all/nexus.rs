//! The storage part of the Nexus design: compaction is a turn, lineage, traversal, context, smart forking.

use epitome_core::Tokens;
use epitome_core::compact::{Compaction, Segment};
use epitome_ledger::model::{NewSession, TurnId, TurnKind, Until};
use epitome_ledger::{Ledger, LedgerError, Paging};

use crate::support::*;

on_both!(
    first_compaction,
    second_compaction,
    context_is_summary_and_kept_turns,
    full_history_holds_all_turns_and_compactions,
    summarized_turns_stop_at_the_compaction_before,
    a_fork_of_a_summarized_turn_is_whole,
    a_fork_stands_on_the_compaction_that_its_turn_saw,
    forks_of_forks_read_through,
    a_compaction_must_tile_the_path,
    undoing_is_an_append,
    the_view_of_any_turn_stays_as_it_was,
);

/// Five turns; the first three are summarised.
async fn compacted(place: &Place) -> (Ledger, epitome_ledger::model::Session, Vec<TurnId>, TurnId) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 1..6).await;
    let compaction = compact(&ledger, &session, vec![summary(0..6, "turns 1 to 3"), verbatim(6..10)]).await;
    (ledger, session, turns, compaction)
}

async fn first_compaction(place: Place) {
    let (ledger, session, turns, id) = compacted(&place).await;
    let (turn, record) = ledger.compaction(ME, id).await.unwrap();
    assert_eq!((turn.kind, turn.number, turn.nearest), (TurnKind::Compaction, 5, Some(5)));
    assert_eq!(record.summarized_through, Some(turns[2]));
    assert_eq!(record.first_kept, Some(turns[3]));
    assert_eq!((record.tokens_before, record.tokens_after), (Tokens(150_000), Tokens(45_000)));
    assert_eq!(record.compaction.summary().as_deref(), Some("turns 1 to 3"));
    let now = ledger.session(ME, session.id).await.unwrap();
    assert_eq!((now.head, now.turns, now.compactions, now.tokens_used), (Some(id), 6, 1, Tokens(45_000)));
    let history = ledger.history(ME, id, Paging::first(99)).await.unwrap().items;
    assert_eq!(history[4].id, turns[4], "its parent is the last turn before it");
    assert!(matches!(ledger.compaction(ME, turns[0]).await, Err(LedgerError::NotFound { .. })));
}

async fn second_compaction(place: Place) {
    let (ledger, session, _, first) = compacted(&place).await;
    let later = talk(&ledger, &session, 6..9).await;
    assert_eq!(ledger.latest_compaction(ME, later[2]).await.unwrap().unwrap().0.id, first);
    let second =
        compact(&ledger, &session, vec![summary(0..12, "1 to 3, then 4 to 6"), verbatim(12..16)]).await;
    let (turn, record) = ledger.compaction(ME, second).await.unwrap();
    assert_eq!((turn.nearest, turn.compactions), (Some(9), 2));
    assert_eq!(record.summarized_through, Some(later[0]));
    assert_eq!(record.first_kept, Some(later[1]));
    let seventh = talk(&ledger, &session, 9..10).await[0];
    assert_eq!(ledger.latest_compaction(ME, seventh).await.unwrap().unwrap().0.id, second);
    assert_eq!(ledger.latest_compaction(ME, later[2]).await.unwrap().unwrap().0.id, first);
}

async fn context_is_summary_and_kept_turns(place: Place) {
    let (ledger, session, turns, _) = compacted(&place).await;
    let next = talk(&ledger, &session, 6..7).await[0];
    let view = ledger.view(ME, next, Until::Input).await.unwrap();
    let compaction = view.compaction.unwrap();
    assert_eq!(compaction.segments[0], summary(0..6, "turns 1 to 3"));
    let expected = ["question 4", "answer 4", "question 5", "answer 5", "question 6"];
    assert_eq!(texts(&view.messages), expected);
    assert_eq!(view.messages.iter().map(|message| message.ordinal).collect::<Vec<_>>(), [6, 7, 8, 9, 10]);
    assert_eq!(view.length, 11);
    let early = ledger.view(ME, turns[4], Until::Reply).await.unwrap();
    assert_eq!((early.compaction, early.messages.len()), (None, 10), "no compaction yet: the whole thread");
}

async fn full_history_holds_all_turns_and_compactions(place: Place) {
    let (ledger, session, mut all, compaction) = compacted(&place).await;
    all.push(compaction);
    all.extend(talk(&ledger, &session, 6..9).await);
    let mut read = Vec::new();
    let mut paging = Paging::first(4);
    loop {
        let page = ledger.history(ME, all[8], paging).await.unwrap();
        read.extend(page.items.iter().map(|turn| turn.id));
        let Some(next) = page.next else { break };
        paging = Paging::after(next, 4);
    }
    assert_eq!(read, all);
    let message = ledger.messages(ME, all[8], 0..2).await.unwrap();
    assert_eq!(texts(&message), ["question 1", "answer 1"], "what was summarised is there as it was");
}

async fn summarized_turns_stop_at_the_compaction_before(place: Place) {
    let (ledger, session, turns, first) = compacted(&place).await;
    let ids = |turns: Vec<epitome_ledger::model::Turn>| turns.iter().map(|turn| turn.id).collect::<Vec<_>>();
    assert_eq!(ids(ledger.summarized_turns(ME, first).await.unwrap()), turns[..3]);
    let later = talk(&ledger, &session, 6..9).await;
    let second = compact(&ledger, &session, vec![summary(0..12, "all"), verbatim(12..16)]).await;
    assert_eq!(ids(ledger.summarized_turns(ME, second).await.unwrap()), [first, later[0]]);
    let third = compact(&ledger, &session, vec![verbatim(0..16)]).await;
    assert!(ledger.summarized_turns(ME, third).await.unwrap().is_empty());
}

async fn a_fork_of_a_summarized_turn_is_whole(place: Place) {
    let (ledger, session, turns, _) = compacted(&place).await;
    let fork = ledger.fork(ME, turns[1], NewSession::of("agent")).await.unwrap();
    let origin = fork.origin.unwrap();
    assert_eq!((origin.session, origin.turn, origin.messages), (session.id, turns[1], 4));
    assert_eq!((fork.head, fork.turns, fork.messages, fork.compactions), (Some(turns[1]), 2, 4, 0));
    let next = talk(&ledger, &fork, 90..91).await[0];
    let view = ledger.view(ME, next, Until::Input).await.unwrap();
    assert_eq!(view.compaction, None);
    assert_eq!(texts(&view.messages), ["question 1", "answer 1", "question 2", "answer 2", "question 90"]);
    let parent = ledger.session(ME, session.id).await.unwrap();
    assert_eq!((parent.turns, parent.messages), (6, 10), "the parent does not notice");
    assert_eq!(fork.tokens_total, Tokens(8));
    let same = ledger.fork(ME, turns[1], fork_named("twice")).await.unwrap();
    assert!(matches!(ledger.fork(ME, turns[1], fork_named("twice")).await, Err(LedgerError::Exists { .. })));
    assert_eq!(same.chain, fork.chain);
}

fn fork_named(name: &str) -> NewSession {
    NewSession { external: Some(name.to_owned()), ..NewSession::of("agent") }
}

async fn a_fork_stands_on_the_compaction_that_its_turn_saw(place: Place) {
    let (ledger, session, _, compaction) = compacted(&place).await;
    let later = talk(&ledger, &session, 6..8).await;
    compact(&ledger, &session, vec![summary(0..14, "everything")]).await;
    for at in [compaction, later[0]] {
        let fork = ledger.fork(ME, at, NewSession::of("agent")).await.unwrap();
        assert_eq!(fork.compactions, 1);
        let next = talk(&ledger, &fork, 50..51).await[0];
        let view = ledger.view(ME, next, Until::Reply).await.unwrap();
        assert_eq!(view.compaction.unwrap().segments[0], summary(0..6, "turns 1 to 3"));
        let length = fork.messages;
        let segments = vec![summary(0..8, "of the fork"), verbatim(8..length as usize + 2)];
        let own = compact(&ledger, &fork, segments).await;
        let (_, record) = ledger.compaction(ME, own).await.unwrap();
        let kept = ledger.turn(ME, record.first_kept.unwrap()).await.unwrap();
        assert_eq!(
            (kept.session, kept.number),
            (session.id, 4),
            "boundaries are turns of the path, whoever owns them"
        );
    }
}

async fn forks_of_forks_read_through(place: Place) {
    let ledger = place.open().await;
    let mut session = open_session(&ledger).await;
    let mut expected = Vec::new();
    let mut head = None;
    for depth in 0..6 {
        if let Some(head) = head {
            session = ledger.fork(ME, head, NewSession::of("agent")).await.unwrap();
        }
        let turns = talk(&ledger, &session, depth * 10..depth * 10 + 3).await;
        // The last turn of each is left behind by the next.
        head = Some(turns[1]);
        let said = |number: usize| [format!("question {number}"), format!("answer {number}")];
        expected.extend((depth * 10..depth * 10 + 2).flat_map(said));
    }
    let head = head.unwrap();
    let stored = ledger.messages(ME, head, 0..100).await.unwrap();
    assert_eq!(texts(&stored), expected);
    let history = ledger.history(ME, head, Paging::first(100)).await.unwrap().items;
    let numbers: Vec<u64> = history.iter().map(|turn| turn.number).collect();
    assert_eq!(numbers, (0..12).collect::<Vec<_>>());
    let ordinals: Vec<u64> = stored.iter().map(|message| message.ordinal).collect();
    assert_eq!(ordinals, (0..24).collect::<Vec<_>>());
    assert_eq!(texts(&ledger.messages(ME, head, 3..9).await.unwrap()), expected[3..9]);
}

async fn a_compaction_must_tile_the_path(place: Place) {
    let (ledger, session, _, _) = compacted(&place).await;
    let now = ledger.session(ME, session.id).await.unwrap();
    let bad: [Vec<Segment>; 4] =
        [vec![], vec![verbatim(0..9)], vec![verbatim(0..4), verbatim(5..10)], vec![verbatim(0..11)]];
    for segments in bad {
        let refused = ledger.compact(ME, expect(&now), compaction(segments)).await;
        assert!(matches!(refused, Err(LedgerError::Tiling(_))), "{refused:?}");
    }
    assert_eq!(ledger.session(ME, session.id).await.unwrap(), now);
}

async fn undoing_is_an_append(place: Place) {
    let (ledger, session, _, compaction) = compacted(&place).await;
    let (_, record) = ledger.compaction(ME, compaction).await.unwrap();
    let undone = record.compaction.expanded(0..2);
    assert_eq!(undone, Compaction::verbatim(10));
    let undo = compact(&ledger, &session, undone.segments).await;
    assert_eq!(ledger.view(ME, undo, Until::Reply).await.unwrap().messages.len(), 10);
    assert_eq!(ledger.view(ME, compaction, Until::Reply).await.unwrap().messages.len(), 4);
}

async fn the_view_of_any_turn_stays_as_it_was(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let mut seen = Vec::new();
    for number in 0..12 {
        if number % 4 == 3 {
            let length = ledger.session(ME, session.id).await.unwrap().messages as usize;
            let segments =
                vec![summary(0..length - 2, &format!("up to {number}")), verbatim(length - 2..length)];
            compact(&ledger, &session, segments).await;
        }
        let turn = talk(&ledger, &session, number..number + 1).await[0];
        seen.push((turn, ledger.view(ME, turn, Until::Input).await.unwrap()));
    }
    ledger.pack().await.unwrap();
    for (turn, view) in seen {
        assert_eq!(ledger.view(ME, turn, Until::Input).await.unwrap(), view);
    }
}
