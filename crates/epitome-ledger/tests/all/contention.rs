//! Many writers on one session: every message once, leases never overlap, nobody waits for the dead for long.

use epitome_ledger::model::{Expect, NewTurn, SessionId};
use epitome_ledger::{Ledger, LedgerError, Options};

use crate::server::psql;
use crate::support::*;
use crate::worker::{LASTS, Worker};

on_both!(the_same_words_at_the_same_moment_are_stored_once);

async fn the_same_words_at_the_same_moment_are_stored_once(place: Place) {
    let ledger = place.open().await;
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(open_session(&ledger).await);
    }
    for round in 0..10 {
        let talk = sessions.iter().map(|session| {
            let (ledger, id) = (ledger.clone(), session.id);
            tokio::spawn(async move {
                let now = ledger.session(ME, id).await.unwrap();
                // Each turn says the same twice, too.
                let turn = call(&format!("round {round}"), &format!("round {round}"));
                let turn = NewTurn { input: [turn.input.clone(), turn.input.clone()].concat(), ..turn };
                ledger.append(ME, expect(&now), vec![turn]).await.unwrap();
            })
        });
        for talk in talk.collect::<Vec<_>>() {
            talk.await.unwrap();
        }
    }
    let checkup = ledger.doctor().await.unwrap();
    assert_eq!((checkup.findings, checkup.messages, checkup.bodies), (Vec::new(), 8 * 10 * 3, 10 * 2));
}

fn session(address: &str) -> SessionId {
    run(async {
        let ledger = Ledger::open(address, Options::default()).await.unwrap();
        open_session(&ledger).await.id
    })
}

/// The turn ids and fences that were acknowledged.
fn acknowledged(lines: Vec<String>) -> Vec<(String, u64)> {
    let pair = |line: String| {
        let (turn, fence) = line.split_once(' ').unwrap();
        (turn.to_owned(), fence.parse().unwrap())
    };
    lines.into_iter().map(pair).collect()
}

fn check(address: &str, id: SessionId, acknowledged: &[(String, u64)], exact: bool) {
    run(async {
        let ledger = Ledger::open(address, Options::default()).await.unwrap();
        let head = ledger.session(ME, id).await.unwrap().head.unwrap();
        let turns = ledger.history(ME, head, epitome_ledger::Paging::first(10_000)).await.unwrap().items;
        let bodies = texts(&ledger.messages(ME, head, 0..10_000).await.unwrap());
        let fences: Vec<u64> =
            bodies.iter().map(|text| text.split(' ').next().unwrap().parse().unwrap()).collect();
        assert!(fences.is_sorted_by(|one, next| one < next), "two held the lease at once: {fences:?}");
        for (turn, fence) in acknowledged {
            let at =
                turns.iter().position(|it| it.id.to_string() == *turn).expect("an acknowledged turn is lost");
            assert_eq!(fences[at], *fence);
        }
        if exact {
            assert_eq!(turns.len(), acknowledged.len());
        }
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
    });
}

#[test]
fn two_processes_and_sixteen_tasks_share_a_session() {
    let address = Place::postgres().address;
    let id = session(&address);
    let workers = [(); 2].map(|()| Worker::start(&format!("lease {id} 12"), &address));
    let said = acknowledged(workers.into_iter().flat_map(Worker::finish).collect());
    assert_eq!(said.len(), 2 * 8 * 12);
    check(&address, id, &said, true);
}

#[test]
fn a_killed_holder_delays_others_no_longer_than_its_lease() {
    let address = Place::postgres().address;
    let id = session(&address);
    let mut doomed = Worker::start(&format!("lease {id} 100000"), &address);
    let mut said: Vec<String> = (0..20).map(|_| doomed.next().unwrap()).collect();
    said.extend(doomed.kill());
    // It may have died with the lease in its hand; the next one gets it all the same, and ends by itself.
    said.extend(Worker::start(&format!("lease {id} 3"), &address).finish());
    check(&address, id, &acknowledged(said), false);
}

#[test]
fn the_lease_of_the_dead_ends_when_it_should_and_their_writes_come_too_late() {
    let address = Place::postgres().address;
    let id = session(&address);
    let mut doomed = Worker::start(&format!("hold {id}"), &address);
    let fence: u64 = doomed.next().unwrap().parse().unwrap();
    doomed.kill();
    let clock = || -> i64 {
        let text = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
        psql(&address, text).trim().parse().unwrap()
    };
    run(async {
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        let mut ends = None;
        let lease = loop {
            match ledger.acquire_lease(ME, id, "heir", LASTS).await {
                Ok(lease) => break lease,
                Err(LedgerError::Leased { until, .. }) => {
                    assert!(clock() < until.0 + 5_000, "it should have ended long ago");
                    ends = Some(until.0);
                }
                Err(error) => panic!("{error}"),
            }
        };
        assert!(ends.is_none_or(|ends| clock() >= ends), "it was taken from the living");
        assert!(lease.fence > fence);
        let head = ledger.session(ME, id).await.unwrap().head;
        let late = Expect { session: id, head, fence: Some(fence) };
        let refused = ledger.append(ME, late, vec![call("too", "late")]).await;
        assert!(matches!(refused, Err(LedgerError::Fenced { .. })), "{refused:?}");
    });
}

#[test]
fn many_writers_share_a_file() {
    run(async {
        let place = Place::sqlite();
        let ledger = place.open().await;
        let writers = (0..32).map(|number| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let session = open_session(&ledger).await;
                // One in four turns has an id that is taken, and must fail alone.
                let taken = talk(&ledger, &session, 0..1).await[0];
                for turn in 1..20 {
                    let now = ledger.session(ME, session.id).await.unwrap();
                    let other = open_session(&ledger).await;
                    let mut bad = call("doubled", "turn");
                    bad.id = taken;
                    let good = call(&format!("{number} says {turn}"), "yes");
                    let (good, bad) = tokio::join!(
                        ledger.append(ME, expect(&now), vec![good]),
                        ledger.append(ME, expect(&other), vec![bad]),
                    );
                    assert!(good.is_ok() && bad.is_err(), "{good:?} {bad:?}");
                }
                session
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            let session = writer.await.unwrap();
            assert_eq!(ledger.session(ME, session.id).await.unwrap().turns, 20);
        }
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
    });
}
