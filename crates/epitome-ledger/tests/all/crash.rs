//! Killed at any moment, a ledger has everything that it acknowledged, byte for byte, and is sound.

use std::collections::{HashMap, HashSet};

use epitome_ledger::model::{SessionId, TurnId};
use epitome_ledger::{Access, Ledger, LedgerError, Options, Paging};

use crate::kept;
use crate::server::{self, Server};
use crate::support::*;
use crate::worker::{Worker, message, random};

/// What was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// Of each session the last head and the number of messages.
    pub(crate) sessions: HashMap<SessionId, (TurnId, u64)>,
    /// Those that were about to be purged.
    doomed: HashSet<SessionId>,
    /// Those that were purged.
    purged: HashSet<SessionId>,
}

pub(crate) fn note(acknowledged: &mut Acknowledged, line: &str) {
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap();
    match word() {
        "purging" => drop(acknowledged.doomed.insert(word().parse().unwrap())),
        "purged" => drop(acknowledged.purged.insert(word().parse().unwrap())),
        session => {
            let stands = (word().parse().unwrap(), word().parse().unwrap());
            acknowledged.sessions.insert(session.parse().unwrap(), stands);
        }
    }
}

/// Lets a worker write for a random while, and kills it.
fn round(address: &str, seed: &mut u64, acknowledged: &mut Acknowledged) {
    let mut worker = Worker::start(&format!("write {}", random(seed) >> 8), address);
    for _ in 0..random(seed) % 24 {
        note(acknowledged, &worker.next().expect("the worker goes on until it is killed"));
    }
    for _ in 0..random(seed) % 200_000 {
        std::hint::spin_loop();
    }
    for line in worker.kill() {
        note(acknowledged, &line);
    }
}

pub(crate) async fn check(ledger: &Ledger, acknowledged: &Acknowledged) {
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    for id in &acknowledged.purged {
        let found = ledger.session(ME, *id).await;
        assert!(matches!(found, Err(LedgerError::NotFound { .. })), "{found:?}");
    }
    for (id, (head, messages)) in &acknowledged.sessions {
        let session = match ledger.session(ME, *id).await {
            Err(LedgerError::NotFound { .. }) if acknowledged.doomed.contains(id) => continue,
            session => session.unwrap(),
        };
        assert!(session.messages >= *messages, "{session:?} had {messages} messages");
        let end = session.head.unwrap();
        let history = ledger.history(ME, end, Paging::first(100_000)).await.unwrap().items;
        assert!(history.iter().any(|turn| turn.id == *head), "turn {head} of session {id} is lost");
        for stored in ledger.messages(ME, end, 0..session.messages).await.unwrap() {
            let owner = history.iter().find(|turn| turn.number == stored.turn).unwrap().session;
            assert_eq!(stored.body, message(owner, stored.ordinal).body);
        }
    }
}

#[test]
fn a_killed_writer_loses_nothing_on_sqlite() {
    let mut seed = 0x5eed_1234_5678_9abc;
    for _ in 0..10 {
        let place = Place::sqlite();
        let mut acknowledged = Acknowledged::default();
        for _ in 0..20 {
            round(&place.address, &mut seed, &mut acknowledged);
            // Opening after a crash must not need anything that the dead process held.
            if !random(&mut seed).is_multiple_of(4) {
                run(async { place.open().await.close().await });
            }
        }
        // Whoever only reads sees all of it, too.
        let guest = Options { access: Access::ReadOnly, ..Options::default() };
        run(async { check(&Ledger::open(&place.address, guest).await.unwrap(), &acknowledged).await });
        run(async { check(&place.open().await, &acknowledged).await });
    }
}

#[test]
fn a_killed_writer_loses_nothing_on_postgres() {
    let mut seed = 0x5eed_fedc_ba98_7654;
    for _ in 0..5 {
        let place = Place::postgres();
        let mut acknowledged = Acknowledged::default();
        for _ in 0..20 {
            round(&place.address, &mut seed, &mut acknowledged);
        }
        run(async { check(&place.open().await, &acknowledged).await });
    }
}

#[test]
fn killed_backends_lose_and_double_nothing() {
    let mut seed = 0x5eed_0000_1111_2222;
    let address = server::shared();
    let mut acknowledged = Acknowledged::default();
    let mut worker = Worker::start("write 5", &address);
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for _ in 0..92 {
        for _ in 0..random(&mut seed) % 12 {
            note(&mut acknowledged, &worker.next().unwrap());
        }
        server::psql(&address, kill);
    }
    for line in worker.kill() {
        note(&mut acknowledged, &line);
    }
    run(async { check(&Ledger::open(&address, Default::default()).await.unwrap(), &acknowledged).await });
}

#[test]
fn a_server_that_dies_loses_nothing() {
    let mut seed = 0x5eed_3333_4444_5555;
    let mut server = Server::start();
    let address = server.database();
    let mut acknowledged = Acknowledged::default();
    let mut worker = Worker::start("write 9", &address);
    for _ in 0..8 {
        for _ in 0..random(&mut seed) % 60 + 5 {
            note(&mut acknowledged, &worker.next().unwrap());
        }
        server.kill();
        server.restart();
    }
    for line in worker.kill() {
        note(&mut acknowledged, &line);
    }
    run(async { check(&Ledger::open(&address, Default::default()).await.unwrap(), &acknowledged).await });
}

/// Kills a worker some time after it began to bring a ledger up.
fn kill_while_opening(address: &str, seed: &mut u64) {
    let mut worker = Worker::start("open", address);
    assert_eq!(worker.next().as_deref(), Some("opening"));
    for _ in 0..random(seed) % 2_000_000 {
        std::hint::spin_loop();
    }
    worker.kill();
}

#[test]
fn a_migration_that_is_killed_is_done_by_the_next() {
    let mut seed = 0x5eed_7777_6666_5555;
    for _ in 0..8 {
        for file in kept::kept(".db.gz") {
            let place = kept::unpacked(&file);
            for _ in 0..1 + random(&mut seed) % 3 {
                kill_while_opening(&place.address, &mut seed);
            }
            run(kept::goes_on(&place));
        }
    }
    for file in kept::kept(".sql.gz").iter().cycle().take(6) {
        let place = kept::restored(file);
        kill_while_opening(&place.address, &mut seed);
        run(kept::goes_on(&place));
    }
}
