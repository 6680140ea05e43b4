//! Conversations of clients that send everything with every call: where they are found, and how they go on.

use epitome::ledger::model::ChainHash;
use epitome::{Arrival, Arrived, Compact, Course, Engine, Error, Input, Reply, SessionId, ToSend, Tokens};

use crate::support::{Place, on_both, prose};

on_both!(
    a_conversation_is_found_by_what_was_said,
    what_was_edited_or_rewound_becomes_a_fork,
    a_call_is_made_again_or_once_more,
    names_keep_equal_openings_apart,
    a_session_that_is_named_decides,
    what_was_missed_is_recorded_in_its_place,
    a_reply_in_other_words_is_the_same_reply,
    results_between_calls_stand_behind_them,
    a_reply_that_said_nothing_may_be_left_out,
    the_end_of_a_reply_that_says_nothing_may_be_left_out,
    of_equal_arrivals_one_opens_the_session,
    compactions_stand_where_they_stood,
    what_is_said_is_recorded_while_it_is_sent,
    who_stands_elsewhere_records_nothing,
);

fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

fn model(text: &str) -> String {
    format!(r#"{{"role":"assistant","content":"{text}"}}"#)
}

async fn arrive(engine: &Engine, messages: &[String], retry: bool) -> Arrived {
    let messages = messages.iter().map(String::as_str).collect();
    engine.arrive(&Arrival { messages, is_retry: retry, ..Arrival::default() }).await.unwrap()
}

// A conversation with so many questions that were answered.
async fn held(engine: &Engine, questions: usize) -> (Vec<String>, Arrived) {
    let mut said = vec![user("question 0")];
    let mut arrived = arrive(engine, &said, false).await;
    for number in 0..questions {
        let answer = model(&format!("answer {number}"));
        arrived.session.reply_behind(arrived.chain, Reply::json(answer.as_str())).await.unwrap();
        said.extend([answer, user(&format!("question {}", number + 1))]);
        arrived = arrive(engine, &said, false).await;
    }
    (said, arrived)
}

async fn a_conversation_is_found_by_what_was_said(place: Place) {
    let engine = place.engine().await;
    let first = arrive(&engine, &[user("question 0")], false).await;
    assert_eq!((first.course, first.ordinals.as_slice()), (Course::New, &[0][..]));
    let id = first.session.id();
    first.session.reply_behind(first.chain, Reply::json(model("answer 0"))).await.unwrap();
    let said = [user("question 0"), model("answer 0"), user("question 1")];
    let second = arrive(&engine, &said, false).await;
    assert_eq!((second.course, second.session.id()), (Course::Continued, id));
    // After a restart, and written in other bytes of the same content.
    let engine = place.engine().await;
    second.session.reply_behind(second.chain, Reply::json(model("answer 1"))).await.unwrap();
    let block = |text: &str| {
        format!(
            r#"{{"content":[{{"cache_control":{{"type":"ephemeral"}},"type":"text","text":"{text}"}}],"role":"user"}}"#
        )
    };
    let again =
        [block("question 0"), model("answer 0"), block("question 1"), model("answer 1"), user("question 2")];
    let third = arrive(&engine, &again, false).await;
    assert_eq!((third.course, third.session.id()), (Course::Continued, id));
    assert_eq!(third.session.info().await.unwrap().messages, 5);
    assert_eq!(third.turn, third.session.info().await.unwrap().head.unwrap());
}

async fn what_was_edited_or_rewound_becomes_a_fork(place: Place) {
    let engine = place.engine().await;
    let (said, last) = held(&engine, 4).await;
    // The second question is put otherwise.
    let edited = [said[0].clone(), said[1].clone(), user("question one")];
    let fork = arrive(&engine, &edited, false).await;
    assert_eq!(fork.course, Course::Forked);
    assert_ne!(fork.session.id(), last.session.id());
    let info = fork.session.info().await.unwrap();
    assert_eq!((info.origin.unwrap().session, info.messages), (last.session.id(), 3));
    // An answer is put otherwise: the question before it is asked again, in the fork.
    let rewritten = [said[0].clone(), said[1].clone(), said[2].clone(), model("answer one"), user("so?")];
    let other = arrive(&engine, &rewritten, false).await;
    assert_eq!((other.course, other.ordinals.len()), (Course::Forked, 5));
    assert_eq!(
        other.session.export(epitome::Dialect::Anthropic).await.unwrap(),
        format!("[{}]", rewritten.join(","))
    );
    // The first conversation goes on as if nothing had happened.
    last.session.reply_behind(last.chain, Reply::json(model("answer 4"))).await.unwrap();
    let on: Vec<String> = said.into_iter().chain([model("answer 4"), user("question 5")]).collect();
    let on = arrive(&engine, &on, false).await;
    assert_eq!((on.course, on.session.id()), (Course::Continued, last.session.id()));
}

async fn a_call_is_made_again_or_once_more(place: Place) {
    let engine = place.engine().await;
    let (said, last) = held(&engine, 2).await;
    let again = arrive(&engine, &said, true).await;
    assert_eq!((again.course, again.turn), (Course::Retried, last.turn));
    assert_eq!(again.session.id(), last.session.id());
    // Nobody says that it is a retry: it is made once more beside the other.
    let beside = arrive(&engine, &said, false).await;
    assert_eq!(beside.course, Course::Resampled);
    assert_ne!((beside.session.id(), beside.turn), (last.session.id(), last.turn));
    beside.session.reply_behind(beside.chain, Reply::json(model("two"))).await.unwrap();
    // What was answered is never answered again in the same place.
    last.session.reply_behind(last.chain, Reply::json(model("one"))).await.unwrap();
    let more = arrive(&engine, &said, true).await;
    assert_eq!(more.course, Course::Resampled);
    more.session.reply_behind(more.chain, Reply::json(model("other"))).await.unwrap();
    for (answer, session) in [("one", &last.session), ("other", &more.session)] {
        let on: Vec<String> = said.iter().cloned().chain([model(answer), user("thanks")]).collect();
        let on = arrive(&engine, &on, false).await;
        assert_eq!((on.course, on.session.id()), (Course::Continued, session.id()), "{answer}");
    }
}

async fn names_keep_equal_openings_apart(place: Place) {
    let engine = place.engine().await;
    let opening = user("hello");
    let named = |name: &'static str, messages: &[String]| {
        let (engine, messages) = (engine.clone(), messages.to_vec());
        async move {
            let messages = messages.iter().map(String::as_str).collect();
            let arrival = Arrival { messages, name: Some(name), is_retry: true, ..Arrival::default() };
            engine.arrive(&arrival).await.unwrap()
        }
    };
    let left = named("left", std::slice::from_ref(&opening)).await;
    let right = named("right", std::slice::from_ref(&opening)).await;
    assert_eq!((left.course, right.course), (Course::New, Course::New));
    for (session, answer) in [(&left, "one"), (&right, "two")] {
        session.session.reply_behind(session.chain, Reply::json(model(answer))).await.unwrap();
    }
    let on = [opening.clone(), model("two"), user("more")];
    assert_eq!(named("right", &on).await.session.id(), right.session.id());
    // A conversation that is resumed under another name goes on from where it was.
    let resumed = named("third", &[opening, model("one"), user("on")]).await;
    assert_eq!(resumed.course, Course::Forked);
    let info = resumed.session.info().await.unwrap();
    assert_eq!((info.origin.unwrap().session, info.channel.as_deref()), (left.session.id(), Some("third")));
}

