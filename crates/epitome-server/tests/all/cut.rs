//! Replies that are cut off, and clients that make their history smaller by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use epitome::Dialect;
use epitome::ledger::model::EventFilter;
use epitome::ledger::{Ledger, Options, Paging};
use serde_json::{Value, json};

use crate::house::{Agent, House, header, recorded};
use crate::support::run;
use crate::upstream::{Act, Reply, Upstream};

const LONG: &str =
    "The lighthouse was built of granite and copper, and its lamp was lit by hand each evening.";

/// A server that cuts off the reply to the second request.
fn cutting() -> Upstream {
    let calls = Arc::new(AtomicUsize::new(0));
    Upstream::scripted(move |_, _| match calls.fetch_add(1, Ordering::Relaxed) {
        1 => Act::Cut(Reply::new(LONG)),
        number => Act::say(&format!("Answer {number}.")),
    })
}

async fn streamed(agent: &Agent) -> (reqwest::header::HeaderMap, String) {
    let (url, mut body) = agent.request();
    body["stream"] = json!(true);
    let mut response = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    let headers = response.headers().clone();
    let mut text = String::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    (headers, text)
}

#[test]
fn a_call_that_is_made_again_after_its_reply_was_cut_is_the_same_turn() {
    run(async {
        for dialect in Dialect::ALL {
            let house = House::new(cutting(), |_| {}).await;
            let mut agent = Agent::new(&house, dialect);
            agent.say("Good day.").await;
            agent.history.push(json!({"role": "user", "content": "Tell me of the lighthouse."}));
            let (cut, text) = streamed(&agent).await;
            assert!(text.contains("lighthouse") && !text.contains("evening"), "{dialect}: {text}");
            let (again, status, answer) = agent.call().await;
            assert_eq!(status, 200, "{dialect}");
            for name in ["x-epitome-session", "x-epitome-turn"] {
                assert_eq!(header(&again, name), header(&cut, name), "{dialect}: {name}");
            }
            match dialect {
                Dialect::Anthropic => {
                    agent.history.push(json!({"role": "assistant", "content": answer["content"]}));
                }
                Dialect::Chat => agent.history.push(answer["choices"][0]["message"].clone()),
                _ => agent.history.extend(answer["output"].as_array().cloned().unwrap()),
            }
            let (on, _) = agent.say("Thank you.").await;
            assert_eq!(header(&on, "x-epitome-session"), header(&cut, "x-epitome-session"), "{dialect}");
            let session = header(&cut, "x-epitome-session").to_owned();
            let all = house.recorded().await;
            let (_, whole) = all.iter().find(|(one, _)| one.id.to_string() == session).unwrap();
            assert!(whole.contains("Answer 2.") && !whole.contains("granite"), "{dialect}: {whole}");
            // What had come of the first attempt is not lost: it stands beside.
            let beside = all.iter().filter(|(one, whole)| {
                one.id.to_string() != session && whole.contains("granite") && one.origin.is_some()
            });
            // The scripted server does not name the items of Responses, so that nothing is left of a half.
            let halves = usize::from(dialect != Dialect::Responses);
            assert_eq!((beside.count(), all.len()), (halves, halves + 1), "{dialect}");
        }
    });
}

#[test]
fn whoever_goes_on_with_what_was_cut_goes_on_in_the_same_session() {
    run(async {
        for part in ["The lighthouse was built", "The lighthouse was built of granite and copper,"] {
            let house = House::new(cutting(), |_| {}).await;
            let mut agent = Agent::new(&house, Dialect::Anthropic);
            agent.say("Good day.").await;
            agent.history.push(json!({"role": "user", "content": "Tell me of the lighthouse."}));
            let (cut, _) = streamed(&agent).await;
            agent.history.push(json!({"role": "assistant", "content": part}));
            let (on, _) = agent.say("That will do.").await;
            assert_eq!(header(&on, "x-epitome-session"), header(&cut, "x-epitome-session"), "{part}");
            // Also where nobody remembers it but the ledger.
            let (folder, upstream) = house.close().await;
            let house = House::at(folder, upstream, |_| {}).await;
            agent.url.clone_from(&house.url);
            let (later, _) = agent.say("Really.").await;
            assert_eq!(header(&later, "x-epitome-session"), header(&cut, "x-epitome-session"), "{part}");
            let all = house.recorded().await;
            let [(session, whole)] = all.as_slice() else { panic!("{part}: {}", all.len()) };
            assert_eq!(session.messages, 8, "{part}");
            assert!(whole.contains("granite"), "{part}: as much as came is recorded: {whole}");
        }
    });
}

