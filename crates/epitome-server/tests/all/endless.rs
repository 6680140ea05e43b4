//! Answers that do not end: everything is forwarded, and only so much of it is kept.

use epitome::Dialect;
use epitome::ledger::model::Completeness;
use epitome::ledger::{Ledger, Options, Paging};
use epitome_server::Source;
use serde_json::json;

use crate::house::{Agent, House, recorded};
use crate::keepers::recording;
use crate::support::{Proxy, run};
use crate::upstream::{Act, Reply, Upstream};
use crate::wire::{chunk, post};

#[test]
fn an_answer_without_end_is_forwarded_and_its_beginning_is_kept() {
    run(async {
        for piece in [1_000, 1] {
            let (keeper, mut told) = recording();
            let proxy = Proxy::configured(Some(keeper), |config| config.limits.answer = 4_096).await;
            let mut client = proxy.client().await;
            client.send(post("/v1/messages", "[1]")).await;
            let mut upstream = proxy.upstream().await;
            upstream.message().await;
            upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            client.head().await;
            let mut forwarded = 0;
            while forwarded < 10_000 {
                upstream.send(chunk(&"x".repeat(piece))).await;
                forwarded += client.chunk().await.len();
            }
            upstream.send("0\r\n\r\n").await;
            assert!(client.chunk().await.is_empty(), "it ends as it was sent");
            assert_eq!(told.recv().await.unwrap(), "call [1]");
            let ended = told.recv().await.unwrap();
            let kept = ended.strip_prefix("ended Whole 200 ").unwrap().len();
            // A piece takes more than its bytes.
            let most = if piece == 1 { 4_096 / 16 } else { 4_096 };
            assert!((1..=most).contains(&kept), "{kept} of {forwarded} in pieces of {piece}");
        }
    });
}

#[test]
fn what_was_kept_of_an_answer_that_is_too_long_is_recorded_as_cut_off() {
    run(async {
        let said = format!("It began with granite. {}", "And on. ".repeat(4_000));
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
        let source = Source::At(address.clone());
        let upstream = Upstream::new(vec![Act::Say(Reply::new(&said))]);
        let limit = |limits: &mut epitome_server::Limits| limits.answer = 16_384;
        let house = House::bearing(source, folder, upstream, |_| {}, limit).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.history.push(json!({"role": "user", "content": "Tell me everything."}));
        let (url, mut body) = agent.request();
        body["stream"] = json!(true);
        let answer = reqwest::Client::new().post(url).json(&body).send().await.unwrap().text().await.unwrap();
        assert!(answer.contains("message_stop") && answer.len() > 32_000, "the client has all of it");
        let (_folder, _upstream) = house.close().await;
        let all = recorded(&address).await;
        let [(session, whole)] = all.as_slice() else { panic!("{}", all.len()) };
        assert!(whole.contains("It began with granite.") && whole.len() < 16_384, "{}", whole.len());
        let ledger = Ledger::open(&address, Options::default()).await.unwrap();
        let history = ledger.history(epitome::TenantId::LOCAL, session.head.unwrap(), Paging::first(9));
        let reply = history.await.unwrap().items.pop().unwrap().reply.unwrap();
        assert_eq!(reply.completeness, Completeness::CutOff);
    });
}
