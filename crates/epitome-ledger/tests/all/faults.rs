//! What can be wrong with a database: a clear error, and nothing half-written.

use std::fs;

use epitome_ledger::model::{NewTurn, Until};
use epitome_ledger::{Access, Ledger, LedgerError, Options};

use crate::server::psql;
use crate::support::*;

on_both!(
    a_newer_schema_is_refused,
    a_read_only_ledger_is_only_read,
    where_nothing_was_recorded_there_is_no_ledger
);

fn change(place: &Place, sqlite: &str, postgres: &str) {
    if place.is_sqlite() {
        rusqlite::Connection::open(place.file()).unwrap().execute_batch(sqlite).unwrap();
    } else {
        psql(&place.address, postgres);
    }
}

async fn refusal(place: &Place, options: Options) -> LedgerError {
    match Ledger::open(&place.address, options).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

async fn a_newer_schema_is_refused(place: Place) {
    let ledger = place.open().await;
    ledger.close().await;
    change(&place, "PRAGMA user_version = 99", "UPDATE ledger_schema SET version = 99");
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let error = refusal(&place, Options { access, ..Options::default() }).await;
        assert!(matches!(error, LedgerError::NewerSchema { found: 99, known } if known < 99), "{error}");
        assert!(error.to_string().contains("99"));
    }
}

async fn a_read_only_ledger_is_only_read(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..1).await;
    ledger.close().await;
    let guest = Ledger::open(&place.address, Options { access: Access::ReadOnly, ..Options::default() })
        .await
        .unwrap();
    assert_eq!(guest.view(ME, turns[0], Until::Reply).await.unwrap().messages.len(), 2);
    let now = guest.session(ME, session.id).await.unwrap();
    let refused = guest.append(ME, expect(&now), vec![call("a", "b")]).await;
    assert!(matches!(refused, Err(LedgerError::ReadOnly(_))), "{refused:?}");
    guest.close().await;
}

async fn where_nothing_was_recorded_there_is_no_ledger(place: Place) {
    if place.is_sqlite() {
        fs::write(place.file(), b"").unwrap();
    }
    let guest = || Options { access: Access::ReadOnly, ..Options::default() };
    let error = refusal(&place, guest()).await;
    assert!(matches!(error, LedgerError::NoLedger(_)), "{error:?}");
    place.open().await.close().await;
    Ledger::open(&place.address, guest()).await.unwrap().close().await;
}

#[test]
fn a_full_disk_refuses_and_keeps_what_was_there() {
    run(async {
        let place = Place::sqlite();
        let options = Options { max_bytes: Some(400 * 1024), ..Options::default() };
        let ledger = Ledger::open(&place.address, options).await.unwrap();
        let session = open_session(&ledger).await;
        let mut kept = 0;
        let error = loop {
            let now = ledger.session(ME, session.id).await.unwrap();
            let text: String = (0..200).map(|number| format!("word{} ", number * 7 + kept)).collect();
            // Writers that share a transaction with the one that does not fit are refused with it.
            let turns = [(); 3].map(|()| NewTurn::of(vec![user(&text)]));
            match ledger.append(ME, expect(&now), turns.to_vec()).await {
                Ok(receipt) => kept = receipt.turns,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, LedgerError::Full(_)), "{error:?}");
        assert!(kept > 3);
        assert_eq!(ledger.session(ME, session.id).await.unwrap().turns, kept);
        ledger.close().await;
        let ledger = place.open().await;
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
        assert_eq!(ledger.session(ME, session.id).await.unwrap().turns, kept);
        talk(&ledger, &session, 0..1).await;
    });
}

#[test]
fn a_damaged_file_says_so() {
    run(async {
        let place = Place::sqlite();
        let ledger = place.open().await;
        let session = open_session(&ledger).await;
        let turns = talk(&ledger, &session, 0..300).await;
        ledger.close().await;
        let whole = fs::read(place.file()).unwrap();
        let mut torn = whole.clone();
        // The head of the file stays, the pages behind it are noise.
        for (at, byte) in torn.iter_mut().enumerate().skip(8192) {
            *byte = (at % 251) as u8;
        }
        fs::write(place.file(), &torn).unwrap();
        let error = match Ledger::open(&place.address, Options::default()).await {
            Ok(ledger) => ledger.messages(ME, turns[299], 0..600).await.unwrap_err(),
            Err(error) => error,
        };
        assert!(matches!(error, LedgerError::Damaged(_)), "{error:?}");
        fs::write(place.file(), b"this is not a database at all, but it is long enough to be looked at")
            .unwrap();
        let error = refusal(&place, Options::default()).await;
        assert!(matches!(error, LedgerError::Damaged(_)), "{error:?}");
        assert_eq!(fs::read(place.file()).unwrap()[..4], *b"this", "what is not ours is left alone");
    });
}

#[test]
fn other_programs_databases_are_left_alone() {
    run(async {
        let place = Place::sqlite();
        change(&place, "CREATE TABLE theirs (x)", "");
        let error = refusal(&place, Options::default()).await;
        assert!(matches!(error, LedgerError::NotALedger(_)), "{error:?}");
        let nowhere = Place { address: "sqlite:/nonexistent/folder/ledger.db".to_owned(), ..Place::sqlite() };
        assert!(matches!(refusal(&nowhere, Options::default()).await, LedgerError::Unavailable(_)));
        for address in ["", "mysql://x", "sqlite:", "ledger.db"] {
            let place = Place { address: address.to_owned(), ..Place::sqlite() };
            assert!(
                matches!(refusal(&place, Options::default()).await, LedgerError::BadAddress(_)),
                "{address}"
            );
        }
        let gone = Place { address: "postgres://u:secret@127.0.0.1:1/x".to_owned(), ..Place::sqlite() };
        let error = refusal(&gone, Options::default()).await;
        assert!(matches!(error, LedgerError::Unavailable(_)) && error.retryable(), "{error:?}");
        assert!(!error.to_string().contains("secret"));
    });
}

#[test]
fn a_server_that_acknowledges_too_early_is_told_otherwise() {
    let place = Place::postgres();
    let name = place.address.rsplit_once('/').unwrap().1;
    psql(&place.address, &format!("ALTER DATABASE {name} SET synchronous_commit = off"));
    // Every commit says how it was done.
    let watch = "CREATE TABLE seen (how TEXT); \
         CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS \
         $$BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END$$";
    run(async {
        let ledger = place.open().await;
        psql(&place.address, watch);
        psql(&place.address, "CREATE TRIGGER see AFTER INSERT ON turns FOR EACH ROW EXECUTE FUNCTION see()");
        let session = open_session(&ledger).await;
        talk(&ledger, &session, 0..2).await;
        ledger.close().await;
    });
    assert_eq!(psql(&place.address, "SELECT DISTINCT how FROM seen").trim(), "on");
}