async fn what_was_missed_is_recorded_in_its_place(place: Place) {
    let engine = place.engine().await;
    let first = arrive(&engine, &[user("question 0")], false).await;
    // The reply never passed by, and neither did the call behind it.
    let said =
        [user("question 0"), model("answer 0"), user("question 1"), model("answer 1"), user("question 2")];
    let on = arrive(&engine, &said, false).await;
    assert_eq!((on.course, on.session.id()), (Course::Continued, first.session.id()));
    let info = on.session.info().await.unwrap();
    assert_eq!((info.messages, info.turns), (5, 3));
    // A client that is met in the middle of a conversation, and wants its last words continued.
    let met = [user("a"), model("b"), user("c"), model("d, and")];
    let met = arrive(&engine, &met, false).await;
    assert_eq!((met.course, met.ordinals.len()), (Course::New, 3));
    let only_the_model = model("b");
    let nothing = Arrival { messages: vec![&only_the_model], ..Arrival::default() };
    assert!(matches!(engine.arrive(&nothing).await, Err(Error::Empty)));
}

async fn a_session_that_is_named_decides(place: Place) {
    let engine = place.engine().await;
    let thought = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"answer 0"}]}"#;
    let opening = user("question 0");
    let left = arrive(&engine, std::slice::from_ref(&opening), false).await;
    left.session.reply_behind(left.chain, Reply::json(thought)).await.unwrap();
    let said = [opening.clone(), model("answer 0"), user("question 1")];
    let left = arrive(&engine, &said, false).await.session;
    // Another session has the words that the client keeps, and more of them.
    let said = [opening, model("answer 0"), user("other"), model("so"), user("more")];
    let messages: Vec<&str> = said.iter().map(String::as_str).collect();
    let named = |count: usize, session, name| Arrival {
        messages: messages[..count].to_vec(),
        session,
        name,
        is_retry: true,
        ..Arrival::default()
    };
    let right = engine.arrive(&named(1, None, Some("right"))).await.unwrap();
    right.session.reply_behind(right.chain, Reply::json(model("answer 0"))).await.unwrap();
    let right = engine.arrive(&named(3, None, Some("right"))).await.unwrap();
    right.session.reply_behind(right.chain, Reply::json(model("so"))).await.unwrap();
    // The reply that the client has in other words is that of the session that it names.
    let fork = engine.arrive(&named(5, Some(left.id()), None)).await.unwrap();
    let info = fork.session.info().await.unwrap();
    assert_eq!((fork.course, fork.is_elsewhere), (Course::Forked, false));
    assert_eq!(info.origin.map(|origin| (origin.session, origin.messages)), Some((left.id(), 2)));
    assert!(fork.session.export(epitome::Dialect::Anthropic).await.unwrap().contains("hm"));
    // Whoever goes on naming it goes on in the fork.
    let again = engine.arrive(&named(5, Some(left.id()), None)).await.unwrap();
    assert_eq!((again.course, again.session.id()), (Course::Retried, fork.session.id()));
    let none = engine.arrive(&named(5, Some(SessionId::generate()), Some("right"))).await.unwrap();
    assert_eq!((none.session.id(), none.is_elsewhere), (right.session.id(), true));
}

