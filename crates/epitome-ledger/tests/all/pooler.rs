//! A pooler that hands every transaction to another connection of the server, and knows no prepared statements.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use epitome_ledger::model::{Expect, NewSession, NewTurn, Purge, Scope, Search, Warrant};
use epitome_ledger::{Ledger, Options, Paging};

use crate::server::{as_other, hand_over};
use crate::support::*;

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A pooler that runs.
struct Pooler {
    child: Child,
    address: String,
}

impl Pooler {
    /// Starts one before the server of an address, with fewer connections than we have.
    fn before(place: &Place) -> Self {
        let (server, database) = place.address.rsplit_once('/').unwrap();
        let (_, server_port) = server.rsplit_once(':').unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = place.folder.path();
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={server_port} user=epitome\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 3\nserver_reset_query =\n"
        );
        let file = folder.join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        hand_over(folder);
        hand_over(&file);
        let log = fs::File::create(folder.join("log")).unwrap();
        let child = as_other(Path::new(PROGRAM)).arg(&file).stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let pooler = Self { child, address: format!("postgres://epitome@127.0.0.1:{port}/{database}") };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(std::time::Instant::now() < deadline, "the pooler does not answer");
            std::thread::yield_now();
        }
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One of everything.
async fn work(ledger: Ledger, number: usize) {
    let session = open_session(&ledger).await;
    let turns = talk(&ledger, &session, 0..6).await;
    let now = ledger.session(ME, session.id).await.unwrap();
    let turn = NewTurn::of(vec![user(&format!("where is pearl{number}?"))]);
    let at = Expect { head: Some(turn.id), ..expect(&now) };
    ledger.append(ME, expect(&now), vec![turn]).await.unwrap();
    let reply = call("", "in src/main.rs").reply.unwrap();
    ledger.reply(ME, at, reply).await.unwrap();
    compact(&ledger, &session, vec![summary(0..10, "what was said"), verbatim(10..14)]).await;
    assert_eq!(ledger.current_view(ME, session.id).await.unwrap().messages.len(), 4);
    let fork = ledger.fork(ME, turns[2], NewSession::of("agent")).await.unwrap();
    talk(&ledger, &fork, 6..8).await;
    assert_eq!(ledger.current_view(ME, fork.id).await.unwrap().messages.len(), 10);
    let lease = ledger.acquire_lease(ME, fork.id, "me", std::time::Duration::from_secs(60)).await.unwrap();
    ledger.release_lease(ME, lease).await.unwrap();
    let search = Search { query: format!("pearl{number}"), scope: Scope::Tenant, ..Search::default() };
    assert_eq!(ledger.search(ME, search, Paging::first(5)).await.unwrap().items.len(), 1);
    if number.is_multiple_of(2) {
        let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
        ledger.purge(ME, Purge::Session(session.id), warrant).await.unwrap();
    }
}

#[test]
fn a_ledger_works_through_a_pooler_of_transactions() {
    if !Path::new(PROGRAM).exists() {
        let told = "NOT TESTED: a pooler before PostgreSQL; hint: apt-get install pgbouncer\n";
        std::io::stderr().write_all(told.as_bytes()).unwrap();
        return;
    }
    let place = Place::postgres();
    let pooler = Pooler::before(&place);
    run(async {
        let address = format!("{}?prepared_statements=false", pooler.address);
        let ledgers = [(); 2].map(|()| Ledger::open(&address, Options::default()));
        let ledgers = futures_util::future::try_join_all(ledgers).await.unwrap();
        let tasks = (0..8).map(|number| tokio::spawn(work(ledgers[number % 2].clone(), number)));
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        ledgers[0].pack().await.unwrap();
        assert_eq!(ledgers[0].doctor().await.unwrap().findings, []);
    });
}
