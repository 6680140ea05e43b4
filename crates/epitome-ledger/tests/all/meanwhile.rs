//! A purge while others write, on PostgreSQL: each is stopped where it hurts most, and what was acknowledged is there.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use epitome_ledger::model::{NewEvent, NewTurn, Purge, Scope, Search, Session, Tombstone, Warrant};
use epitome_ledger::{Ledger, LedgerError, Options, Paging};
use tokio::task::JoinHandle;

use crate::server::{binaries, psql};
use crate::support::*;

/// A transaction of somebody else that stays open.
pub(crate) struct Held {
    child: Child,
    input: ChildStdin,
}

impl Held {
    /// Begins it with these statements, and returns when they are done.
    pub(crate) fn begin(address: &str, sql: &str) -> Self {
        let mut child = Command::new(binaries().join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "BEGIN; {sql};\n\\echo held").unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        assert!(output.lines().any(|line| line.unwrap() == "held"), "{sql}");
        Self { child, input }
    }

    /// Ends it by these statements.
    pub(crate) fn end(mut self, sql: &str) {
        writeln!(self.input, "{sql};").unwrap();
        drop(self.input);
        assert!(self.child.wait().unwrap().success(), "{sql}");
    }
}

/// Waits until so many wait for a lock, or the work is done.
pub(crate) async fn stuck<T>(address: &str, count: usize, work: &JoinHandle<T>) {
    let text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while !work.is_finished() && psql(address, text).trim().parse::<usize>().unwrap() < count {
        tokio::task::yield_now().await;
    }
}

fn purge(ledger: &Ledger, session: &Session) -> JoinHandle<Tombstone> {
    let (ledger, what) = (ledger.clone(), Purge::Session(session.id));
    let warrant = Warrant { actor: "owner".to_owned(), reason: "asked for".to_owned() };
    tokio::spawn(async move { ledger.purge(ME, what, warrant).await.unwrap() })
}

/// Who uses a body that nobody else but a purged session has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Writer {
    /// An append as one statement.
    Landing,
    /// An append that looks first, and says the same twice.
    Looking,
    Event,
}

impl Writer {
    // What makes it wait when it has found the body and not written anything that uses it.
    fn obstacle(self, session: &Session) -> String {
        let uuid = session.id.to_string().replace('-', "");
        match self {
            Self::Event => "INSERT INTO events (tenant, platform, channel, external, version, time, body) \
                 SELECT key, 'chat', 'c', '1', 1, 0, 0 FROM tenants"
                .to_owned(),
            _ => format!(
                "INSERT INTO messages (session, ordinal, tenant, turn, role, record, notation, body, tokens, chain) \
                 SELECT key, 0, tenant, 0, 0, 0, 0, 0, 0, '' FROM sessions WHERE id = '\\x{uuid}'"
            ),
        }
    }

    fn write(self, ledger: &Ledger, session: &Session) -> JoinHandle<()> {
        let (ledger, session) = (ledger.clone(), session.clone());
        let said = || NewTurn::of(vec![user("the same")]);
        tokio::spawn(async move {
            let at = expect(&session);
            let written = match self {
                Self::Landing => ledger.append(ME, at, vec![said()]).await.map(|_| ()),
                Self::Looking => ledger.append(ME, at, vec![said(), said()]).await.map(|_| ()),
                Self::Event => ledger.append_event(ME, event()).await.map(|_| ()),
            };
            written.unwrap();
        })
    }
}

fn event() -> NewEvent {
    let (platform, channel, external) = ("chat".into(), "c".into(), "1".into());
    let time = epitome_core::Time(5);
    NewEvent { platform, channel, external, time, payload: user("the same").body, turns: Vec::new() }
}

async fn begin() -> (Place, Ledger, Session, Session) {
    let place = Place::postgres();
    let ledger = place.open().await;
    let (doomed, kept) = (open_session(&ledger).await, open_session(&ledger).await);
    add(&ledger, &doomed, NewTurn::of(vec![user("the same")])).await;
    (place, ledger, doomed, kept)
}

async fn check(ledger: &Ledger, writer: Writer, kept: &Session) {
    match writer {
        Writer::Event => {
            let events = ledger.events(ME, Default::default(), Paging::first(9)).await.unwrap();
            assert_eq!(events.items[0].payload, user("the same").body);
        }
        _ => {
            let now = ledger.session(ME, kept.id).await.unwrap();
            let read = ledger.messages(ME, now.head.unwrap(), 0..now.messages).await.unwrap();
            assert!(!read.is_empty() && texts(&read).iter().all(|text| text == "the same"));
        }
    }
    assert_eq!(ledger.doctor().await.unwrap().findings, [], "{writer:?}");
}

// The purge comes while the writer is under way.
async fn purged_from_under(writer: Writer) {
    let (place, ledger, doomed, kept) = begin().await;
    let obstacle = Held::begin(&place.address, &writer.obstacle(&kept));
    let written = writer.write(&ledger, &kept);
    stuck(&place.address, 1, &written).await;
    let purged = purge(&ledger, &doomed);
    stuck(&place.address, 2, &purged).await;
    obstacle.end("ROLLBACK");
    written.await.unwrap();
    assert_eq!(purged.await.unwrap().sessions, 1);
    check(&ledger, writer, &kept).await;
}