async fn a_reply_in_other_words_is_the_same_reply(place: Place) {
    let engine = place.engine().await;
    let mut said = vec![user("question 0")];
    let mut arrived = arrive(&engine, &said, false).await;
    let id = arrived.session.id();
    for number in 0..3 {
        let reply = format!(
            r#"{{"role":"assistant","content":[{{"type":"thinking","thinking":"hm","signature":"s"}},{{"type":"text","text":"answer {number}"}}]}}"#
        );
        arrived.session.reply_behind(arrived.chain, Reply::json(reply)).await.unwrap();
        // The client keeps the words and drops the thoughts.
        said.extend([model(&format!("answer {number}")), user(&format!("question {}", number + 1))]);
        arrived = arrive(&engine, &said, false).await;
        assert_eq!((arrived.course, arrived.session.id()), (Course::Continued, id), "{number}");
    }
    assert_eq!(arrived.ordinals, [0, 1, 2, 3, 4, 5, 6]);
    assert!(
        arrived.session.export(epitome::Dialect::Anthropic).await.unwrap().contains("hm"),
        "the ledger has all of it"
    );
}

async fn a_reply_that_said_nothing_may_be_left_out(place: Place) {
    let engine = place.engine().await;
    let first = arrive(&engine, &[user("question 0")], false).await;
    let thought = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}]}"#;
    first.session.reply_behind(first.chain, Reply::json(thought)).await.unwrap();
    // Without it the conversation is another one, and is found again as such.
    let mut said = vec![user("question 0"), user("question 1")];
    let other = arrive(&engine, &said, false).await;
    other.session.reply_behind(other.chain, Reply::json(model("answer 1"))).await.unwrap();
    said.extend([model("answer 1"), user("question 2")]);
    let on = arrive(&engine, &said, false).await;
    assert_eq!((on.course, on.session.id()), (Course::Continued, other.session.id()));
}

