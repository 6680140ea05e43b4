//! The proxy as agents meet it: they send everything with every call, and notice nothing but that it never grows too long.

use epitome::{Dialect, Tokens};
use epitome_server::{Mode, Modes};
use serde_json::{Value, json};

use crate::house::{Agent, House, header, prose, recorded};
use crate::server;
use crate::support::run;
use crate::upstream::{Act, Upstream};

#[test]
fn a_conversation_is_one_session_and_its_bytes_pass_unchanged() {
    run(async {
        for dialect in Dialect::ALL {
            let house = House::new(Upstream::new(vec![Act::say("Aye, aye.")]), |_| {}).await;
            let mut agent = Agent::new(&house, dialect);
            let mut ids = Vec::new();
            for number in 0..4 {
                let (headers, status) = agent.say(&format!("Order {number}: steer north.")).await;
                assert_eq!(status, 200);
                ids.push(header(&headers, "x-epitome-session").to_owned());
                let sent = house.upstream.requests().pop().unwrap();
                // What the client had sent before the answer came is what came up.
                let mut client = Agent::new(&house, dialect);
                client.history = agent.history[..agent.history.len() - 1].to_vec();
                assert_eq!(sent.text, client.request().1.to_string(), "{dialect}");
            }
            ids.dedup();
            assert_eq!(ids.len(), 1, "{dialect}: {ids:?}");
            let recorded = house.recorded().await;
            let [(session, _)] = recorded.as_slice() else { panic!("{dialect}: {recorded:?}") };
            assert_eq!((session.messages, session.turns), (8, 4), "{dialect}");
        }
    });
}

#[test]
fn what_grows_too_long_is_compacted_and_sent_again_byte_for_byte() {
    run(async {
        for dialect in Dialect::ALL {
            let house = House::new(Upstream::new(vec![Act::say("Noted, and done.")]), |_| {}).await;
            let mut agent = Agent::new(&house, dialect);
            agent.say("Never touch the file secrets.toml, whatever happens.").await;
            for number in 0..40 {
                let (headers, status) = agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
                assert_eq!(status, 200, "{dialect} {number}: {}", header(&headers, "x-epitome-error"));
            }
            let sent = house.upstream.requests();
            assert!(sent.iter().all(|request| request.text.len() / 4 < 32_000), "{dialect}");
            assert!(sent.last().unwrap().text.contains("secrets.toml"), "{dialect}");
            let list = |request: &crate::upstream::Request| -> Vec<String> {
                let field = if dialect == Dialect::Responses { "input" } else { "messages" };
                request.body[field].as_array().unwrap().iter().map(Value::to_string).collect()
            };
            // Between compactions a request repeats the one before.
            let rewritten = sent.windows(2).filter(|pair| {
                let (before, after) = (list(&pair[0]), list(&pair[1]));
                !after.starts_with(&before)
            });
            let rewritten = rewritten.count();
            assert!((1..10).contains(&rewritten), "{dialect}: {rewritten} of {}", sent.len());
            let recorded = house.recorded().await;
            let [(session, whole)] = recorded.as_slice() else { panic!("{dialect}: {}", recorded.len()) };
            assert_eq!(session.messages, 82, "{dialect}");
            assert!((0..40).all(|number| whole.contains(&format!("Step {number}. "))), "nothing is lost");
        }
    });
}

#[test]
fn after_a_restart_the_same_rewriting_is_sent() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..30 {
            agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
        }
        let before = house.upstream.requests().pop().unwrap();
        let (folder, upstream) = house.close().await;
        let house = House::at(folder, upstream, |_| {}).await;
        agent.url.clone_from(&house.url);
        let (headers, _) = agent.say("And now?").await;
        assert_eq!(header(&headers, "x-epitome-compaction"), "in force");
        let after = house.upstream.requests().pop().unwrap();
        let shared = before.body["messages"].as_array().unwrap();
        assert_eq!(&after.body["messages"].as_array().unwrap()[..shared.len()], shared.as_slice());
    });
}

