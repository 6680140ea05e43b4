//! A ledger that is out of reach: from the start, for a while, or that hangs. Calls go up, wait on disk, and are answered where they
//! are too long.

use std::sync::Arc;

use epitome::{Dialect, Tokens};
use epitome_server::{Source, Tenants};

use crate::house::{Agent, House, header, prose, recorded};
use crate::server;
use crate::support::run;
use crate::upstream::{Act, Upstream};

/// The files that wait in a house's spool.
fn waiting(house: &House) -> usize {
    let Ok(files) = std::fs::read_dir(house.folder.path().join("spool")) else { return 0 };
    let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".json") || name.ends_with(".taken")).count()
}

#[test]
fn it_begins_without_its_ledger_and_records_everything_once_that_is_there() {
    run(async {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        postgres.kill();
        let upstream = Upstream::new(vec![Act::say("Noted.")]);
        let folder = tempfile::tempdir().unwrap();
        let house = House::from(Source::At(address.clone()), folder, upstream, |keeping| {
            keeping.tenants = Tenants::One;
        });
        let house = house.await;
        let lines = Arc::clone(&house.lines);
        assert!(!house.is_reached());
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.headers.push(("x-api-key", "sk-one".to_owned()));
        for number in 0..3 {
            let (headers, status) = agent.say(&format!("Step {number}.")).await;
            assert_eq!(status, 200);
            assert_ne!(header(&headers, "x-epitome-error"), "");
        }
        assert!(house.counted("spool_depth").await >= 3);
        assert!(house.counted("spooled_turns_total").await >= 3);
        postgres.restart();
        while !house.is_reached() || waiting(&house) > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let (headers, status) = agent.say("Step 3.").await;
        assert_eq!((status, header(&headers, "x-epitome-error")), (200, ""));
        let (folder, _upstream) = house.close().await;
        let all = recorded(&address).await;
        let [(session, whole)] = all.as_slice() else { panic!("{}", all.len()) };
        assert_eq!(session.messages, 8);
        assert!((0..4).all(|number| whole.contains(&format!("Step {number}."))));
        let mut lines = lines.lock().unwrap();
        lines.retain(|line| line.contains("/v1/messages"));
        let waited = lines.iter().filter(|line| line.contains("waits to be recorded")).count();
        assert_eq!((lines.len(), waited), (4, 3), "{lines:?}");
        drop((folder, postgres));
    });
}

#[test]
fn a_refusal_for_size_is_answered_without_the_ledger() {
    run(async {
        let mut postgres = server::Server::start();
        let address = postgres.database();
        let refusal = "prompt is too long: 40000 tokens > 20000 maximum";
        let upstream = Upstream::scripted(move |_, request| match request.text.len() > 60_000 {
            true => Act::refuse(400, "invalid_request_error", refusal),
            false => Act::say("Fine."),
        });
        let folder = tempfile::tempdir().unwrap();
        let house =
            House::on(&address, folder, upstream, |keeping| keeping.window = Some(Tokens(200_000))).await;
        postgres.kill();
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        agent.say("Never touch the file secrets.toml, whatever happens.").await;
        for number in 0..12 {
            let (headers, status) = agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
            assert_eq!(status, 200, "{number}: {}", header(&headers, "x-epitome-error"));
            assert_ne!(header(&headers, "x-epitome-error"), "", "the ledger is away");
        }
        let sent = house.upstream.requests();
        assert!(sent.iter().any(|request| request.text.len() > 60_000), "it was refused");
        assert!(sent.last().unwrap().text.contains("secrets.toml"));
        postgres.restart();
        while waiting(&house) > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let (folder, _upstream) = house.close().await;
        let all: String = recorded(&address).await.into_iter().map(|(_, whole)| whole).collect();
        assert!((0..12).all(|number| all.contains(&format!("Step {number}. "))), "nothing is lost");
        let left: Vec<_> = std::fs::read_dir(folder.path().join("spool")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        drop(postgres);
    });
}

#[test]
fn a_database_that_hangs_holds_nobody_up_for_long() {
    run(async {
        // It takes connections and never says a word.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("postgres://nobody@{}/none?sslmode=disable", silent.local_addr().unwrap());
        let holding = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = silent.accept().await {
                held.push(stream);
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let upstream = Upstream::new(vec![Act::say("Noted.")]);
        let house = House::from(Source::At(address), folder, upstream, |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Chat);
        for number in 0..3 {
            let (headers, status) = agent.say(&format!("Step {number}.")).await;
            assert_eq!(status, 200);
            assert_ne!(header(&headers, "x-epitome-error"), "");
        }
        assert!(waiting(&house) >= 3);
        house.close().await;
        holding.abort();
    });
}

/// What stands between the proxy and its database, and holds everything back while it is told to.
struct Relay {
    address: std::net::SocketAddr,
    held: tokio::sync::watch::Sender<bool>,
    serving: tokio::task::JoinHandle<()>,
}

impl Relay {
    async fn to(port: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, held) = (listener.local_addr().unwrap(), tokio::sync::watch::Sender::new(false));
        let told = held.subscribe();
        let serving = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let ((from, to), (back, into)) = (client.into_split(), server.into_split());
                connections.spawn(carry(from, into, told.clone()));
                connections.spawn(carry(back, to, told.clone()));
            }
        });
        Self { address, held, serving }
    }
}