async fn the_end_of_a_reply_that_says_nothing_may_be_left_out(place: Place) {
    let engine = place.builder().dialect(epitome::Dialect::Responses).build().await.unwrap();
    let mut said = vec![user("question 0")];
    let first = arrive(&engine, &said, false).await;
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#;
    let reply = Input::json(model("answer 0")).and(Input::json(reasoning));
    first.session.reply_behind(first.chain, Reply { messages: reply, ..Reply::default() }).await.unwrap();
    said.extend([model("answer 0"), user("question 1")]);
    let second = arrive(&engine, &said, false).await;
    assert_eq!((second.course, second.session.id()), (Course::Continued, first.session.id()));
    assert_eq!(second.ordinals, [0, 1, 3]);
    second.session.reply_behind(second.chain, Reply::json(model("answer 1"))).await.unwrap();
    said.extend([model("answer 1"), user("question 2")]);
    // Also by who has not seen any of it before.
    for engine in [engine, place.builder().dialect(epitome::Dialect::Responses).build().await.unwrap()] {
        let third = arrive(&engine, &said, true).await;
        assert_eq!(third.session.id(), first.session.id());
        assert_eq!(third.ordinals, [0, 1, 3, 4, 5]);
    }
}

/// Clients of Responses drop reasoning, and put results between the calls of one reply.
async fn results_between_calls_stand_behind_them(place: Place) {
    let engine = place.builder().dialect(epitome::Dialect::Responses).build().await.unwrap();
    let call =
        |id: &str| format!(r#"{{"type":"function_call","call_id":"{id}","name":"look","arguments":"{{}}"}}"#);
    let result =
        |id: &str| format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"seen {id}"}}"#);
    let mut said = vec![user("Look twice.")];
    let first = arrive(&engine, &said, false).await;
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#;
    let reply = Input::json(reasoning).and(Input::json(call("a"))).and(Input::json(call("b")));
    first.session.reply_behind(first.chain, Reply { messages: reply, ..Reply::default() }).await.unwrap();
    said.extend([call("a"), result("a"), call("b"), result("b")]);
    let second = arrive(&engine, &said, false).await;
    assert_eq!((second.course, second.session.id()), (Course::Continued, first.session.id()));
    assert_eq!(second.ordinals, [0, 2, 4, 3, 5]);
    second.session.reply_behind(second.chain, Reply::json(model("Done."))).await.unwrap();
    said.extend([model("Done."), user("Thanks.")]);
    let third = arrive(&engine, &said, false).await;
    assert_eq!((third.course, third.session.id()), (Course::Continued, first.session.id()));
    assert_eq!(third.ordinals, [0, 2, 4, 3, 5, 6, 7]);
}