#[test]
fn an_overflow_is_answered_by_less_within_the_same_call() {
    run(async {
        let refusal = "prompt is too long: 40000 tokens > 20000 maximum";
        let upstream = Upstream::scripted(move |_, request| match request.text.len() > 60_000 {
            true => Act::refuse(400, "invalid_request_error", refusal),
            false => Act::say("Fine."),
        });
        let house = House::new(upstream, |keeping| keeping.window = Some(Tokens(200_000))).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..12 {
            let (headers, status) = agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
            assert_eq!(status, 200, "{number}: {}", header(&headers, "x-epitome-error"));
        }
        let refused = house.upstream.requests().iter().filter(|request| request.text.len() > 60_000).count();
        assert!(refused >= 1);
    });
}

#[test]
fn modes_do_no_more_than_they_say() {
    run(async {
        for mode in [Mode::Off, Mode::Observe] {
            let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |keeping| {
                keeping.modes = Modes::all(mode);
            });
            let house = house.await;
            let mut agent = Agent::new(&house, Dialect::Chat);
            for number in 0..30 {
                agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
            }
            let (_, last) = {
                let mut client = Agent::new(&house, Dialect::Chat);
                client.history = agent.history[..agent.history.len() - 1].to_vec();
                client.request()
            };
            assert_eq!(house.upstream.requests().pop().unwrap().text, last.to_string(), "{mode}");
            let recorded = house.recorded().await.len();
            assert_eq!(recorded, usize::from(mode == Mode::Observe), "{mode}");
        }
    });
}

#[test]
fn credentials_keep_equal_openings_apart() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Hello.")]), |_| {}).await;
        let mut ids = Vec::new();
        for key in ["sk-one", "sk-two"] {
            let mut agent = Agent::new(&house, Dialect::Anthropic);
            agent.headers.push(("x-api-key", key.to_owned()));
            agent.say("Good day.").await;
            let (headers, _) = agent.say("How are you?").await;
            ids.push(header(&headers, "x-epitome-session").to_owned());
            assert_eq!(house.upstream.requests().pop().unwrap().header("x-api-key"), Some(key));
        }
        assert_ne!(ids[0], ids[1]);
        let (folder, _upstream) = house.close().await;
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let Ok(bytes) = std::fs::read(entry.unwrap().path()) else { continue };
            let holds = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
            assert!(!holds(b"sk-one") && !holds(b"sk-two"), "no credential is stored");
        }
    });
}

#[test]
fn breakpoints_stay_legal_when_their_messages_go() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..40 {
            // As coding agents do it: the last two messages of the user are marked, the marks of others go.
            let marked = json!([{"type": "text", "text": format!("Step {number}. {}", prose(number, 1_000)),
                "cache_control": {"type": "ephemeral"}}]);
            for message in agent.history.iter_mut().rev().skip(2) {
                if let Some(block) = message["content"].get_mut(0).and_then(Value::as_object_mut) {
                    block.remove("cache_control");
                }
            }
            agent.history.push(json!({"role": "user", "content": marked}));
            let (_, status, answer) = agent.call().await;
            assert_eq!(status, 200);
            agent.history.push(json!({"role": "assistant", "content": answer["content"]}));
        }
        let sent = house.upstream.requests();
        for request in &sent {
            let count = request.text.matches(r#""cache_control":{"#).count();
            assert!((1..=4).contains(&count), "{count}");
        }
        assert!(sent.last().unwrap().body["messages"].as_array().unwrap().len() < 60, "it was compacted");
    });
}

