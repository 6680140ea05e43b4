//! What is appended is there: at once, byte for byte, after a restart, and only for its tenant.

use epitome_core::{Role, Tokens, Usage};
use epitome_ledger::model::{
    ChainHash, Completeness, Expect, NewMessage, NewReply, NewSession, NewTurn, Record, SessionFilter,
    TenantId, TurnId, Until,
};
use epitome_ledger::{LedgerError, Paging};

use crate::support::*;

on_both!(
    a_turn_comes_back_byte_for_byte,
    a_reply_is_a_record_of_its_own,
    a_writer_who_stands_elsewhere_is_refused,
    a_turn_handed_in_twice_is_recorded_once,
    sessions_are_found_and_listed_by_pages,
    what_no_text_column_holds_is_no_obstacle,
    tenants_do_not_meet,
    a_session_survives_reopening_and_packing,
    a_late_reply_belongs_to_its_owner_alone,
    writers_who_know_too_little_look_first,
);

async fn a_turn_comes_back_byte_for_byte(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let bodies: [&[u8]; 4] = [b"", b"{\"a\" : 1,\n \"a\":2}", "žluť 漢字 \u{0}".as_bytes(), &[0xff, 0, 0xfe]];
    let input: Vec<_> = bodies.iter().map(|body| NewMessage::new(Role::User, *body)).collect();
    let turn = NewTurn::of(input.clone());
    let id = turn.id;
    let receipt = ledger.append(ME, expect(&session), vec![turn]).await.unwrap();
    assert_eq!((receipt.head, receipt.turns, receipt.messages), (Some(id), 1, 4));
    assert_eq!(ChainHash::along(input.iter().map(|message| &message.digest)).last(), Some(&receipt.chain));
    let stored = ledger.messages(ME, id, 0..10).await.unwrap();
    assert_eq!(stored.iter().map(|message| message.body.as_slice()).collect::<Vec<_>>(), bodies);
    assert_eq!(ledger.messages(ME, id, 1..3).await.unwrap(), stored[1..3]);
    assert!(stored.iter().all(|message| message.record == Record::Input && message.turn == 0));
}

async fn a_reply_is_a_record_of_its_own(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turn =
        NewTurn { estimated: Some(Tokens(900)), model: Some("m".into()), ..NewTurn::of(vec![user("ask")]) };
    let id = turn.id;
    ledger.append(ME, expect(&session), vec![turn]).await.unwrap();
    let before = ledger.turn(ME, id).await.unwrap();
    assert_eq!((before.end, before.reply.clone()), (1, None));
    let at = Expect { head: Some(id), ..expect(&session) };
    let usage =
        Usage { input: Tokens(800), cache_read: Tokens(150), cache_write: Tokens(0), output: Tokens(50) };
    let reply = NewReply {
        messages: vec![assistant("half an ans")],
        completeness: Completeness::CutOff,
        usage: Some(usage),
        ..NewReply::default()
    };
    let receipt = ledger.reply(ME, at, reply.clone()).await.unwrap();
    assert_eq!(receipt.messages, 2);
    let after = ledger.turn(ME, id).await.unwrap();
    let record = after.reply.clone().unwrap();
    assert_eq!((after.input_end, after.end, record.completeness), (1, 2, Completeness::CutOff));
    assert_eq!(record.usage, Some(usage));
    assert_eq!(ledger.session(ME, session.id).await.unwrap().tokens_used, Tokens(1000));
    assert_eq!(ledger.reply(ME, at, reply).await.unwrap(), receipt, "a lost answer may be asked for again");
    let other = NewReply { messages: vec![assistant("another")], ..NewReply::default() };
    assert!(matches!(ledger.reply(ME, at, other).await, Err(LedgerError::NoReplyDue { .. })));
    let seen = ledger.view(ME, id, Until::Input).await.unwrap();
    assert_eq!(texts(&seen.messages), ["ask"]);
    assert_eq!(texts(&ledger.view(ME, id, Until::Reply).await.unwrap().messages), ["ask", "half an ans"]);
}

async fn a_writer_who_stands_elsewhere_is_refused(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    talk(&ledger, &session, 0..2).await;
    let stale = ledger.append(ME, expect(&session), vec![call("late", "no")]).await;
    assert!(matches!(stale, Err(LedgerError::HeadMoved { expected: None, found: Some(_), .. })), "{stale:?}");
    let nowhere = Expect { session: NewSession::of("x").id, head: None, fence: None };
    let missing = ledger.append(ME, nowhere, vec![call("a", "b")]).await;
    assert!(matches!(missing, Err(LedgerError::NotFound { what: "session", .. })), "{missing:?}");
    assert_eq!(ledger.session(ME, session.id).await.unwrap().messages, 4);
}