#[test]
fn what_was_cut_and_never_asked_for_again_stands_where_it_was_said() {
    run(async {
        let house = House::new(cutting(), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.say("Good day.").await;
        agent.history.push(json!({"role": "user", "content": "Tell me of the lighthouse."}));
        streamed(&agent).await;
        let all = house.recorded().await;
        let [(session, whole)] = all.as_slice() else { panic!("{}", all.len()) };
        assert_eq!(session.messages, 4);
        assert!(whole.contains("The lighthouse was built"), "{whole}");
    });
}

#[test]
fn a_client_that_makes_its_history_smaller_is_recorded_as_such() {
    run(async {
        let named = |house: &House, session: &str| {
            let mut agent = Agent::new(house, Dialect::Anthropic);
            agent.headers.push(("x-claude-code-session-id", session.to_owned()));
            agent
        };
        let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
        let mut agent = named(&house, "s1");
        agent.say("Let us build a lighthouse.").await;
        for step in [
            "The foundation is granite from the northern quarry.",
            "The lantern gallery wants copper sheeting, see plans/gallery.dxf.",
            "Schedule the inspection with harbourmaster Lindqvist for 2031-04-17.",
        ] {
            agent.say(step).await;
        }
        let (first, _) = agent.say("And on.").await;
        // An agent of the same kind with an errand of its own, and a fresh start, are conversations of their own.
        for errand in ["Let us build a windmill, with wooden machinery and canvas sails.", "Good evening."] {
            let (own, _) = named(&house, "s1").say(errand).await;
            assert_eq!(header(&own, "x-epitome-compaction"), "none", "{errand}");
            let (back, _) = agent.say("Anything else?").await;
            assert_eq!(header(&back, "x-epitome-session"), header(&first, "x-epitome-session"));
        }
        let summary = "This session is continued from an earlier one. Summary: the lighthouse has a foundation of granite from \
            the northern quarry; copper sheeting for the lantern gallery (plans/gallery.dxf); the inspection with harbourmaster \
            Lindqvist is on 2031-04-17.";
        let mut smaller = named(&house, "s1");
        let (after, _) = smaller.say(summary).await;
        assert_eq!(header(&after, "x-epitome-compaction"), "by the client");
        assert_ne!(header(&after, "x-epitome-session"), header(&first, "x-epitome-session"));
        let (on, _) = smaller.say("Go on.").await;
        assert_eq!(header(&on, "x-epitome-session"), header(&after, "x-epitome-session"));
        assert_eq!(header(&on, "x-epitome-compaction"), "none");
        // Another session of the client, and one with other instructions, are conversations of their own.
        let (other, _) = named(&house, "s2").say("Something else.").await;
        assert_eq!(header(&other, "x-epitome-compaction"), "none");
        let body = json!({"model": "m", "max_tokens": 9, "system": "Write a title.",
            "messages": [{"role": "user", "content": "Title, please."}]});
        let titled = reqwest::Client::new().post(format!("{}/v1/messages", house.url)).json(&body);
        let titled = titled.header("x-claude-code-session-id", "s1").send().await.unwrap();
        assert_eq!(header(titled.headers(), "x-epitome-compaction"), "none");
        let (folder, _upstream) = house.close().await;
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        let page =
            ledger.events(epitome::TenantId::LOCAL, EventFilter::default(), Paging::first(10)).await.unwrap();
        let [event] = page.items.as_slice() else { panic!("{:?}", page.items) };
        let told: Value = serde_json::from_slice(&event.payload).unwrap();
        assert_eq!(told["event"], "compacted_by_client");
        assert_eq!(told["from"], header(&first, "x-epitome-session"));
        assert_eq!(told["to"], header(&after, "x-epitome-session"));
        ledger.close().await;
        assert_eq!(recorded(&address).await.len(), 6);
    });
}
