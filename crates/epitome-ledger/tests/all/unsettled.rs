//! What was acknowledged and is not in its place yet: it is read all the same, whatever is in the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use epitome_ledger::model::{NewTurn, SessionFilter};
use epitome_ledger::{Access, Ledger, LedgerError, Options, Paging};

use crate::support::*;
use crate::worker::Worker;

fn guest() -> Options {
    Options { access: Access::ReadOnly, ..Options::default() }
}

#[test]
fn a_full_file_is_read() {
    run(async {
        let place = Place::sqlite();
        let options = Options { max_bytes: Some(1200 * 1024), ..Options::default() };
        let ledger = Ledger::open(&place.address, options).await.unwrap();
        let mut now = open_session(&ledger).await;
        let error = loop {
            let text: String = (0..400).map(|word| format!("word{} ", word * 7 + now.turns)).collect();
            match ledger.append(ME, expect(&now), vec![NewTurn::of(vec![user(&text)])]).await {
                Ok(receipt) => (now.head, now.turns) = (receipt.head, receipt.turns),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, LedgerError::Full(_)), "{error:?}");
        for _ in 0..2 {
            let messages = ledger.messages(ME, now.head.unwrap(), 0..now.turns).await.unwrap();
            assert_eq!(messages.len() as u64, now.turns);
        }
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
        ledger.close().await;
    });
}

#[test]
fn others_read_and_write_beside_many_writers() {
    run(async {
        let place = Place::sqlite();
        let ledger = place.open().await;
        let enough = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..200)
            .map(|_| {
                let (ledger, enough) = (ledger.clone(), Arc::clone(&enough));
                tokio::spawn(async move {
                    let mut now = open_session(&ledger).await;
                    while !enough.load(Ordering::Relaxed) {
                        let turn = NewTurn::of(vec![user("again and again")]);
                        now.head = ledger.append(ME, expect(&now), vec![turn]).await.unwrap().head;
                    }
                })
            })
            .collect();
        let (reader, other) = (Ledger::open(&place.address, guest()).await.unwrap(), place.open().await);
        let session = open_session(&other).await;
        for round in 0..5 {
            talk(&other, &session, round..round + 1).await;
            let view = reader.current_view(ME, session.id).await.unwrap();
            assert_eq!(view.messages.len(), 2 * (round + 1));
        }
        enough.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        for ledger in [reader, other, ledger] {
            ledger.close().await;
        }
    });
}

#[test]
fn what_was_set_aside_is_tried_again() {
    let place = Place::sqlite();
    let mut worker = Worker::start("write 78", &place.address);
    let arrivals = |sql: &str| -> i64 {
        let connection = rusqlite::Connection::open(place.file()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    // Until it dies with something that is not in its place.
    loop {
        (0..40).for_each(|_| drop(worker.next().unwrap()));
        worker.kill();
        if arrivals("SELECT count(*) FROM arrivals") > 0 {
            break;
        }
        worker = Worker::start("write 78", &place.address);
    }
    let connection = rusqlite::Connection::open(place.file()).unwrap();
    connection.execute_batch("UPDATE arrivals SET key = -key").unwrap();
    drop(connection);
    run(async {
        let ledger = place.open().await;
        for session in ledger.sessions(ME, SessionFilter::default(), Paging::first(1000)).await.unwrap().items
        {
            let view = ledger.current_view(ME, session.id).await.unwrap();
            assert!(session.messages == 0 || !view.messages.is_empty());
        }
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
        ledger.close().await;
    });
    assert_eq!(arrivals("SELECT count(*) FROM arrivals"), 0);
}
