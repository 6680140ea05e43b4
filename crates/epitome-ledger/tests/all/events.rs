//! Events that are told again, otherwise, later linked to turns, or told badly.

use epitome_core::Time;
use epitome_ledger::model::{
    EventFilter, EventReceipt, NewEvent, NewSession, Novelty, Scope, Search, TurnId, Versions,
};
use epitome_ledger::{Ledger, LedgerError, Paging};

use crate::support::*;

on_both!(
    what_is_told_otherwise_is_another_version,
    two_who_tell_it_otherwise_are_both_heard,
    an_event_is_found_in_the_session_that_it_is_linked_to_later,
    an_event_of_nothing_is_refused,
);

fn event(payload: &str, time: i64) -> NewEvent {
    NewEvent {
        platform: "chat".to_owned(),
        channel: "bridge".to_owned(),
        external: "7".to_owned(),
        time: Time(time),
        payload: payload.as_bytes().to_vec(),
        turns: Vec::new(),
    }
}

async fn told(ledger: &Ledger, versions: Versions) -> Vec<(u64, String)> {
    let filter = EventFilter { external: Some("7".to_owned()), versions, ..EventFilter::default() };
    let page = ledger.events(ME, filter, Paging::first(9)).await.unwrap();
    let payload = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    page.items.into_iter().map(|event| (event.version, payload(event.payload))).collect()
}

async fn what_is_told_otherwise_is_another_version(place: Place) {
    let ledger = place.open().await;
    let append = async |payload, time| ledger.append_event(ME, event(payload, time)).await.unwrap();
    let first = append("the mast is down", 1).await;
    let second = append("the mast is up", 2).await;
    assert_eq!((first.novelty, second.novelty, second.version), (Novelty::New, Novelty::Changed, 2));
    assert_ne!(first.number, second.number);
    let known = |receipt: EventReceipt| EventReceipt { novelty: Novelty::Known, ..receipt };
    assert_eq!(append("the mast is up", 9).await, known(second), "the newest is known whenever it comes");
    assert_eq!(append("the mast is down", 1).await, known(first), "the first was only delivered late");
    let back = append("the mast is down", 3).await;
    assert_eq!((back.version, back.novelty), (3, Novelty::Changed), "it was changed back");
    assert_eq!(told(&ledger, Versions::Newest).await, [(3, "the mast is down".to_owned())]);
    let all = told(&ledger, Versions::All).await;
    assert_eq!(all.iter().map(|(version, _)| *version).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!(all[1].1, "the mast is up");
    assert_eq!(ledger.doctor().await.unwrap().findings, [], "no body is left that nobody uses");
}

async fn two_who_tell_it_otherwise_are_both_heard(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    let tell = async |ledger: &Ledger, number: i64| {
        ledger.append_event(ME, event(&format!("telling {}", number / 2), number)).await.unwrap()
    };
    for number in 0..8 {
        tokio::join!(tell(&one, number), tell(&other, number + 1));
    }
    let all = told(&one, Versions::All).await;
    let versions: Vec<u64> = all.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (1..=all.len() as u64).rev().collect::<Vec<_>>());
    for number in 0..4 {
        assert!(all.iter().any(|(_, payload)| *payload == format!("telling {number}")), "{all:?}");
    }
    assert_eq!(one.doctor().await.unwrap().findings, []);
    one.close().await;
    other.close().await;
}

async fn hits(ledger: &Ledger, scope: Scope) -> usize {
    let search = Search { query: "mast".to_owned(), scope, ..Search::default() };
    ledger.search(ME, search, Paging::first(9)).await.unwrap().items.len()
}

async fn an_event_is_found_in_the_session_that_it_is_linked_to_later(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turn: TurnId = talk(&ledger, &session, 0..1).await[0];
    let other = ledger.create_session(ME, NewSession::of("another")).await.unwrap();
    let number = ledger.append_event(ME, event("the mast is down", 1)).await.unwrap().number;
    ledger.pack().await.unwrap();
    let agent = |name: &str| Scope::Agent(name.to_owned());
    assert_eq!(hits(&ledger, Scope::Session(session.id)).await, 0);
    assert_eq!(hits(&ledger, agent("agent")).await, 0);
    ledger.link_event(ME, number, turn).await.unwrap();
    for _ in 0..2 {
        assert_eq!(hits(&ledger, Scope::Session(session.id)).await, 1);
        assert_eq!(hits(&ledger, agent("agent")).await, 1);
        assert_eq!(hits(&ledger, agent("another")).await, 0);
        assert_eq!(hits(&ledger, Scope::Session(other.id)).await, 0);
        assert_eq!(hits(&ledger, Scope::Tenant).await, 1);
        ledger.pack().await.unwrap();
    }
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn an_event_of_nothing_is_refused(place: Place) {
    let ledger = place.open().await;
    let whole = event("x", 1);
    for bad in [
        NewEvent { platform: " ".to_owned(), ..whole.clone() },
        NewEvent { external: String::new(), ..whole.clone() },
        NewEvent { payload: b" \n".to_vec(), ..whole.clone() },
    ] {
        let refused = ledger.append_event(ME, bad).await;
        assert!(matches!(refused, Err(LedgerError::BadRequest(_))), "{refused:?}");
    }
    let unlinked = NewEvent { turns: vec![TurnId::generate()], ..whole };
    assert!(matches!(ledger.append_event(ME, unlinked).await, Err(LedgerError::NotFound { .. })));
    assert_eq!(told(&ledger, Versions::All).await, [], "what is refused leaves nothing");
}