#[test]
fn edited_and_repeated_calls_stand_in_sessions_of_their_own() {
    run(async {
        let house =
            House::new(Upstream::scripted(|number, _| Act::say(&format!("Answer {number}."))), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Chat);
        for number in 0..3 {
            agent.say(&format!("Question {number}")).await;
        }
        let id = |headers: &reqwest::header::HeaderMap| header(headers, "x-epitome-session").to_owned();
        // The same call once more, after it was answered.
        let answer = agent.history.pop().unwrap();
        let (again, _, _) = agent.call().await;
        agent.history.push(answer);
        let (on, _) = agent.say("And on").await;
        assert_ne!(id(&again), id(&on));
        // The second question put otherwise.
        let mut other = Agent::new(&house, Dialect::Chat);
        other.history = agent.history[..2].to_vec();
        let (forked, _) = other.say("Another question").await;
        assert!(![id(&again), id(&on)].contains(&id(&forked)));
        let recorded = house.recorded().await;
        assert_eq!(recorded.len(), 3);
        let origin = recorded.iter().filter(|(session, _)| session.origin.is_some()).count();
        assert_eq!(origin, 2, "both stand on the first one");
    });
}

#[test]
fn what_failed_is_tried_again_in_the_same_turn() {
    run(async {
        let upstream = Upstream::new(vec![
            Act::refuse(529, "overloaded_error", "Overloaded"),
            Act::say("Now."),
            Act::say("And on."),
        ]);
        let house = House::new(upstream, |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.history.push(json!({"role": "user", "content": "Are you there?"}));
        let (first, status, answer) = agent.call().await;
        assert_eq!((status, answer["error"]["type"].as_str()), (529, Some("overloaded_error")));
        let (second, status, answer) = agent.call().await;
        assert_eq!(status, 200);
        assert_eq!(header(&first, "x-epitome-turn"), header(&second, "x-epitome-turn"));
        agent.history.push(json!({"role": "assistant", "content": answer["content"]}));
        let (third, _) = agent.say("Good.").await;
        assert_eq!(header(&third, "x-epitome-session"), header(&first, "x-epitome-session"));
        let recorded = house.recorded().await;
        assert_eq!((recorded.len(), recorded[0].0.messages), (1, 4));
    });
}

#[test]
fn tokens_are_counted_of_what_would_be_sent() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..30 {
            agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
        }
        let before = house.upstream.requests().pop().unwrap();
        agent.history.push(json!({"role": "user", "content": "How much is that?"}));
        let body = json!({"model": "claude-sonnet-4-5", "messages": agent.history});
        let url = format!("{}/v1/messages/count_tokens", house.url);
        let told = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
        let counted = house.upstream.requests().pop().unwrap();
        assert!(counted.path.ends_with("count_tokens"));
        let shared = before.body["messages"].as_array().unwrap();
        assert_eq!(&counted.body["messages"].as_array().unwrap()[..shared.len()], shared.as_slice());
        let named = header(told.headers(), "x-epitome-session").to_owned();
        let recorded = house.recorded().await;
        assert_eq!(recorded[0].0.id.to_string(), named);
        assert_eq!(recorded[0].0.messages, 60, "nothing is recorded by counting");
    });
}

#[test]
fn tokens_of_an_edited_history_are_counted_of_what_its_fork_would_send() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Noted.")]), |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        let mut before = 0;
        // Until a compaction is in force and something was said behind it.
        for number in 0..40 {
            let (headers, _) = agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
            before += usize::from(header(&headers, "x-epitome-compaction") == "in force");
            if before == 3 {
                break;
            }
        }
        assert_eq!(before, 3);
        let said = agent.history.len() as u64;
        // The last question is put otherwise.
        agent.history.truncate(agent.history.len() - 2);
        agent.history.push(json!({"role": "user", "content": "Rather something else."}));
        let body = json!({"model": "claude-sonnet-4-5", "messages": agent.history, "system": "Be brief."});
        house.post("/v1/messages/count_tokens", &body.to_string()).await;
        let counted = house.upstream.requests().pop().unwrap();
        assert!(counted.path.ends_with("count_tokens") && counted.text.len() < body.to_string().len() / 2);
        let (headers, status, _) = agent.call().await;
        assert_eq!((status, header(&headers, "x-epitome-compaction")), (200, "in force"));
        let sent = house.upstream.requests().pop().unwrap();
        assert_eq!(counted.body["messages"], sent.body["messages"], "what is counted is what is sent");
        let recorded = house.recorded().await;
        let lengths: Vec<u64> = recorded.iter().map(|(session, _)| session.messages).collect();
        assert!(lengths.len() == 2 && lengths.contains(&said), "{lengths:?}");
    });
}

