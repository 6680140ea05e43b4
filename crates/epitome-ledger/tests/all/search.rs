//! Searching, as people type: words, phrases, prefixes, identifiers, paths; newest or best; in a scope.

use epitome_core::{Role, Time};
use epitome_ledger::model::{
    Found, Hit, NewEvent, NewMessage, NewSession, NewTurn, Order, Purge, Scope, Search, Session, TenantId,
    TurnId, Warrant,
};
use epitome_ledger::{Ledger, LedgerError, Paging};

use crate::support::*;

on_both!(
    texts_are_found_as_people_type,
    the_newest_come_first_and_by_pages,
    the_best_come_first,
    a_term_weighs_what_it_does_where_it_is_looked_for,
    of_a_long_query_the_last_words_count_too,
    a_scope_is_kept,
    summaries_and_events_are_found,
    an_event_is_found_where_its_turns_are,
    phrases_are_found_behind_many_that_only_look_alike,
    what_waits_for_the_index_is_found_however_much_it_is,
);

async fn found(ledger: &Ledger, query: &str, scope: Scope, order: Order) -> Vec<Hit> {
    let search = Search { query: query.to_owned(), scope, order };
    ledger.search(ME, search, Paging::first(50)).await.unwrap().items
}

async fn ordinals(ledger: &Ledger, query: &str, scope: Scope, order: Order) -> Vec<u64> {
    let ordinal = |hit: &Hit| match hit.found {
        Found::Message { ordinal, .. } => ordinal,
        _ => panic!("{hit:?}"),
    };
    found(ledger, query, scope, order).await.iter().map(ordinal).collect()
}

async fn say_all(ledger: &Ledger, session: &Session, texts: &[&str]) {
    for text in texts {
        add(ledger, session, NewTurn::of(vec![user(text)])).await;
    }
}

async fn texts_are_found_as_people_type(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let texts = [
        "Please fix crates/core/src/main.rs first",
        "rustc says error[E0382]: borrow of moved value",
        "rename parse_http_head to parseHttpHead",
        "the Café à la carte is on the Großstraße",
        "全文検索エンジンを作る",
        "version 1.95.0 of the tool; see https://example.org/a-b?c=d",
        "main rs src but not as a path",
    ];
    say_all(&ledger, &session, &texts).await;
    let tool = r#"{"role":"assistant","tool_calls":[{"id":"call_xyz","type":"function","function":{"name":"edit_file","arguments":"{\"path\":\"lib/util.py\",\"new\":\"first line\\nsecond line\"}"}}]}"#;
    add(&ledger, &session, NewTurn::of(vec![NewMessage::new(Role::Assistant, tool)])).await;
    let cases: &[(&str, &[u64])] = &[
        ("src/main.rs", &[0]),
        ("core/src", &[0]),
        ("main.rs", &[0]),
        ("src main rs", &[6, 0]),
        ("E0382", &[1]),
        ("e0382 MOVED", &[1]),
        ("\"borrow of moved\"", &[1]),
        ("\"moved borrow\"", &[]),
        ("parse_http_head", &[2]),
        ("http head", &[2]),
        ("parsehttphead", &[2]),
        ("cafe", &[3]),
        ("CAFÉ carte", &[3]),
        ("検索", &[4]),
        ("検索エンジン", &[4]),
        ("索検", &[]),
        ("1.95.0", &[5]),
        ("example.org/a-b?c=d", &[5]),
        ("renam*", &[2]),
        ("crates/co*", &[0]),
        ("lib/util.py", &[7]),
        ("edit_file", &[7]),
        ("\"second line\"", &[7]),
        ("call_xyz", &[]),
        ("nothing at all", &[]),
        ("' \\ & | ! ( \" borrow", &[1]),
    ];
    for (query, expected) in cases {
        assert_eq!(ordinals(&ledger, query, Scope::Tenant, Order::Newest).await, *expected, "{query}");
    }
    let hit = &found(&ledger, "src/main.rs", Scope::Tenant, Order::Newest).await[0];
    assert_eq!(&hit.snippet.text[hit.snippet.highlights[0].clone()], "src/main.rs");
    let empty = Search { query: " , ".to_owned(), ..Search::default() };
    assert!(matches!(ledger.search(ME, empty, Paging::first(1)).await, Err(LedgerError::BadRequest(_))));
    ledger.pack().await.unwrap();
    assert_eq!(ordinals(&ledger, "\"borrow of moved\"", Scope::Tenant, Order::Newest).await, [1]);
}