async fn of_equal_arrivals_one_opens_the_session(place: Place) {
    let engines = [place.engine().await, place.engine().await];
    let said = [user("x"), model("y"), user("z")];
    let all = (0..8).map(|number| {
        let (engine, said) = (engines[number % 2].clone(), said.clone());
        tokio::spawn(async move { arrive(&engine, &said, true).await })
    });
    let mut ids = Vec::new();
    for one in all.collect::<Vec<_>>() {
        ids.push(one.await.unwrap().session.id());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

async fn compactions_stand_where_they_stood(place: Place) {
    let engine = place.engine().await;
    let (mut said, mut last) = held(&engine, 1).await;
    for number in 0..6 {
        let answer = model(&prose(number, 800));
        last.session.reply_behind(last.chain, Reply::json(answer.as_str())).await.unwrap();
        said.extend([answer, user(&format!("and {number}?"))]);
        last = arrive(&engine, &said, false).await;
    }
    let done = last.session.compact(Compact::now().within(Tokens(1_200))).await.unwrap();
    assert!(done.is_done());
    let sent = last.session.peek().await.unwrap().to_json();
    // Behind the question, the call is made again and once more: what was sent is sent.
    let again = arrive(&engine, &said, true).await;
    assert_eq!((again.course, again.turn), (Course::Retried, last.turn));
    let beside = arrive(&engine, &said, false).await;
    assert_eq!(beside.course, Course::Resampled);
    assert_eq!(beside.session.peek().await.unwrap().to_json(), sent);
    // The answer goes on both ways.
    last.session.reply_behind(last.chain, Reply::json(model("done"))).await.unwrap();
    said.extend([model("done"), user("next")]);
    let on = arrive(&place.engine().await, &said, false).await;
    assert_eq!((on.course, on.session.id()), (Course::Continued, last.session.id()));
    let now = on.session.peek().await.unwrap().to_json();
    assert_eq!(now, format!("{},{},{}]", sent.trim_end_matches(']'), model("done"), user("next")));
}

async fn what_is_said_is_recorded_while_it_is_sent(place: Place) {
    let engine = place.engine().await;
    let (_, last) = held(&engine, 1).await;
    let receipt = last.session.reply_behind(last.chain, Reply::json(model("yes"))).await.unwrap();
    let said = last.session.say(receipt.chain, Input::json(user("on"))).await.unwrap();
    assert!(matches!(said.send, ToSend::AsSaid));
    let turn = said.turn;
    let receipt = said.recorded().await.unwrap();
    assert_eq!(receipt.head, Some(turn));
    // Behind a compaction, what precedes the input is what was made of it.
    last.session.reply_behind(receipt.chain, Reply::json(model(&prose(1, 2_000)))).await.unwrap();
    last.session.compact(Compact::now().within(Tokens(700))).await.unwrap();
    let before = last.session.peek().await.unwrap().to_json();
    let chain = last.session.info().await.unwrap().chain;
    let said = last.session.say(chain, Input::json(user("what now?"))).await.unwrap();
    let ToSend::Behind(context) = &said.send else { panic!("{:?}", said.send) };
    assert_eq!(context.to_json(), before);
    said.recorded().await.unwrap();
    let whole = last.session.peek().await.unwrap().to_json();
    assert_eq!(whole, format!("{},{}]", before.trim_end_matches(']'), user("what now?")));
    // Where something is due, it is done first.
    let chain = last.session.reply(Reply::json(model("fine"))).await.unwrap().chain;
    let said = last.session.say(chain, Input::json(user(&prose(7, 60_000)))).await.unwrap();
    let ToSend::Whole(context) = &said.send else { panic!("{:?}", said.send) };
    assert!(context.pressure.tokens <= context.pressure.marks.input);
}

async fn who_stands_elsewhere_records_nothing(place: Place) {
    let engine = place.engine().await;
    let (_, last) = held(&engine, 1).await;
    let before = last.session.info().await.unwrap();
    let elsewhere = last.session.say(ChainHash::ROOT, Input::json(user("no"))).await;
    assert!(matches!(elsewhere.map(|_| ()), Err(Error::Moved)));
    let reply = last.session.reply_behind(ChainHash::ROOT, Reply::json(model("no"))).await;
    assert!(matches!(reply, Err(Error::Moved)));
    assert_eq!(last.session.info().await.unwrap(), before);
    // Another process went on meanwhile.
    let other = place.engine().await.resume(last.session.id()).await.unwrap();
    other.reply_behind(last.chain, Reply::json(model("mine"))).await.unwrap();
    let late = last.session.reply_behind(last.chain, Reply::json(model("yours"))).await;
    assert!(matches!(late, Err(Error::Moved)), "{late:?}");
}
