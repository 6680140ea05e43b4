//! Knowledge: findings with their provenance, what becomes of them, episodes and memos.

use epitome_core::Time;
use epitome_core::knowledge::Kind;
use epitome_ledger::model::{
    FindingFilter, FindingId, FindingMark, FindingState, Found, NewEpisode, NewFinding, NewSession, Purge,
    RecordedFinding, Scope, Search, Session, SessionId, TenantId, TurnId, Warrant,
};
use epitome_ledger::{Ledger, LedgerError, Paging};

use crate::server::psql;
use crate::support::*;

on_both!(
    what_is_learnt_is_listed_with_its_provenance,
    what_is_learnt_twice_is_recorded_once,
    a_successor_counts_where_it_is_on_the_path,
    preferences_are_reviewed,
    lists_come_in_pages,
    findings_are_found,
    forks_see_what_they_share,
    tenants_do_not_share_knowledge,
    a_purge_takes_findings_episodes_and_memos,
    episodes_follow_each_other,
    the_last_memo_counts,
    the_doctor_misses_messages_and_compactions,
);

fn fact(number: u8, message: u64, text: &str) -> NewFinding {
    NewFinding {
        id: id(number),
        kind: Kind::Fact,
        subject: "database port".to_owned(),
        text: text.to_owned(),
        message,
        supersedes: None,
        time: Some(Time(i64::from(number))),
    }
}

fn id(number: u8) -> FindingId {
    FindingId::of(&[number])
}

fn preference(number: u8, message: u64, text: &str) -> NewFinding {
    NewFinding { kind: Kind::Preference, subject: "indentation".to_owned(), ..fact(number, message, text) }
}

fn after(before: u8, new: NewFinding) -> NewFinding {
    NewFinding { supersedes: Some(id(before)), ..new }
}

fn of_session(session: SessionId) -> FindingFilter {
    FindingFilter { session: Some(session), ..FindingFilter::default() }
}

async fn list(ledger: &Ledger, filter: FindingFilter) -> Vec<RecordedFinding> {
    ledger.findings(ME, filter, Paging::first(100)).await.unwrap().items
}

async fn states(ledger: &Ledger, filter: FindingFilter) -> Vec<(FindingId, FindingState)> {
    list(ledger, filter).await.into_iter().map(|finding| (finding.id, finding.state)).collect()
}