// The writer comes while the purge is under way.
async fn written_behind(writer: Writer) {
    let (place, ledger, doomed, kept) = begin().await;
    let obstacle = Held::begin(&place.address, "LOCK TABLE tombstones IN EXCLUSIVE MODE");
    let purged = purge(&ledger, &doomed);
    stuck(&place.address, 1, &purged).await;
    let written = writer.write(&ledger, &kept);
    stuck(&place.address, 2, &written).await;
    obstacle.end("ROLLBACK");
    written.await.unwrap();
    assert_eq!(purged.await.unwrap().sessions, 1);
    check(&ledger, writer, &kept).await;
}

#[test]
fn a_purge_leaves_the_bodies_of_those_who_write_meanwhile() {
    run(async {
        for writer in [Writer::Landing, Writer::Looking, Writer::Event] {
            purged_from_under(writer).await;
            written_behind(writer).await;
        }
    });
}

#[test]
fn a_purge_waits_for_whoever_indexes_what_it_takes() {
    run(async {
        let (place, ledger, doomed, _) = begin().await;
        let indexer = Held::begin(&place.address, "SELECT key FROM entries WHERE terms IS NULL FOR UPDATE");
        let purged = purge(&ledger, &doomed);
        stuck(&place.address, 1, &purged).await;
        indexer.end("COMMIT");
        assert_eq!(purged.await.unwrap().messages, 1);
        assert_eq!(psql(&place.address, "SELECT count(*) FROM entries").trim(), "0");
    });
}

#[test]
fn a_purge_takes_what_was_appended_while_it_waited() {
    run(async {
        let (place, ledger, doomed, _) = begin().await;
        let now = ledger.session(ME, doomed.id).await.unwrap();
        let other = Held::begin(&place.address, "SELECT key FROM sessions FOR UPDATE");
        let appended = Writer::Landing.write(&ledger, &now);
        stuck(&place.address, 1, &appended).await;
        let purged = purge(&ledger, &doomed);
        stuck(&place.address, 2, &purged).await;
        other.end("COMMIT");
        appended.await.unwrap();
        assert_eq!(purged.await.unwrap().messages, 2);
        assert_eq!(psql(&place.address, "SELECT count(*) FROM entries").trim(), "0");
    });
}

#[test]
fn an_entry_that_points_at_nothing_neither_fails_a_search_nor_holds_up_the_index() {
    run(async {
        let (place, ledger, _, kept) = begin().await;
        psql(&place.address, "DELETE FROM messages");
        add(&ledger, &kept, NewTurn::of(vec![user("the other")])).await;
        let search = || Search { query: "the".to_owned(), scope: Scope::Tenant, ..Search::default() };
        for _ in 0..2 {
            let found = ledger.search(ME, search(), Paging::first(9)).await.unwrap();
            assert_eq!(found.items.len(), 1);
            ledger.pack().await.unwrap();
            assert_eq!(psql(&place.address, "SELECT count(*) FROM entries WHERE terms IS NULL").trim(), "0");
        }
    });
}

#[test]
fn an_older_program_that_waited_leaves_a_newer_schema_alone() {
    let place = Place::postgres();
    let newer = Held::begin(&place.address, "SELECT pg_advisory_xact_lock(4997705)");
    run(async {
        let address = place.address.clone();
        let opened =
            tokio::spawn(async move { Ledger::open(&address, Options::default()).await.map(|_| ()) });
        stuck(&place.address, 1, &opened).await;
        newer.end("CREATE TABLE ledger_schema (version BIGINT NOT NULL); INSERT INTO ledger_schema VALUES (99); COMMIT");
        let refused = opened.await.unwrap();
        assert!(matches!(refused, Err(LedgerError::NewerSchema { found: 99, .. })), "{refused:?}");
    });
    assert_eq!(psql(&place.address, "SELECT version FROM ledger_schema").trim(), "99");
}

#[test]
fn a_read_in_several_steps_sees_what_was_there_when_it_began() {
    let place = Place::postgres();
    let address = place.address.clone();
    run(async {
        let ledger = place.open().await;
        let session = open_session(&ledger).await;
        let head = talk(&ledger, &session, 0..40).await[39];
        ledger.pack().await.unwrap();
        // Packs that were read before are remembered.
        let other = place.open().await;
        let held = Held::begin(&address, "LOCK TABLE packs IN ACCESS EXCLUSIVE MODE");
        let reader = other.clone();
        let work = tokio::spawn(async move { reader.messages(ME, head, 0..80).await });
        stuck(&address, 1, &work).await;
        held.end("DELETE FROM packs; COMMIT");
        assert_eq!(work.await.unwrap().unwrap().len(), 80);
        assert!(matches!(place.open().await.messages(ME, head, 0..80).await, Err(LedgerError::Damaged(_))));
    });
}