#[test]
fn a_dead_database_stops_nobody_and_loses_nothing() {
    run(async {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        let upstream = Upstream::new(vec![Act::say("Noted.")]);
        let house = House::on(&address, tempfile::tempdir().unwrap(), upstream, |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..30 {
            agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
        }
        let before = house.upstream.requests().pop().unwrap();
        postgres.kill();
        let mut stranger = Agent::new(&house, Dialect::Anthropic);
        for number in 30..33 {
            let (_, status) = agent.say(&format!("Step {number}. Go on.")).await;
            assert_eq!(status, 200);
            let (headers, status) = stranger.say(&format!("Hello {number}")).await;
            assert_eq!(status, 200);
            assert_ne!(header(&headers, "x-epitome-error"), "");
        }
        // What was sent before is sent again, and what is new behind it.
        let shared = before.body["messages"].as_array().unwrap().clone();
        let calls = house.upstream.requests();
        let last = calls.iter().rev().find(|request| request.text.contains("Step 32")).unwrap();
        assert_eq!(&last.body["messages"].as_array().unwrap()[..shared.len()], shared.as_slice());
        postgres.restart();
        let spool = house.folder.path().join("spool");
        let waiting = || {
            std::fs::read_dir(&spool).map_or(0, |entries| {
                entries
                    .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|it| it == "json"))
                    .count()
            })
        };
        while waiting() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let (folder, _upstream) = house.close().await;
        let all: String = recorded(&address).await.into_iter().map(|(_, whole)| whole).collect();
        assert!((0..33).all(|number| all.contains(&format!("Step {number}. "))));
        assert!((30..33).all(|number| all.contains(&format!("Hello {number}"))));
        drop((folder, postgres));
    });
}

#[test]
fn calls_that_are_made_side_by_side_are_turns_of_their_own() {
    run(async {
        let gate = std::sync::Arc::new(tokio::sync::Notify::new());
        let wait = std::sync::Arc::clone(&gate);
        let upstream = Upstream::scripted(move |number, _| match number {
            0 => Act::Behind(std::sync::Arc::clone(&wait), Box::new(Act::say("The answer."))),
            _ => Act::say("A title."),
        });
        let house = House::new(upstream, |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.history.push(json!({"role": "user", "content": "What is it called?"}));
        let mut beside = Agent::new(&house, Dialect::Anthropic);
        beside.history.clone_from(&agent.history);
        beside.headers.push(("user-agent", "titles/1".to_owned()));
        let ((first, _, answer), (second, _, _)) = tokio::join!(agent.call(), async {
            house.upstream.arrived(1).await;
            let told = beside.call().await;
            gate.notify_one();
            told
        });
        assert_ne!(header(&first, "x-epitome-turn"), header(&second, "x-epitome-turn"));
        agent.history.push(json!({"role": "assistant", "content": answer["content"]}));
        let (on, _) = agent.say("Thanks.").await;
        assert_eq!(header(&on, "x-epitome-session"), header(&first, "x-epitome-session"));
    });
}

#[test]
fn what_cannot_be_read_passes_and_waits_for_nothing() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Fine.")]), |_| {}).await;
        let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":7}]}"#;
        let (headers, status, _) = house.post("/v1/messages", body).await;
        assert_eq!(status, 200);
        assert_ne!(header(&headers, "x-epitome-error"), "");
        assert_eq!(house.upstream.requests().pop().unwrap().text, body);
        assert!(!house.folder.path().join("spool").exists());
    });
}