async fn a_turn_handed_in_twice_is_recorded_once(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turn = call("ask", "answer");
    let first = ledger.append(ME, expect(&session), vec![turn.clone()]).await.unwrap();
    assert_eq!(ledger.append(ME, expect(&session), vec![turn.clone()]).await.unwrap(), first);
    talk(&ledger, &session, 1..2).await;
    assert_eq!(ledger.append(ME, expect(&session), vec![turn.clone()]).await.unwrap().turns, 2);
    let other = open_session(&ledger).await;
    let taken = ledger.append(ME, expect(&other), vec![turn]).await;
    assert!(matches!(taken, Err(LedgerError::Exists { .. })), "{taken:?}");
    assert_eq!(ledger.session(ME, other.id).await.unwrap(), other, "nothing of it was kept");
    talk(&ledger, &other, 0..1).await;
}

async fn sessions_are_found_and_listed_by_pages(place: Place) {
    let ledger = place.open().await;
    let mut opened = Vec::new();
    for number in 0..7 {
        let agent = if number % 2 == 0 { "even" } else { "odd" };
        let new = NewSession { external: Some(number.to_string()), ..NewSession::of(agent) };
        opened.push(ledger.create_session(ME, new).await.unwrap());
    }
    let found = ledger.find_session(ME, "even", "4").await.unwrap();
    assert_eq!(found.as_ref(), opened.get(4));
    assert_eq!(ledger.find_session(ME, "odd", "4").await.unwrap(), None);
    let again = NewSession { external: Some("4".into()), ..NewSession::of("even") };
    assert!(matches!(ledger.create_session(ME, again).await, Err(LedgerError::Exists { .. })));
    let mut listed = Vec::new();
    let mut paging = Paging::first(3);
    loop {
        let page = ledger.sessions(ME, SessionFilter::default(), paging).await.unwrap();
        listed.extend(page.items);
        let Some(next) = page.next else { break };
        paging = Paging::after(next, 3);
    }
    opened.reverse();
    assert_eq!(listed, opened);
    let odd = SessionFilter { agent: Some("odd".into()), ..SessionFilter::default() };
    let odd = ledger.sessions(ME, odd, Paging::first(10)).await.unwrap();
    assert_eq!(odd.items.len(), 3);
}

async fn what_no_text_column_holds_is_no_obstacle(place: Place) {
    let ledger = place.open().await;
    let odd = "what\0ever";
    let new = NewSession { label: Some(odd.into()), external: Some(odd.into()), ..NewSession::of("agent") };
    let session = ledger.create_session(ME, new).await.unwrap();
    assert_eq!(ledger.find_session(ME, "agent", odd).await.unwrap(), Some(session.clone()));
    let turn = NewTurn { model: Some(odd.into()), ..call(odd, odd) };
    let receipt = ledger.append(ME, expect(&session), vec![turn.clone()]).await.unwrap();
    let stored = ledger.messages(ME, receipt.head.unwrap(), 0..2).await.unwrap();
    assert_eq!(stored[0].body, turn.input[0].body, "what was said is kept whole");
    ledger.put_memo(ME, odd, odd, odd).await.unwrap();
    assert!(ledger.memo(ME, odd, odd).await.unwrap().is_some());
}

async fn tenants_do_not_meet(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..1).await;
    let other: TenantId = "00000000-0000-0000-0000-00000000000b".parse().unwrap();
    assert!(matches!(ledger.session(other, session.id).await, Err(LedgerError::NotFound { .. })));
    assert!(matches!(ledger.turn(other, turns[0]).await, Err(LedgerError::NotFound { .. })));
    assert!(matches!(ledger.view(other, turns[0], Until::Reply).await, Err(LedgerError::NotFound { .. })));
    assert!(matches!(
        ledger.fork(other, turns[0], NewSession::of("x")).await,
        Err(LedgerError::NotFound { .. })
    ));
    let theirs = ledger.create_session(other, NewSession::of("agent")).await.unwrap();
    let stolen = Expect { session: theirs.id, head: Some(turns[0]), fence: None };
    assert!(ledger.append(other, stolen, vec![call("a", "b")]).await.is_err());
    assert_eq!(
        ledger.sessions(other, SessionFilter::default(), Paging::first(9)).await.unwrap().items,
        [theirs]
    );
}

