//! What stands around a session: known beginnings, notes, leases, events.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use epitome_core::Time;
use epitome_ledger::model::{
    ChainHash, EventFilter, EventReceipt, Expect, NewEvent, NewMessage, NewNote, NewSession, NewTurn,
    NoteKind, Novelty, TenantId,
};
use epitome_ledger::{Clock, Ledger, LedgerError, Options, Paging};

use crate::support::*;

on_both!(
    the_known_beginning_is_found,
    notes_hold_for_whoever_has_their_turn,
    a_lease_keeps_others_out_and_late_writers_off,
    a_lease_keeps_others_from_compacting_and_no_message_out,
    events_are_recorded_once_and_linked,
);

fn chains(messages: &[NewMessage]) -> Vec<ChainHash> {
    ChainHash::along(messages.iter().map(|message| &message.digest))
}

async fn the_known_beginning_is_found(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let said: Vec<NewMessage> = (0..90).map(|number| user(&format!("message {number}"))).collect();
    let turns: Vec<NewTurn> = said.chunks(3).map(|chunk| NewTurn::of(chunk.to_vec())).collect();
    let ids: Vec<_> = turns.iter().map(|turn| turn.id).collect();
    ledger.append(ME, expect(&session), turns).await.unwrap();
    for known in 0..=90 {
        let mut asked = said[..known].to_vec();
        asked.extend((0..(known * 7) % 40).map(|number| user(&format!("new {number}"))));
        let found = ledger.find_prefix(ME, chains(&asked)).await.unwrap();
        let Some(found) = found else {
            assert_eq!(known, 0);
            continue;
        };
        assert_eq!(found.messages, known as u64);
        let [place] = found.places[..] else { panic!("{found:?}") };
        assert_eq!((place.session, place.turn), (session.id, ids[(known - 1) / 3]));
        assert_eq!((place.ends_turn, place.at_head), (known % 3 == 0, known == 90));
    }
    let fork = ledger.fork(ME, ids[4], NewSession::of("agent")).await.unwrap();
    add(&ledger, &fork, NewTurn::of(vec![user("elsewhere")])).await;
    let mut path = said[..15].to_vec();
    path.push(user("elsewhere"));
    let found = ledger.find_prefix(ME, chains(&path)).await.unwrap().unwrap();
    assert_eq!(
        (found.messages, found.places[0].session),
        (16, fork.id),
        "the hash of a fork goes on from its parent's"
    );
    let other: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    assert_eq!(ledger.find_prefix(other, chains(&path)).await.unwrap(), None);
    assert_eq!(ledger.find_prefix(ME, Vec::new()).await.unwrap(), None);
}

async fn notes_hold_for_whoever_has_their_turn(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..2).await;
    let note = |kind, messages| NewNote { kind, messages, content: None, time: Some(Time(5)) };
    let at = |head| Expect { session: session.id, head: Some(head), fence: None };
    let pin = ledger.note(ME, at(turns[1]), note(NoteKind::Pin, 0..1)).await.unwrap();
    let more = talk(&ledger, &session, 2..4).await;
    let seal = ledger.note(ME, at(more[1]), note(NoteKind::Seal, 0..6)).await.unwrap();
    assert_eq!(ledger.notes(ME, session.id).await.unwrap(), [pin.clone(), seal]);
    let fork = ledger.fork(ME, more[0], NewSession::of("agent")).await.unwrap();
    assert_eq!(ledger.notes(ME, fork.id).await.unwrap(), std::slice::from_ref(&pin));
    let own = Expect { session: fork.id, head: fork.head, fence: None };
    let unpin = ledger.note(ME, own, note(NoteKind::Unpin, 0..1)).await.unwrap();
    assert_eq!(ledger.notes(ME, fork.id).await.unwrap(), [pin.clone(), unpin]);
    let early = ledger.fork(ME, turns[0], NewSession::of("agent")).await.unwrap();
    assert_eq!(ledger.notes(ME, early.id).await.unwrap(), []);
    assert_eq!(ledger.notes(ME, session.id).await.unwrap().len(), 2);
    assert!(matches!(
        ledger.note(ME, at(more[1]), note(NoteKind::Pin, 7..9)).await,
        Err(LedgerError::BadRequest(_))
    ));
    assert!(matches!(
        ledger.note(ME, at(turns[1]), note(NoteKind::Pin, 0..1)).await,
        Err(LedgerError::HeadMoved { .. })
    ));
}

async fn a_lease_keeps_others_from_compacting_and_no_message_out(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let lease = ledger.acquire_lease(ME, session.id, "holder", Duration::from_secs(600)).await.unwrap();
    talk(&ledger, &session, 0..2).await;
    let now = ledger.session(ME, session.id).await.unwrap();
    let cut = || compaction(vec![summary(0..2, "what was said"), verbatim(2..4)]);
    let refused = ledger.compact(ME, expect(&now), cut()).await;
    assert!(matches!(&refused, Err(LedgerError::Leased { holder, .. }) if holder == "holder"), "{refused:?}");
    // The lease has ended, and nobody has taken it.
    let lease = ledger.renew_lease(ME, lease, Duration::ZERO).await.unwrap();
    let under = Expect { fence: Some(lease.fence), ..expect(&now) };
    let head = ledger.compact(ME, under, cut()).await.unwrap().head;
    let free = Expect { head, ..expect(&now) };
    ledger.compact(ME, free, compaction(vec![verbatim(0..4)])).await.unwrap();
    assert_eq!(ledger.session(ME, session.id).await.unwrap().compactions, 2);
}

