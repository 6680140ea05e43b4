//! What the doctor finds: each fault is planted by SQL, found, and taken back.

use std::fs;

use epitome_core::Time;
use epitome_ledger::model::{Checkup, Finding, NewEvent, NewSession, TenantId};
use epitome_ledger::{Access, Ledger, Options};

use crate::kept;
use crate::server::{Server, psql};
use crate::support::*;

on_both!(every_fault_is_found, the_same_conversation_twice_is_worth_a_note);

fn harm(place: &Place, sql: &str) {
    if place.is_sqlite() {
        rusqlite::Connection::open(place.file()).unwrap().execute_batch(sql).unwrap();
    } else {
        psql(&place.address, sql);
    }
}

async fn examine(place: &Place) -> Checkup {
    let ledger = place.open().await;
    let checkup = ledger.doctor().await.unwrap();
    ledger.close().await;
    checkup
}

fn tells(findings: &[Finding], told: &str) -> bool {
    findings.iter().any(|finding| finding.to_string().contains(told))
}

/// A fault, how it is taken back, and what is told of it.
const FAULTS: [(&str, &str, &str); 11] = [
    (
        "INSERT INTO replies (session, turn, tenant, kind, finish, tool_calls, time) VALUES (1, 99, 1, 1, 4, 0, 0)",
        "DELETE FROM replies WHERE turn = 99",
        "replies: the count of those without a turn",
    ),
    (
        "INSERT INTO replies (session, turn, tenant, kind, finish, tool_calls, time) VALUES (1, 2, 1, 1, 4, 0, 0)",
        "DELETE FROM replies WHERE turn = 2",
        "replies: the count of those without a turn",
    ),
    (
        "INSERT INTO turns (session, number, id, tenant, kind, first, input_end, time, compactions) \
         SELECT session, 50, BYTES, tenant, 0, 4, 4, 0, 0 FROM turns WHERE session = 1 AND number = 0",
        "DELETE FROM turns WHERE number = 50",
        "turns: the count of those beyond the end",
    ),
    (
        "INSERT INTO event_turns (event, turn, tenant) SELECT 999, id, 1 FROM turns WHERE session = 1 AND number = 0",
        "DELETE FROM event_turns WHERE event = 999",
        "event links: the count of those without an event",
    ),
    (
        "INSERT INTO event_turns (event, turn, tenant) VALUES (1, BYTES, 1)",
        "DELETE FROM event_turns WHERE turn = BYTES",
        "event links: the count of those without a turn",
    ),
    (
        "UPDATE events SET tenant = 2",
        "UPDATE events SET tenant = 1",
        "events: the count of those with the body of another tenant",
    ),
    (
        "UPDATE event_turns SET tenant = 2",
        "UPDATE event_turns SET tenant = 1",
        "event links: the count of those that join two tenants",
    ),
    (
        "UPDATE sessions SET tokens_used = 7 WHERE key = 1",
        "UPDATE sessions SET tokens_used = 45000 WHERE key = 1",
        "its tokens in use is 7 instead of 45000",
    ),
    (
        "UPDATE entries SET tenant = 2 WHERE kind = 0 AND place = 0",
        "UPDATE entries SET tenant = 1",
        "index: the count of entries that say another tenant",
    ),
    (
        "UPDATE spans SET tenant = 2",
        "UPDATE spans SET tenant = 1",
        "spans: the count of rows that say another tenant",
    ),
    (
        "UPDATE sessions SET tokens_used = 1 WHERE key = 2",
        "UPDATE sessions SET tokens_used = 8 WHERE key = 2",
        "its tokens in use is 1 instead of 8",
    ),
];