async fn the_newest_come_first_and_by_pages(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let texts: Vec<String> = (0..25).map(|number| format!("common word {number}")).collect();
    say_all(&ledger, &session, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut seen = Vec::new();
    let mut paging = Paging::first(7);
    let search = Search { query: "common".to_owned(), ..Search::default() };
    loop {
        let page = ledger.search(ME, search.clone(), paging).await.unwrap();
        seen.extend(page.items.into_iter().map(|hit| hit.snippet.text));
        let Some(next) = page.next else { break };
        paging = Paging::after(next, 7);
    }
    let trimmed: Vec<&str> = seen.iter().map(|text| text.trim()).collect();
    assert_eq!(trimmed, texts.iter().rev().map(String::as_str).collect::<Vec<_>>());
}

async fn the_best_come_first(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let mut texts = vec!["the lease of the ledger has a fencing token, and the lease ends".to_owned()];
    texts.extend((0..40).map(|number| format!("the ledger of day {number} says nothing of note about it")));
    texts.push("a lease".to_owned());
    say_all(&ledger, &session, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let best = ordinals(&ledger, "fencing token of the lease", Scope::Tenant, Order::Best).await;
    assert_eq!(best[0], 0);
    let partly = ordinals(&ledger, "which lease had the zebra fencing", Scope::Tenant, Order::Best).await;
    assert_eq!(partly[..2], [0, 41], "rare words count more than common ones, and one need not occur");
    assert!(ordinals(&ledger, "zebra", Scope::Tenant, Order::Best).await.is_empty());
}

async fn a_term_weighs_what_it_does_where_it_is_looked_for(place: Place) {
    let ledger = place.open().await;
    let (here, elsewhere) = (open_session(&ledger).await, open_session(&ledger).await);
    let other: Vec<String> = (0..60).map(|number| format!("other things, number {number}")).collect();
    say_all(&ledger, &elsewhere, &other.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // So many that only the newest of them are looked up.
    let mut texts: Vec<String> = (0..150).map(|number| format!("common, number {number}")).collect();
    texts[3] = "common and rare".to_owned();
    say_all(&ledger, &here, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let best = &found(&ledger, "common rare", Scope::Session(here.id), Order::Best).await[0];
    assert_eq!(best.shares.len(), 2);
    assert!(best.shares[0] * 10.0 < best.shares[1], "{best:?}");
    assert_eq!(best.score, best.shares.iter().sum::<f64>());
    assert_eq!(found(&ledger, "common", Scope::Session(here.id), Order::Newest).await[0].shares, [0.0; 0]);
}

async fn of_a_long_query_the_last_words_count_too(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    say_all(&ledger, &session, &["one zebra", "some_zebra"]).await;
    let unknown: Vec<String> = (0..60).map(|number| format!("unknown{number}")).collect();
    let query = format!("{} zebra", unknown.join(" "));
    assert_eq!(ordinals(&ledger, &query, Scope::Tenant, Order::Best).await, [1, 0]);
}

async fn a_scope_is_kept(place: Place) {
    let ledger = place.open().await;
    let (one, two) = (open_session(&ledger).await, open_session(&ledger).await);
    let other = ledger.create_session(ME, NewSession::of("other agent")).await.unwrap();
    for (number, session) in [&one, &two, &other].into_iter().enumerate() {
        say_all(&ledger, session, &[&format!("shared word {number}"), "second"]).await;
    }
    let head = ledger.session(ME, one.id).await.unwrap().head.unwrap();
    let first = ledger.history(ME, head, Paging::first(1)).await.unwrap().items[0].id;
    let fork = ledger.fork(ME, first, NewSession::of("agent")).await.unwrap();
    say_all(&ledger, &fork, &["shared in the fork"]).await;
    let count = async |scope| found(&ledger, "shared", scope, Order::Newest).await.len();
    assert_eq!(count(Scope::Tenant).await, 4);
    assert_eq!(count(Scope::Agent("agent".to_owned())).await, 3);
    assert_eq!(count(Scope::Agent("other agent".to_owned())).await, 1);
    assert_eq!(count(Scope::Session(two.id)).await, 1);
    assert_eq!(count(Scope::Session(fork.id)).await, 2, "what the fork shares is on its path");
    assert_eq!(found(&ledger, "second", Scope::Session(fork.id), Order::Newest).await, []);
    assert_eq!(found(&ledger, "second", Scope::Session(fork.id), Order::Best).await, []);
    let tenant: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    ledger.create_session(tenant, NewSession::of("agent")).await.unwrap();
    let search = Search { query: "shared".to_owned(), ..Search::default() };
    assert_eq!(ledger.search(tenant, search.clone(), Paging::first(9)).await.unwrap().items, []);
    let agent = Search { scope: Scope::Agent("agent".to_owned()), ..search };
    assert_eq!(ledger.search(tenant, agent, Paging::first(9)).await.unwrap().items, []);
}

async fn summaries_and_events_are_found(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..2).await;
    let compaction = compact(&ledger, &session, vec![summary(0..4, "They spoke of zeppelins.")]).await;
    let hits = found(&ledger, "zeppelins", Scope::Session(session.id), Order::Newest).await;
    assert_eq!(hits[0].found, Found::Summary { session: session.id, turn: compaction });
    let event = NewEvent {
        platform: "discord".to_owned(),
        channel: "general".to_owned(),
        external: "1".to_owned(),
        time: Time(77),
        payload: br#"{"text":"a zeppelin overhead"}"#.to_vec(),
        turns: vec![turns[0]],
    };
    let number = ledger.append_event(ME, event).await.unwrap().number;
    for scope in [Scope::Tenant, Scope::Session(session.id)] {
        let hits = found(&ledger, "zeppelin*", scope, Order::Newest).await;
        assert_eq!(hits.len(), 2);
        assert_eq!(hits[0].time, Time(77));
        assert!(matches!(hits[0].found, Found::Event { number: found, .. } if found == number), "{hits:?}");
    }
}

async fn an_event_is_found_where_its_turns_are(place: Place) {
    let ledger = place.open().await;
    let other: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    let (kept, gone) = (open_session(&ledger).await, open_session(&ledger).await);
    let (kept_turns, gone_turns) = (talk(&ledger, &kept, 0..2).await, talk(&ledger, &gone, 2..3).await);
    let fork = ledger.fork(ME, kept_turns[0], NewSession::of("agent")).await.unwrap();
    let event = |external: &str, turns: Vec<TurnId>| NewEvent {
        platform: "discord".to_owned(),
        channel: "general".to_owned(),
        external: external.to_owned(),
        time: Time(77),
        payload: b"somebody knocked".to_vec(),
        turns,
    };
    ledger.append_event(ME, event("1", vec![gone_turns[0]])).await.unwrap();
    ledger.append_event(ME, event("2", vec![kept_turns[1], gone_turns[0]])).await.unwrap();
    for session in [&fork, &kept, &gone] {
        add(&ledger, session, call("who is it?", "nobody")).await;
    }
    let count = async |tenant: TenantId, session: &Session| {
        let scope = Scope::Session(session.id);
        let search = Search { query: "knocked".to_owned(), scope, ..Search::default() };
        ledger.search(tenant, search, Paging::first(9)).await.unwrap().items.len()
    };
    ledger.pack().await.unwrap();
    assert_eq!((count(ME, &kept).await, count(ME, &gone).await), (1, 2));
    assert_eq!(count(ME, &fork).await, 0, "the second turn is not on its path");
    let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
    for session in [fork.id, gone.id] {
        ledger.purge(ME, Purge::Session(session), warrant.clone()).await.unwrap();
    }
    // Whoever comes next does not find what is left of those who went.
    let theirs = ledger.create_session(other, NewSession::of("agent")).await.unwrap();
    let mine = open_session(&ledger).await;
    assert_eq!((count(other, &theirs).await, count(ME, &mine).await, count(ME, &kept).await), (0, 0, 1));
    assert_eq!(found(&ledger, "knocked", Scope::Tenant, Order::Best).await.len(), 2);
    if place.is_sqlite() {
        let keys = "SELECT max(key) FROM sessions WHERE tenant = 1";
        let connection = rusqlite::Connection::open(place.file()).unwrap();
        let highest: i64 = connection.query_row(keys, [], |row| row.get(0)).unwrap();
        assert_eq!(highest, 5, "no key is given twice");
    }
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

async fn phrases_are_found_behind_many_that_only_look_alike(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    add(&ledger, &session, NewTurn::of(vec![user("the needle in the haystack")])).await;
    let alike: Vec<NewMessage> =
        (0..300).map(|number| user(&format!("haystack {number} the needle"))).collect();
    add(&ledger, &session, NewTurn::of(alike)).await;
    let hits = ordinals(&ledger, "\"needle in the haystack\"", Scope::Tenant, Order::Newest).await;
    assert_eq!(hits, [0]);
}

async fn what_waits_for_the_index_is_found_however_much_it_is(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let text = |number: usize| {
        if number == 7 { "Žluťoučký kůň".to_owned() } else { format!("nothing {number}") }
    };
    let turns = (0..600).map(|turn| NewTurn::of((0..10).map(|at| user(&text(turn * 10 + at))).collect()));
    let receipt = ledger.append(ME, expect(&session), turns.collect()).await.unwrap();
    for query in ["zlutoucky", "kun*", "\"zlutoucky kun\""] {
        assert_eq!(ordinals(&ledger, query, Scope::Session(session.id), Order::Newest).await, [7], "{query}");
        assert_eq!(ordinals(&ledger, query, Scope::Tenant, Order::Best).await, [7], "{query}");
    }
    // One by one, as an agent writes, and searched for at once.
    let at = epitome_ledger::model::Expect { session: session.id, head: receipt.head, fence: None };
    ledger.append(ME, at, vec![call("where is kůň", "here")]).await.unwrap();
    assert_eq!(ordinals(&ledger, "kun", Scope::Tenant, Order::Newest).await, [6000, 7]);
}