async fn a_lease_keeps_others_out_and_late_writers_off(place: Place) {
    let time = Arc::new(AtomicI64::new(1_000));
    let clock = Clock::of({
        let time = Arc::clone(&time);
        move || Time(time.load(Ordering::SeqCst))
    });
    let ledger = Ledger::open(&place.address, Options { clock, ..Options::default() }).await.unwrap();
    let session = open_session(&ledger).await;
    // On PostgreSQL the server's clock counts, so that a lease there must end by itself.
    let short = if place.is_sqlite() { Duration::from_secs(10) } else { Duration::ZERO };
    let long = Duration::from_secs(600);
    let first = ledger.acquire_lease(ME, session.id, "a", long).await.unwrap();
    let taken = ledger.acquire_lease(ME, session.id, "b", long).await;
    assert!(matches!(&taken, Err(LedgerError::Leased { holder, .. }) if holder == "a"), "{taken:?}");
    assert!(taken.unwrap_err().retryable());
    let first = ledger.renew_lease(ME, first, short).await.unwrap();
    time.fetch_add(10_000, Ordering::SeqCst);
    let second = ledger.acquire_lease(ME, session.id, "b", long).await.unwrap();
    assert!(second.fence > first.fence);
    let under = |fence| Expect { session: session.id, head: None, fence: Some(fence) };
    let late = ledger.append(ME, under(first.fence), vec![call("late", "no")]).await;
    assert!(matches!(late, Err(LedgerError::Fenced { .. })), "{late:?}");
    assert!(matches!(ledger.renew_lease(ME, first.clone(), long).await, Err(LedgerError::Fenced { .. })));
    assert!(matches!(ledger.release_lease(ME, first).await, Err(LedgerError::Fenced { .. })));
    ledger.append(ME, under(second.fence), vec![call("in time", "yes")]).await.unwrap();
    ledger.release_lease(ME, second.clone()).await.unwrap();
    let third = ledger.acquire_lease(ME, session.id, "a", long).await.unwrap();
    let again = ledger.acquire_lease(ME, session.id, "a", long).await.unwrap();
    assert!(third.fence > second.fence && again.fence > third.fence);
    assert_eq!(ledger.session(ME, session.id).await.unwrap().turns, 1);
}

async fn events_are_recorded_once_and_linked(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..2).await;
    let event = |number: usize| NewEvent {
        platform: if number.is_multiple_of(2) { "discord" } else { "imessage" }.to_owned(),
        channel: "general".to_owned(),
        external: number.to_string(),
        time: Time(number as i64),
        payload: format!("event {number}").into_bytes(),
        turns: Vec::new(),
    };
    let mut numbers = Vec::new();
    for number in 0..5 {
        let receipt = ledger.append_event(ME, event(number)).await.unwrap();
        assert_eq!((receipt.version, receipt.novelty), (1, Novelty::New));
        numbers.push(receipt.number);
    }
    let again = NewEvent { time: Time(77), turns: vec![turns[0]], ..event(1) };
    let again = ledger.append_event(ME, again).await.unwrap();
    assert_eq!(again, EventReceipt { number: numbers[1], version: 1, novelty: Novelty::Known });
    ledger.link_event(ME, numbers[2], turns[0]).await.unwrap();
    ledger.link_event(ME, numbers[2], turns[0]).await.unwrap();
    let linked = ledger.events_of_turn(ME, turns[0]).await.unwrap();
    assert_eq!(linked.iter().map(|event| event.number).collect::<Vec<_>>(), [numbers[1], numbers[2]]);
    assert_eq!(linked[0].payload, b"event 1", "what was recorded stays");
    assert_eq!(linked[1].turns, [turns[0]]);
    let discord = EventFilter {
        platform: Some("discord".to_owned()),
        channel: Some("general".to_owned()),
        ..EventFilter::default()
    };
    let page = ledger.events(ME, discord.clone(), Paging::first(2)).await.unwrap();
    assert_eq!(page.items.iter().map(|event| event.number).collect::<Vec<_>>(), [numbers[4], numbers[2]]);
    let rest = ledger.events(ME, discord, Paging::after(page.next.unwrap(), 2)).await.unwrap();
    assert_eq!((rest.items[0].number, rest.next), (numbers[0], None));
    compact(&ledger, &session, vec![summary(0..4, "all of it")]).await;
    assert_eq!(ledger.events(ME, EventFilter::default(), Paging::first(9)).await.unwrap().items.len(), 5);
    assert!(ledger.link_event(ME, 999, turns[0]).await.is_err());
}