async fn carry(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut held: tokio::sync::watch::Receiver<bool>,
) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count) = from.read(&mut bytes).await {
        if held.wait_for(|held| !held).await.is_err() || count == 0 {
            return;
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

#[test]
fn a_database_that_hangs_in_the_midst_holds_nobody_up_for_long_and_loses_nothing() {
    run(async {
        let postgres = server::Server::start();
        let address = postgres.database();
        let (before, rest) = address.rsplit_once(':').unwrap();
        let (port, rest) = rest.split_once('/').unwrap();
        let relay = Relay::to(port.parse().unwrap()).await;
        let through = format!("{before}:{}/{rest}", relay.address.port());
        let upstream = Upstream::new(vec![Act::say("Noted.")]);
        let house = House::on(&through, tempfile::tempdir().unwrap(), upstream, |_| {}).await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        for number in 0..20 {
            agent.say(&format!("Step {number}. {}", prose(number, 1_200))).await;
        }
        assert!(house.counted("compactions_total").await >= 1);
        let before = house.upstream.requests().pop().unwrap();
        relay.held.send_replace(true);
        for number in 20..22 {
            let (_, status) = agent.say(&format!("Step {number}. Go on.")).await;
            assert_eq!(status, 200);
        }
        // What was sent before is sent again, and what is new behind it.
        let shared = before.body["messages"].as_array().unwrap().clone();
        let last = house.upstream.requests().pop().unwrap();
        assert_eq!(&last.body["messages"].as_array().unwrap()[..shared.len()], shared.as_slice());
        relay.held.send_replace(false);
        while waiting(&house) > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let (headers, status) = agent.say("Step 22. And now?").await;
        assert_eq!(status, 200, "{}", header(&headers, "x-epitome-error"));
        let (folder, _upstream) = house.close().await;
        let all: String = recorded(&address).await.into_iter().map(|(_, whole)| whole).collect();
        assert!((0..23).all(|number| all.contains(&format!("Step {number}. "))), "nothing is lost");
        relay.serving.abort();
        drop((folder, postgres));
    });
}

#[test]
fn on_one_machine_all_keys_are_its_owners() {
    run(async {
        let house = House::new(Upstream::new(vec![Act::say("Hello.")]), |keeping| {
            keeping.tenants = Tenants::One;
        });
        let house = house.await;
        let mut agent = Agent::new(&house, Dialect::Anthropic);
        // As a token that is renewed in the midst of a conversation.
        agent.headers.push(("authorization", "Bearer first".to_owned()));
        let (first, _) = agent.say("Good day.").await;
        agent.headers[0].1 = "Bearer second".to_owned();
        let (second, _) = agent.say("How are you?").await;
        assert_eq!(header(&first, "x-epitome-session"), header(&second, "x-epitome-session"));
        let all = house.recorded().await;
        assert_eq!((all.len(), all[0].0.messages), (1, 4), "and they are shown to the owner");
    });
}