async fn a_session_survives_reopening_and_packing(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let filler = "The quick brown fox jumps over the lazy dog, again and again. ".repeat(20);
    let mut head = TurnId::generate();
    for number in 0..200 {
        let turn = call(&format!("{filler} {number}"), &format!("{number} {filler}"));
        head = turn.id;
        add(&ledger, &session, turn).await;
    }
    let before = ledger.messages(ME, head, 0..400).await.unwrap();
    ledger.pack().await.unwrap();
    assert_eq!(ledger.messages(ME, head, 0..400).await.unwrap(), before);
    ledger.close().await;
    assert!(matches!(ledger.turn(ME, head).await, Err(LedgerError::Closed)));
    let again = place.open().await;
    assert_eq!(again.messages(ME, head, 0..400).await.unwrap(), before);
    assert_eq!(again.session(ME, session.id).await.unwrap().head, Some(head));
    add(&again, &session, call("and on", "it goes")).await;
    let added = again.session(ME, session.id).await.unwrap();
    assert_eq!((added.turns, added.messages), (201, 402));
}

async fn a_late_reply_belongs_to_its_owner_alone(place: Place) {
    let ledger = place.open().await;
    let session = open_session(&ledger).await;
    let asked = NewTurn::of(vec![user("a question")]);
    let id = asked.id;
    ledger.append(ME, expect(&session), vec![asked]).await.unwrap();
    let fork = ledger.fork(ME, id, NewSession::of("agent")).await.unwrap();
    assert_eq!(fork.messages, 1);
    let reply = |text: &str| NewReply { messages: vec![assistant(text)], ..NewReply::default() };
    let at = Expect { session: session.id, head: Some(id), fence: None };
    ledger.reply(ME, at, reply("the answer")).await.unwrap();
    let own = ledger.current_view(ME, session.id).await.unwrap();
    assert_eq!(texts(&own.messages), ["a question", "the answer"]);
    let refused = ledger.reply(ME, expect(&fork), reply("another answer")).await;
    assert!(matches!(refused, Err(LedgerError::NoReplyDue { .. })), "{refused:?}");
    ledger.append(ME, expect(&fork), vec![call("asked again", "answered")]).await.unwrap();
    let other = ledger.current_view(ME, fork.id).await.unwrap();
    assert_eq!(texts(&other.messages), ["a question", "asked again", "answered"]);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
}

// Two ledgers on one database: what the one remembers of a session, the other has overtaken.
async fn writers_who_know_too_little_look_first(place: Place) {
    let (one, other) = (place.open().await, place.open().await);
    let session = open_session(&one).await;
    let first = one.append(ME, expect(&session), vec![call("one", "1")]).await.unwrap();
    let at = |head| Expect { session: session.id, head, fence: None };
    let second = other.append(ME, at(first.head), vec![call("two", "2")]).await.unwrap();
    let stale = one.append(ME, at(first.head), vec![call("three", "3")]).await;
    assert!(matches!(stale, Err(LedgerError::HeadMoved { .. })), "{stale:?}");
    let third = one.append(ME, at(second.head), vec![NewTurn::of(vec![user("three")])]).await.unwrap();
    let answer = NewReply { messages: vec![assistant("3")], ..NewReply::default() };
    other.reply(ME, at(third.head), answer.clone()).await.unwrap();
    // The reply was recorded by the other one; handed in again it is the same, another one is refused.
    let again = one.reply(ME, at(third.head), answer).await.unwrap();
    assert_eq!(again.messages, 6);
    let late = NewReply { messages: vec![assistant("4")], ..NewReply::default() };
    assert!(matches!(one.reply(ME, at(third.head), late).await, Err(LedgerError::NoReplyDue { .. })));
    let fourth = one.append(ME, at(third.head), vec![call("four", "4")]).await.unwrap();
    let view = other.current_view(ME, session.id).await.unwrap();
    assert_eq!(texts(&view.messages), ["one", "1", "two", "2", "three", "3", "four", "4"]);
    let mut doubled = call("five", "5");
    doubled.id = fourth.head.unwrap();
    let elsewhere = open_session(&one).await;
    let refused = one.append(ME, expect(&elsewhere), vec![doubled.clone()]).await;
    assert!(matches!(refused, Err(LedgerError::Exists { .. })), "{refused:?}");
    doubled.id = TurnId::generate();
    one.append(ME, expect(&elsewhere), vec![doubled.clone()]).await.unwrap();
    let third_one = open_session(&one).await;
    let refused = one.append(ME, expect(&third_one), vec![doubled]).await;
    assert!(matches!(refused, Err(LedgerError::Exists { .. })), "{refused:?}");
    assert_eq!(other.doctor().await.unwrap().findings, []);
    one.close().await;
    other.close().await;
}
