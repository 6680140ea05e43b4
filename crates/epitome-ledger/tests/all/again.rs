//! What is asked again, by whoever does not know whether it was done: it is recorded once, and nothing else suffers.

use epitome_ledger::LedgerError;
use epitome_ledger::model::{Completeness, Expect, NewReply, NewTurn, Purge, TurnId, Warrant};

use crate::support::*;

on_both!(
    an_empty_reply_is_recorded_once,
    a_turn_that_another_ledger_recorded_is_recognised,
    a_turn_of_another_session_is_refused_by_its_name,
);

/// A model that was cut off before it said anything.
fn cut_off() -> NewReply {
    NewReply { completeness: Completeness::CutOff, ..NewReply::default() }
}

async fn an_empty_reply_is_recorded_once(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turn = NewTurn::of(vec![user("are you there?")]);
    let at = Expect { session: session.id, head: Some(turn.id), fence: None };
    ledger.append(ME, expect(&session), vec![turn]).await.unwrap();
    let (one, other) = tokio::join!(ledger.reply(ME, at, cut_off()), ledger.reply(ME, at, cut_off()));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.head, one.messages), (other.head, other.messages));
    assert_eq!(ledger.current_view(ME, session.id).await.unwrap().messages.len(), 1);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn a_turn_that_another_ledger_recorded_is_recognised(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    let session = open_session(&one).await;
    let head = other.append(ME, expect(&session), vec![call("a", "b")]).await.unwrap().head;
    let at = Expect { session: session.id, head, fence: None };
    let turn = NewTurn::of(vec![user("once")]);
    let first = one.append(ME, at, vec![turn.clone()]).await.unwrap();
    // The other one believes the session to stand where it left it.
    let again = other.append(ME, at, vec![turn]).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(other.session(ME, session.id).await.unwrap().turns, 2);
    one.close().await;
    other.close().await;
}

async fn a_turn_of_another_session_is_refused_by_its_name(place: Place) {
    let ledger = place.open().await;
    let turn = call("a", "b");
    let (session, other) = (open_session(&ledger).await, open_session(&ledger).await);
    ledger.append(ME, expect(&session), vec![turn.clone()]).await.unwrap();
    let refused = ledger.append(ME, expect(&other), vec![turn.clone()]).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Exists { .. }), "{refused}");
    if place.is_sqlite() {
        assert!(refused.to_string().contains(&turn.id.to_string()), "{refused}");
    }
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

#[test]
fn what_nobody_waited_for_is_recognised() {
    run(async {
        let ledger = Place::sqlite();
        let ledger = ledger.open().await;
        let session = open_session(&ledger).await;
        add(&ledger, &session, call("a", "b")).await;
        let now = ledger.session(ME, session.id).await.unwrap();
        let turn = NewTurn::of(vec![user("are you there?")]);
        give_up(ledger.append(ME, expect(&now), vec![turn.clone()])).await;
        let receipt = ledger.append(ME, expect(&now), vec![turn.clone()]).await.unwrap();
        assert_eq!((receipt.head, receipt.turns), (Some(turn.id), 2));
        let at = Expect { session: session.id, head: receipt.head, fence: None };
        give_up(ledger.reply(ME, at, cut_off())).await;
        assert_eq!(ledger.reply(ME, at, cut_off()).await.unwrap().messages, 3);
        assert_eq!(ledger.current_view(ME, session.id).await.unwrap().messages.len(), 3);
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
    });
}

/// An arrival that records a reply a second time, as the bytes of one row.
fn second_reply(connection: &rusqlite::Connection, turn: TurnId) -> Vec<u8> {
    let text = "SELECT r.session, r.turn, r.tenant, r.finish FROM replies r \
         JOIN turns t ON t.session = r.session AND t.number = r.turn WHERE t.id = ?1";
    let row = |row: &rusqlite::Row<'_>| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?]);
    let [session, number, tenant, finish] =
        connection.query_row(text, [turn.as_uuid().as_bytes().to_vec()], row).unwrap();
    let columns = [Some(session), Some(number), Some(tenant), Some(0), Some(finish)];
    let nothing = [None; 5];
    let mut record = vec![1, 1, 12];
    for column in columns.into_iter().chain(nothing).chain([Some(0), Some(7)]) {
        match column {
            None => record.push(0),
            Some(number) => {
                record.push(1);
                record.extend(number.to_le_bytes());
            }
        }
    }
    record
}

#[test]
fn what_cannot_be_put_in_its_place_stops_nothing_else() {
    run(async {
        let place = Place::sqlite();
        let ledger = place.open().await;
        let (session, other) = (open_session(&ledger).await, open_session(&ledger).await);
        let turns = talk(&ledger, &session, 0..2).await;
        ledger.close().await;
        let connection = rusqlite::Connection::open(place.file()).unwrap();
        let insert = "INSERT INTO arrivals (tenant, record) VALUES (1, ?1)";
        for record in
            [second_reply(&connection, turns[1]), vec![1, 77, 1, 0], second_reply(&connection, turns[0])]
        {
            connection.execute(insert, [record]).unwrap();
        }
        drop(connection);
        for round in 0..2 {
            let ledger = place.open().await;
            talk(&ledger, &other, round..round + 1).await;
            let view = ledger.current_view(ME, other.id).await.unwrap();
            assert_eq!(view.messages.len(), 2 * (round + 1));
            assert_eq!(ledger.current_view(ME, session.id).await.unwrap().messages.len(), 4);
            let findings = ledger.doctor().await.unwrap().findings;
            let told: Vec<&str> = findings.iter().map(|finding| finding.subject.as_str()).collect();
            let name = format!("session {}", session.id);
            assert_eq!(told, [&name, "file", &name]);
            ledger.close().await;
        }
        // What was set aside of a session goes with it.
        let ledger = place.open().await;
        let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
        ledger.purge(ME, Purge::Session(session.id), warrant).await.unwrap();
        let findings = ledger.doctor().await.unwrap().findings;
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].to_string(), "file: arrival 2 cannot be put in its place");
        ledger.close().await;
    });
}
