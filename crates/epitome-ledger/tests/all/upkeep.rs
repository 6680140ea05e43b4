//! Purging takes what it should and no more; the doctor sees what is wrong.

use epitome_core::Time;
use epitome_ledger::model::{
    EventFilter, NewEvent, NewSession, NewTurn, Purge, Scope, Search, SessionFilter, TenantId, Until, Warrant,
};
use epitome_ledger::{Ledger, LedgerError, Paging};

use crate::server::psql;
use crate::support::*;

on_both!(
    a_purged_session_is_gone,
    forks_keep_what_they_stand_on,
    what_is_old_is_purged,
    what_was_imported_is_as_old_as_it_says,
    a_tenant_is_purged_alone,
    the_doctor_finds_what_is_wrong,
);

fn warrant() -> Warrant {
    Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() }
}

async fn healthy(ledger: &Ledger) {
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn hits(ledger: &Ledger, query: &str) -> usize {
    let search = Search { query: query.to_owned(), scope: Scope::Tenant, ..Search::default() };
    ledger.search(ME, search, Paging::first(100)).await.unwrap().items.len()
}

async fn a_purged_session_is_gone(place: Place) {
    let ledger = place.open().await;
    let (session, other) = (open_session(&ledger).await, open_session(&ledger).await);
    let turns = talk(&ledger, &session, 0..3).await;
    talk(&ledger, &other, 2..4).await;
    add(&ledger, &session, NewTurn::of(vec![user("the password is xyzzy")])).await;
    compact(&ledger, &session, vec![summary(0..7, "a summary of it, with xyzzy")]).await;
    ledger.pack().await.unwrap();
    healthy(&ledger).await;
    let tombstone = ledger.purge(ME, Purge::Session(session.id), warrant()).await.unwrap();
    assert_eq!((tombstone.sessions, tombstone.turns, tombstone.messages), (1, 5, 7));
    assert_eq!(tombstone.bodies, 5, "the other session uses two of them");
    assert!(matches!(ledger.session(ME, session.id).await, Err(LedgerError::NotFound { .. })));
    assert!(matches!(ledger.turn(ME, turns[0]).await, Err(LedgerError::NotFound { .. })));
    assert_eq!((hits(&ledger, "summary").await, hits(&ledger, "question").await), (0, 2));
    assert_eq!(ledger.tombstones(ME).await.unwrap(), [tombstone]);
    if place.is_sqlite() {
        let log = std::fs::read(place.folder.path().join("ledger.db-wal")).unwrap();
        for bytes in [std::fs::read(place.file()).unwrap(), log] {
            assert!(!bytes.windows(5).any(|bytes| bytes == b"xyzzy"), "not even while it is open");
        }
    }
    assert!(matches!(
        ledger.purge(ME, Purge::Session(session.id), warrant()).await,
        Err(LedgerError::NotFound { .. })
    ));
    healthy(&ledger).await;
    talk(&ledger, &other, 5..6).await;
    ledger.pack().await.unwrap();
    healthy(&ledger).await;
    ledger.close().await;
    if place.is_sqlite() {
        let file = std::fs::read(place.file()).unwrap();
        assert!(!file.windows(5).any(|bytes| bytes == b"xyzzy"), "not even in a free page");
    }
}

async fn forks_keep_what_they_stand_on(place: Place) {
    let ledger = place.open().await;
    let new = NewSession { external: Some("name".to_owned()), ..NewSession::of("agent") };
    let session = ledger.create_session(ME, new.clone()).await.unwrap();
    let turns = talk(&ledger, &session, 0..4).await;
    let fork = ledger.fork(ME, turns[1], NewSession::of("agent")).await.unwrap();
    let own = talk(&ledger, &fork, 10..12).await;
    let deep = ledger.fork(ME, own[0], NewSession::of("agent")).await.unwrap();
    talk(&ledger, &deep, 20..21).await;
    let before = ledger.view(ME, own[1], Until::Reply).await.unwrap();
    let gone = ledger.purge(ME, Purge::Session(session.id), warrant()).await.unwrap();
    assert_eq!((gone.turns, gone.messages), (2, 4));
    healthy(&ledger).await;
    assert_eq!(ledger.view(ME, own[1], Until::Reply).await.unwrap(), before);
    assert!(matches!(ledger.turn(ME, turns[3]).await, Err(LedgerError::NotFound { .. })));
    assert_eq!(ledger.sessions(ME, SessionFilter::default(), Paging::first(9)).await.unwrap().items.len(), 2);
    ledger.create_session(ME, NewSession { id: NewSession::of("x").id, ..new }).await.unwrap();
    ledger.purge(ME, Purge::Session(fork.id), warrant()).await.unwrap();
    healthy(&ledger).await;
    let head = ledger.session(ME, deep.id).await.unwrap().head.unwrap();
    assert_eq!(ledger.messages(ME, head, 0..99).await.unwrap().len(), 8);
    let last = ledger.purge(ME, Purge::Session(deep.id), warrant()).await.unwrap();
    assert_eq!((last.turns, last.messages), (4, 8), "what was kept for it goes with it");
    let checkup = ledger.doctor().await.unwrap();
    assert_eq!((checkup.findings.len(), checkup.messages, checkup.bodies), (0, 0, 0));
}

async fn what_is_old_is_purged(place: Place) {
    let ledger = place.open().await;
    let old = open_session(&ledger).await;
    talk(&ledger, &old, 0..2).await;
    let event = |number: i64| NewEvent {
        platform: "p".to_owned(),
        channel: "c".to_owned(),
        external: number.to_string(),
        time: Time(number),
        payload: format!("happening {number}").into_bytes(),
        turns: Vec::new(),
    };
    ledger.append_event(ME, event(5)).await.unwrap();
    ledger.append_event(ME, event(i64::from(u32::MAX) * 1_000_000)).await.unwrap();
    let nothing = ledger.purge(ME, Purge::OlderThan(Time(3)), warrant()).await.unwrap();
    assert_eq!((nothing.sessions, nothing.events), (0, 0));
    let all = ledger.purge(ME, Purge::OlderThan(Time(i64::from(u32::MAX) * 1000)), warrant()).await.unwrap();
    assert_eq!((all.sessions, all.messages, all.events), (1, 4, 1));
    assert_eq!(ledger.events(ME, EventFilter::default(), Paging::first(9)).await.unwrap().items.len(), 1);
    assert_eq!(hits(&ledger, "happening").await, 1);
    healthy(&ledger).await;
}

async fn what_was_imported_is_as_old_as_it_says(place: Place) {
    let ledger = place.open().await;
    let [old, late, silent] =
        [open_session(&ledger).await, open_session(&ledger).await, open_session(&ledger).await];
    let at = |time: i64| {
        let mut turn = call("when was that?", "long ago");
        turn.time = Some(Time(time));
        turn.reply.as_mut().unwrap().time = Some(Time(time + 5));
        turn
    };
    for time in [1000, 2000] {
        add(&ledger, &old, at(time)).await;
    }
    add(&ledger, &late, at(1000)).await;
    // Without a time of its own, a turn is as old as its record.
    add(&ledger, &late, call("and now?", "just now")).await;
    let before = |time| ledger.purge(ME, Purge::OlderThan(Time(time)), warrant());
    assert_eq!(before(2005).await.unwrap().sessions, 0, "its last reply is not older");
    assert_eq!(before(2006).await.unwrap().sessions, 1);
    assert!(matches!(ledger.session(ME, old.id).await, Err(LedgerError::NotFound { .. })));
    for session in [late.id, silent.id] {
        ledger.session(ME, session).await.unwrap();
    }
    healthy(&ledger).await;
}

async fn a_tenant_is_purged_alone(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    talk(&ledger, &session, 0..2).await;
    let other: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    let theirs = ledger.create_session(other, NewSession::of("agent")).await.unwrap();
    ledger.append(other, expect(&theirs), vec![call("question 0", "answer 0")]).await.unwrap();
    assert!(ledger.purge(other, Purge::Session(session.id), warrant()).await.is_err());
    let gone = ledger.purge(other, Purge::Tenant, warrant()).await.unwrap();
    assert_eq!(
        (gone.sessions, gone.messages, gone.bodies),
        (1, 2, 2),
        "equal bodies of two tenants are two bodies"
    );
    assert_eq!(ledger.session(ME, session.id).await.unwrap().messages, 4);
    assert_eq!(ledger.tombstones(ME).await.unwrap(), []);
    healthy(&ledger).await;
}

async fn the_doctor_finds_what_is_wrong(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..3).await;
    compact(&ledger, &session, vec![summary(0..6, "a summary of it")]).await;
    let fork = ledger.fork(ME, turns[1], NewSession::of("agent")).await.unwrap();
    add(&ledger, &fork, NewTurn::of(vec![user("alone")])).await;
    healthy(&ledger).await;
    ledger.close().await;
    let harm = |sql: &str| {
        if place.is_sqlite() {
            rusqlite::Connection::open(place.file()).unwrap().execute_batch(sql).unwrap();
        } else {
            psql(&place.address, sql);
        }
    };
    let byte = if place.is_sqlite() { "x'00'" } else { "'\\x00'" };
    let harms = [
        (format!("UPDATE bodies SET bytes = {byte}, size = 1 WHERE key = 1"), "hash"),
        ("UPDATE messages SET ordinal = 99 WHERE ordinal = 1".to_owned(), "ordinal"),
        ("UPDATE messages SET ordinal = 1 WHERE ordinal = 99; UPDATE messages SET turn = 7 WHERE ordinal = 0".to_owned(), "turn"),
        ("UPDATE messages SET turn = 0 WHERE ordinal = 0; UPDATE sessions SET messages = 5 WHERE key = 1".to_owned(), "messages"),
        ("UPDATE sessions SET messages = 6, head = NULL WHERE key = 1".to_owned(), "head"),
        ("UPDATE turns SET nearest = 1 WHERE number = 2".to_owned(), "nearest"),
        ("UPDATE turns SET nearest = NULL WHERE number = 2; UPDATE compactions SET record = replace(record, '6', '5')".to_owned(), "segment"),
        ("UPDATE spans SET to_message = 3".to_owned(), "span"),
        ("DELETE FROM entries WHERE kind = 0 AND place = 3".to_owned(), "entry"),
    ];
    for (sql, told) in harms {
        harm(&sql);
        let ledger = place.open().await;
        let findings = ledger.doctor().await.unwrap().findings;
        assert!(findings.iter().any(|finding| finding.to_string().contains(told)), "{sql}: {findings:?}");
        ledger.close().await;
    }
}