async fn healthy(ledger: &Ledger) {
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn talked(ledger: &Ledger) -> (Session, Vec<TurnId>) {
    let session = open_session(ledger).await;
    let turns = talk(ledger, &session, 0..3).await;
    (session, turns)
}

async fn what_is_learnt_is_listed_with_its_provenance(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let new = vec![fact(1, 2, "The port is 5433."), preference(2, 5, "Use tabs.")];
    assert_eq!(ledger.learn(ME, session.id, new).await.unwrap(), [id(1), id(2)]);
    let found = list(&ledger, FindingFilter::default()).await;
    let expected = RecordedFinding {
        id: id(1),
        kind: Kind::Fact,
        agent: session.agent.clone(),
        subject: "database port".to_owned(),
        text: "The port is 5433.".to_owned(),
        session: session.id,
        turn: turns[1],
        message: 2,
        supersedes: None,
        state: FindingState::Current,
        time: Time(1),
    };
    assert_eq!((found[0].id, found[0].turn), (id(2), turns[2]), "the latest first");
    assert_eq!(found[1], expected);
    assert_eq!(ledger.finding(ME, id(1)).await.unwrap(), expected);
    for (filter, count) in [
        (FindingFilter { kind: Some(Kind::Preference), ..FindingFilter::default() }, 1),
        (FindingFilter { agent: Some(session.agent.clone()), ..FindingFilter::default() }, 2),
        (FindingFilter { agent: Some("nobody".to_owned()), ..FindingFilter::default() }, 0),
        (FindingFilter { states: vec![FindingState::Review], ..FindingFilter::default() }, 1),
        (of_session(session.id), 2),
    ] {
        assert_eq!(list(&ledger, filter.clone()).await.len(), count, "{filter:?}");
    }
    let beyond = ledger.learn(ME, session.id, vec![fact(3, 6, "of no message")]).await;
    assert!(matches!(beyond, Err(LedgerError::BadRequest(_))));
    let dangling = ledger.learn(ME, session.id, vec![after(9, fact(3, 1, "after nothing"))]).await;
    assert!(matches!(dangling, Err(LedgerError::NotFound { what: "finding", .. })));
    assert!(matches!(ledger.finding(ME, id(3)).await, Err(LedgerError::NotFound { .. })));
    healthy(&ledger).await;
}

async fn what_is_learnt_twice_is_recorded_once(place: Place) {
    let ledger = place.open().await;
    let (session, _) = talked(&ledger).await;
    let new = || vec![fact(1, 0, "The port is 5433."), after(1, fact(2, 1, "The port is 5434."))];
    assert_eq!(ledger.learn(ME, session.id, new()).await.unwrap().len(), 2);
    assert_eq!(ledger.learn(ME, session.id, new()).await.unwrap(), []);
    assert_eq!(list(&ledger, FindingFilter::default()).await.len(), 2);
    assert_eq!(FindingId::of(b"said"), FindingId::of(b"said"));
    assert_ne!(FindingId::generate(), FindingId::generate());
    healthy(&ledger).await;
}

async fn a_successor_counts_where_it_is_on_the_path(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let fork = ledger.fork(ME, turns[1], NewSession::of("agent")).await.unwrap();
    ledger.learn(ME, session.id, vec![fact(1, 0, "The port is 5433.")]).await.unwrap();
    ledger.learn(ME, session.id, vec![after(1, fact(2, 4, "The port is 5434."))]).await.unwrap();
    let superseded = FindingState::Superseded;
    assert_eq!(
        states(&ledger, of_session(session.id)).await,
        [(id(2), FindingState::Current), (id(1), superseded)]
    );
    assert_eq!(states(&ledger, of_session(fork.id)).await, [(id(1), FindingState::Current)]);
    assert_eq!(ledger.finding(ME, id(1)).await.unwrap().state, superseded);
    // Who rejects the successor has the first one back.
    let rejected = ledger.mark_finding(ME, id(2), FindingMark::Rejected).await.unwrap();
    assert_eq!(rejected.state, FindingState::Rejected);
    assert_eq!(ledger.finding(ME, id(1)).await.unwrap().state, FindingState::Current);
    let marked = ledger.mark_finding(ME, id(1), FindingMark::Superseded).await.unwrap();
    assert_eq!(marked.state, superseded);
    healthy(&ledger).await;
}

async fn preferences_are_reviewed(place: Place) {
    let ledger = place.open().await;
    let (session, _) = talked(&ledger).await;
    ledger.learn(ME, session.id, vec![preference(1, 0, "Use tabs.")]).await.unwrap();
    assert_eq!(ledger.finding(ME, id(1)).await.unwrap().state, FindingState::Review);
    let confirmed = ledger.mark_finding(ME, id(1), FindingMark::Confirmed).await.unwrap();
    assert_eq!(confirmed.state, FindingState::Confirmed);
    ledger.learn(ME, session.id, vec![after(1, preference(2, 2, "Use spaces."))]).await.unwrap();
    assert_eq!(
        states(&ledger, FindingFilter::default()).await,
        [(id(2), FindingState::Review), (id(1), FindingState::Confirmed)],
        "what was confirmed stays until what takes its place is"
    );
    ledger.mark_finding(ME, id(2), FindingMark::Confirmed).await.unwrap();
    assert_eq!(
        states(&ledger, FindingFilter::default()).await,
        [(id(2), FindingState::Confirmed), (id(1), FindingState::Superseded)]
    );
    let nobody = ledger.mark_finding(ME, id(9), FindingMark::Confirmed).await;
    assert!(matches!(nobody, Err(LedgerError::NotFound { what: "finding", .. })));
}

async fn lists_come_in_pages(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let fork = ledger.fork(ME, turns[2], NewSession::of("agent")).await.unwrap();
    talk(&ledger, &fork, 10..11).await;
    for number in 0..20 {
        let (owner, message) = if number % 2 == 0 { (session.id, 1) } else { (fork.id, 6) };
        let new = match number % 4 {
            0 => preference(number, message, "Use tabs."),
            _ => fact(number, message, "The port is 5433."),
        };
        ledger.learn(ME, owner, vec![new]).await.unwrap();
    }
    for (filter, expected) in [
        (FindingFilter::default(), 20),
        (of_session(fork.id), 20),
        (of_session(session.id), 10),
        (FindingFilter { states: vec![FindingState::Review], ..of_session(fork.id) }, 5),
    ] {
        let (mut paging, mut seen) = (Paging::first(3), Vec::new());
        loop {
            let page = ledger.findings(ME, filter.clone(), paging).await.unwrap();
            assert!(page.items.len() <= 3);
            seen.extend(page.items.into_iter().map(|finding| finding.time));
            let Some(next) = page.next else { break };
            paging = Paging::after(next, 3);
        }
        assert_eq!(seen.len(), expected, "{filter:?}");
        assert!(seen.is_sorted_by(|one, other| one > other), "{filter:?}: {seen:?}");
    }
}

async fn found(ledger: &Ledger, query: &str, scope: Scope) -> Vec<FindingId> {
    let search = Search { query: query.to_owned(), scope, ..Search::default() };
    let hits = ledger.search(ME, search, Paging::first(50)).await.unwrap().items.into_iter();
    let ids = hits.filter_map(|hit| match hit.found {
        Found::Finding { id, .. } => Some(id),
        _ => None,
    });
    ids.collect()
}

async fn findings_are_found(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let fork = ledger.fork(ME, turns[0], NewSession::of("another agent")).await.unwrap();
    let new = vec![fact(1, 1, "The zebra port is 5433."), fact(2, 4, "The zebra port is 5434.")];
    ledger.learn(ME, session.id, new).await.unwrap();
    for _ in ["waiting", "indexed"] {
        assert_eq!(found(&ledger, "zebra", Scope::Tenant).await, [id(2), id(1)]);
        assert_eq!(found(&ledger, "zebra 5433", Scope::Agent(session.agent.clone())).await, [id(1)]);
        assert_eq!(found(&ledger, "zebra", Scope::Session(session.id)).await, [id(2), id(1)]);
        assert_eq!(found(&ledger, "zebra", Scope::Session(fork.id)).await, [id(1)]);
        ledger.pack().await.unwrap();
    }
    let search = Search { query: "5434".to_owned(), ..Search::default() };
    let hit = ledger.search(ME, search, Paging::first(5)).await.unwrap().items.remove(0);
    let (session, turn, state) = (session.id, turns[2], FindingState::Current);
    assert_eq!(hit.found, Found::Finding { id: id(2), kind: Kind::Fact, state, session, turn, ordinal: 4 });
    assert_eq!((hit.time, hit.snippet.text.as_str()), (Time(2), "The zebra port is 5434."));
    healthy(&ledger).await;
}

async fn forks_see_what_they_share(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let fork = ledger.fork(ME, turns[0], NewSession::of("agent")).await.unwrap();
    talk(&ledger, &fork, 10..11).await;
    ledger.learn(ME, fork.id, vec![fact(1, 1, "shared"), fact(2, 3, "the fork's own")]).await.unwrap();
    ledger.learn(ME, session.id, vec![fact(3, 3, "the parent's own")]).await.unwrap();
    let texts = |found: Vec<RecordedFinding>| -> Vec<String> {
        found.into_iter().map(|finding| finding.text).collect()
    };
    assert_eq!(texts(list(&ledger, of_session(fork.id)).await), ["the fork's own", "shared"]);
    assert_eq!(texts(list(&ledger, of_session(session.id)).await), ["the parent's own", "shared"]);
    assert_eq!(ledger.finding(ME, id(1)).await.unwrap().session, session.id, "who recorded the message");
    // What the fork stands on outlives its parent.
    let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
    ledger.purge(ME, Purge::Session(session.id), warrant).await.unwrap();
    assert_eq!(texts(list(&ledger, of_session(fork.id)).await), ["the fork's own", "shared"]);
    assert!(matches!(ledger.finding(ME, id(3)).await, Err(LedgerError::NotFound { .. })));
    healthy(&ledger).await;
}

async fn tenants_do_not_share_knowledge(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let other = TenantId::from_uuid(uuid::Uuid::from_bytes([7; 16]));
    let theirs = ledger.create_session(other, NewSession::of("agent")).await.unwrap();
    ledger.learn(ME, session.id, vec![fact(1, 0, "The port is 5433.")]).await.unwrap();
    ledger.put_memo(ME, "calibration", "model", "1.1").await.unwrap();
    assert_eq!(ledger.findings(other, FindingFilter::default(), Paging::first(9)).await.unwrap().items, []);
    assert_eq!(ledger.memo(other, "calibration", "model").await.unwrap(), None);
    for refused in [
        ledger.finding(other, id(1)).await.err(),
        ledger.mark_finding(other, id(1), FindingMark::Rejected).await.err(),
        ledger.learn(other, session.id, vec![fact(2, 0, "mine")]).await.err(),
        ledger.episodes(other, session.id, Paging::first(9)).await.err(),
        ledger.close_episode(other, NewEpisode { compaction: turns[0], end: 1, title: None }).await.err(),
    ] {
        assert!(matches!(refused, Some(LedgerError::NotFound { .. })), "{refused:?}");
    }
    // The same id is another finding.
    add_to(&ledger, other, &theirs, "hello").await;
    assert_eq!(ledger.learn(other, theirs.id, vec![fact(1, 0, "theirs")]).await.unwrap(), [id(1)]);
    assert_eq!(ledger.finding(ME, id(1)).await.unwrap().text, "The port is 5433.");
    healthy(&ledger).await;
}

async fn add_to(ledger: &Ledger, tenant: TenantId, session: &Session, text: &str) {
    let expect = epitome_ledger::model::Expect { session: session.id, head: session.head, fence: None };
    let turn = epitome_ledger::model::NewTurn::of(vec![user(text)]);
    ledger.append(tenant, expect, vec![turn]).await.unwrap();
}

async fn a_purge_takes_findings_episodes_and_memos(place: Place) {
    let ledger = place.open().await;
    let ((session, _), (other, _)) = (talked(&ledger).await, talked(&ledger).await);
    for (session, number) in [(&session, 1), (&other, 2)] {
        let text = format!("The plugh port of {number} is 5433.");
        ledger.learn(ME, session.id, vec![fact(number, 0, &text)]).await.unwrap();
        ledger.mark_finding(ME, id(number), FindingMark::Confirmed).await.unwrap();
        let cut = compact(&ledger, session, vec![summary(0..4, "told"), verbatim(4..6)]).await;
        let new = NewEpisode { compaction: cut, end: 4, title: None };
        ledger.close_episode(ME, new).await.unwrap().unwrap();
        ledger.put_memo(ME, "working-memory", session.id.to_string(), "task").await.unwrap();
    }
    let warrant = || Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
    ledger.purge(ME, Purge::Session(session.id), warrant()).await.unwrap();
    assert_eq!(found(&ledger, "plugh", Scope::Tenant).await, [id(2)]);
    assert_eq!(list(&ledger, FindingFilter::default()).await.len(), 1);
    assert_eq!(ledger.memos(ME, "working-memory", Paging::first(9)).await.unwrap().items.len(), 1);
    assert_eq!(ledger.episodes(ME, other.id, Paging::first(9)).await.unwrap().items.len(), 1);
    healthy(&ledger).await;
    ledger.purge(ME, Purge::Tenant, warrant()).await.unwrap();
    assert_eq!(found(&ledger, "plugh", Scope::Tenant).await, []);
    assert_eq!(ledger.memos(ME, "working-memory", Paging::first(9)).await.unwrap().items, []);
    healthy(&ledger).await;
    ledger.close().await;
    if place.is_sqlite() {
        let file = std::fs::read(place.file()).unwrap();
        assert!(!file.windows(5).any(|bytes| bytes == b"plugh"), "not even in a free page");
    }
}

async fn episodes_follow_each_other(place: Place) {
    let ledger = place.open().await;
    let (session, turns) = talked(&ledger).await;
    let close = async |compaction, end, title: Option<&str>| {
        let new = NewEpisode { compaction, end, title: title.map(str::to_owned) };
        ledger.close_episode(ME, new).await
    };
    let first = compact(&ledger, &session, vec![summary(0..2, "told"), verbatim(2..6)]).await;
    let one = close(first, 2, Some("the beginning")).await.unwrap().unwrap();
    assert_eq!((one.number, one.messages.clone(), one.title.as_deref()), (0, 0..2, Some("the beginning")));
    assert_eq!((one.session, one.compaction), (session.id, first));
    assert_eq!(one.opened, ledger.turn(ME, turns[0]).await.unwrap().time);
    assert_eq!(one.closed, ledger.turn(ME, first).await.unwrap().time);
    assert_eq!(close(first, 4, None).await.unwrap(), Some(one.clone()), "a compaction closes one");
    let same = compact(&ledger, &session, vec![summary(0..2, "told again"), verbatim(2..6)]).await;
    assert_eq!(close(same, 2, None).await.unwrap(), None, "nothing was said since");
    let fork = ledger.fork(ME, same, NewSession::of("agent")).await.unwrap();
    let second = compact(&ledger, &session, vec![summary(0..4, "told"), verbatim(4..6)]).await;
    let two = close(second, 4, None).await.unwrap().unwrap();
    assert_eq!((two.number, two.messages.clone()), (1, 2..4));
    let forked = compact(&ledger, &fork, vec![summary(0..6, "all of it")]).await;
    let three = close(forked, 6, None).await.unwrap().unwrap();
    assert_eq!((three.number, three.messages.clone()), (1, 2..6), "the fork goes on from what it shares");
    let listed = async |session| ledger.episodes(ME, session, Paging::first(9)).await.unwrap().items;
    assert_eq!(listed(session.id).await, [one.clone(), two.clone()]);
    assert_eq!(listed(fork.id).await, [one.clone(), three]);
    let page = ledger.episodes(ME, session.id, Paging::first(1)).await.unwrap();
    let rest = ledger.episodes(ME, session.id, Paging::after(page.next.unwrap(), 9)).await.unwrap();
    assert_eq!((page.items, rest.items), (vec![one], vec![two]));
    assert!(matches!(close(turns[0], 1, None).await, Err(LedgerError::BadRequest(_))), "no compaction");
    assert!(matches!(close(second, 99, None).await, Ok(Some(_)) | Err(LedgerError::BadRequest(_))));
    healthy(&ledger).await;
}

async fn the_last_memo_counts(place: Place) {
    let ledger = place.open().await;
    assert_eq!(ledger.memo(ME, "calibration", "model").await.unwrap(), None);
    let first = ledger.put_memo(ME, "calibration", "model", "{\"ratio\":1.1}").await.unwrap();
    assert_eq!(ledger.memo(ME, "calibration", "model").await.unwrap(), Some(first));
    ledger.put_memo(ME, "calibration", "another", "1").await.unwrap();
    ledger.put_memo(ME, "calibration", "model", "{\"ratio\":1.2}").await.unwrap();
    ledger.put_memo(ME, "working-memory", "model", "task").await.unwrap();
    let page = ledger.memos(ME, "calibration", Paging::first(1)).await.unwrap();
    let rest = ledger.memos(ME, "calibration", Paging::after(page.next.unwrap(), 9)).await.unwrap();
    let values: Vec<String> = page.items.into_iter().chain(rest.items).map(|memo| memo.value).collect();
    assert_eq!(values, ["{\"ratio\":1.2}", "1"]);
    assert!(matches!(ledger.put_memo(ME, "", "model", "1").await, Err(LedgerError::BadRequest(_))));
    ledger.close().await;
    let again = place.open().await;
    assert_eq!(again.memo(ME, "calibration", "model").await.unwrap().unwrap().value, "{\"ratio\":1.2}");
}

async fn the_doctor_misses_messages_and_compactions(place: Place) {
    let ledger = place.open().await;
    let (session, _) = talked(&ledger).await;
    ledger.learn(ME, session.id, vec![fact(1, 5, "The port is 5433.")]).await.unwrap();
    ledger.mark_finding(ME, id(1), FindingMark::Confirmed).await.unwrap();
    let cut = compact(&ledger, &session, vec![summary(0..4, "told"), verbatim(4..6)]).await;
    ledger.close_episode(ME, NewEpisode { compaction: cut, end: 4, title: None }).await.unwrap();
    healthy(&ledger).await;
    ledger.close().await;
    let damage = "UPDATE findings SET tenant = 77; UPDATE finding_marks SET finding = 99; \
         UPDATE episodes SET turn = 0, first = 4; UPDATE memos SET tenant = 77";
    match place.is_sqlite() {
        true => rusqlite::Connection::open(place.file()).unwrap().execute_batch(damage).unwrap(),
        false => drop(psql(&place.address, damage)),
    }
    let findings = place.open().await.doctor().await.unwrap().findings;
    let subjects: Vec<String> = findings.into_iter().map(|finding| finding.subject).collect();
    for subject in [format!("finding {}", id(1)), "finding marks".to_owned(), "episodes".to_owned()] {
        assert!(subjects.contains(&subject), "{subject}: {subjects:?}");
    }
}