async fn every_fault_is_found(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..2).await;
    compact(&ledger, &session, vec![summary(0..4, "a summary of it")]).await;
    let other = open_session(&ledger).await;
    talk(&ledger, &other, 5..7).await;
    ledger.fork(ME, turns[0], NewSession::of("agent")).await.unwrap();
    let event = NewEvent {
        platform: "chat".to_owned(),
        channel: String::new(),
        external: "1".to_owned(),
        time: Time(1),
        payload: b"a knock".to_vec(),
        turns: vec![turns[1]],
    };
    ledger.append_event(ME, event).await.unwrap();
    let stranger: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    ledger.create_session(stranger, NewSession::of("agent")).await.unwrap();
    ledger.close().await;
    assert_eq!(examine(&place).await.findings, []);
    let bytes = if place.is_sqlite() { "zeroblob(16)" } else { "decode(repeat('00', 16), 'hex')" };
    for (fault, remedy, told) in FAULTS {
        harm(&place, &fault.replace("BYTES", bytes));
        let findings = examine(&place).await.findings;
        assert!(tells(&findings, told), "{fault}: {findings:?}");
        harm(&place, &remedy.replace("BYTES", bytes));
        assert_eq!(examine(&place).await.findings, [], "{remedy}");
    }
}

async fn the_same_conversation_twice_is_worth_a_note(place: Place) {
    let ledger = place.open().await;
    let one = open_session(&ledger).await;
    let turns = talk(&ledger, &one, 0..2).await;
    ledger.fork(ME, turns[1], NewSession::of("agent")).await.unwrap();
    assert_eq!(
        ledger.doctor().await.unwrap().notes,
        [],
        "a fork shares its messages, it does not repeat them"
    );
    let other = open_session(&ledger).await;
    talk(&ledger, &other, 0..2).await;
    let checkup = ledger.doctor().await.unwrap();
    assert_eq!(checkup.findings, []);
    assert!(tells(&checkup.notes, "the same messages were recorded 1 more times"), "{:?}", checkup.notes);
}

#[test]
fn what_was_left_behind_is_told() {
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let place = kept::stopped_in_disorder();
        run(async {
            let options = Options { access, ..Options::default() };
            let ledger = Ledger::open(&place.address, options).await.unwrap();
            let checkup = ledger.doctor().await.unwrap();
            assert_eq!(checkup.findings, []);
            assert!(tells(&checkup.notes, "left behind were put in their place"), "{:?}", checkup.notes);
            ledger.close().await;
            assert_eq!(examine(&place).await.notes, [], "it is told once");
        });
    }
}

#[test]
fn a_damaged_part_is_named() {
    let place = Place::sqlite();
    run(async {
        let ledger = place.open().await;
        let session = open_session(&ledger).await;
        talk(&ledger, &session, 0..300).await;
        ledger.close().await;
        let connection = rusqlite::Connection::open(place.file()).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'turns_id'";
        let root: i64 = connection.query_row(root, [], |row| row.get(0)).unwrap();
        let root = usize::try_from(root).unwrap();
        drop(connection);
        let mut bytes = fs::read(place.file()).unwrap();
        bytes[(root - 1) * 4096..root * 4096].fill(0x55);
        fs::write(place.file(), bytes).unwrap();
        let checkup = examine(&place).await;
        assert!(tells(&checkup.findings, "index turns_id: "), "{:?}", checkup.findings);
        assert!(checkup.messages > 0, "the rest was looked at, too");
    });
}

#[test]
fn the_ledgers_commits_are_durable_whatever_the_database_says() {
    let server = Server::start();
    let address = server.database();
    let name = address.rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    psql(&address, &format!("ALTER DATABASE \"{name}\" SET synchronous_commit = off"));
    assert_eq!(psql(&address, "SHOW synchronous_commit").trim(), "off");
    run(async {
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        assert_eq!(ledger.doctor().await.unwrap().notes, []);
        ledger.close().await;
    });
    psql(&address, "ALTER SYSTEM SET fsync = off");
    psql(&address, "SELECT pg_reload_conf()");
    while psql(&address, "SHOW fsync").trim() != "off" {}
    run(async {
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        let notes = ledger.doctor().await.unwrap().notes;
        assert!(tells(&notes, "server: fsync is off"), "{notes:?}");
        ledger.close().await;
    });
}
