//! Texts are recalled by the ids that markers show; sessions are named by the beginning of their ids.

use epitome_core::{RecallId, Role};
use epitome_ledger::model::{
    Expect, NewMessage, NewSession, NewTurn, Purge, SessionFilter, SessionId, TenantId, Warrant,
};
use epitome_ledger::{LedgerError, Paging};

use crate::support::*;

on_both!(
    a_text_is_recalled_until_it_is_purged,
    sessions_are_filtered,
    a_session_is_named_by_its_first_digits,
    forks_of_a_session_are_listed,
    a_session_begins_with_its_first_turns_or_not_at_all,
);

fn holding(text: &str) -> NewMessage {
    NewMessage { recalls: vec![RecallId::of(text)], ..say(Role::User, text) }
}

async fn a_text_is_recalled_until_it_is_purged(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let here = Expect { session: session.id, head: None, fence: None };
    let turns = vec![NewTurn::of(vec![holding("one"), holding("two")]), NewTurn::of(vec![holding("one")])];
    ledger.append(ME, here, turns).await.unwrap();
    let found = ledger.recall(ME, RecallId::of("two")).await.unwrap().unwrap();
    assert_eq!((found.session, found.message.ordinal), (session.id, 1));
    assert_eq!(found.message.body, say(Role::User, "two").body);
    let found = ledger.recall(ME, RecallId::of("one")).await.unwrap().unwrap();
    assert_eq!(found.message.ordinal, 2, "the last one counts");
    assert_eq!(ledger.recall(ME, RecallId::of("three")).await.unwrap(), None);
    let other: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    assert_eq!(ledger.recall(other, RecallId::of("two")).await.unwrap(), None);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    let warrant = Warrant { actor: "me".into(), reason: "a test".into() };
    ledger.purge(ME, Purge::Session(session.id), warrant).await.unwrap();
    assert_eq!(ledger.recall(ME, RecallId::of("two")).await.unwrap(), None);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn sessions_are_filtered(place: Place) {
    let ledger = place.open().await;
    for (label, platform) in [("Fix 100% of Bugs", "file"), ("fix 1000 bugs", "chat")] {
        let (label, platform) = (Some(label.to_owned()), Some(platform.to_owned()));
        ledger.create_session(ME, NewSession { label, platform, ..NewSession::of("a") }).await.unwrap();
    }
    let count = async |filter: SessionFilter| {
        ledger.sessions(ME, filter, Paging::first(9)).await.unwrap().items.len()
    };
    let label = |label: &str| SessionFilter { label: Some(label.to_owned()), ..SessionFilter::default() };
    assert_eq!(count(label("FIX")).await, 2);
    assert_eq!(count(label("100%")).await, 1, "no pattern");
    assert_eq!(count(label("1_00")).await, 0, "no pattern");
    let platform = SessionFilter { platform: Some("chat".into()), ..SessionFilter::default() };
    assert_eq!(count(platform).await, 1);
}

async fn a_session_is_named_by_its_first_digits(place: Place) {
    let ledger = place.open().await;
    for id in ["ab000000-0000-4000-8000-000000000001", "ab000000-0000-4000-8000-000000000002"] {
        let id: SessionId = id.parse().unwrap();
        ledger.create_session(ME, NewSession { id, ..NewSession::of("a") }).await.unwrap();
    }
    let cases =
        [("a", 2), ("AB", 2), ("ab000000-0000-4000-8000-000000000002", 1), ("ac", 0), ("aaff", 0), ("", 2)];
    for (digits, expected) in cases {
        assert_eq!(ledger.sessions_by_prefix(ME, digits).await.unwrap().len(), expected, "{digits}");
    }
    for bad in ["xy", "ab000000-0000-4000-8000-0000000000021", "+1"] {
        let refused = ledger.sessions_by_prefix(ME, bad).await;
        assert!(matches!(refused, Err(LedgerError::BadRequest(_))), "{bad}");
    }
}

async fn forks_of_a_session_are_listed(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..2).await;
    let fork = ledger.fork(ME, turns[0], NewSession::of("a")).await.unwrap();
    let grandchild = ledger.fork(ME, turns[0], NewSession::of("a")).await.unwrap();
    assert_eq!(ledger.forks(ME, session.id).await.unwrap(), [fork, grandchild]);
}

async fn a_session_begins_with_its_first_turns_or_not_at_all(place: Place) {
    let ledger = place.open().await;
    let new = NewSession::of("a");
    let (id, turn) = (new.id, call("hello", "hi"));
    let first = turn.id;
    let receipt = ledger.begin(ME, None, new, vec![turn.clone()]).await.unwrap();
    assert_eq!((receipt.messages, receipt.head), (2, Some(first)));
    let fork = NewSession::of("a");
    let fork_id = fork.id;
    let receipt = ledger.begin(ME, Some(first), fork, vec![call("and", "so on")]).await.unwrap();
    assert_eq!((receipt.turns, receipt.messages), (2, 4));
    assert_eq!(ledger.forks(ME, id).await.unwrap().len(), 1);
    let nothing = ledger.begin(ME, Some(first), NewSession::of("a"), Vec::new()).await.unwrap();
    assert_eq!(nothing.messages, 2);
    // A turn that is there already cannot be recorded again elsewhere, and then there is no session either.
    let refused = NewSession::of("a");
    let refused_id = refused.id;
    assert!(ledger.begin(ME, None, refused, vec![turn]).await.is_err());
    assert!(matches!(ledger.session(ME, refused_id).await, Err(LedgerError::NotFound { .. })));
    assert_eq!(ledger.session(ME, fork_id).await.unwrap().messages, 4);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}
