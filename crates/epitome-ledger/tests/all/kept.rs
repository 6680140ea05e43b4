//! Ledgers that earlier versions wrote, kept in `tests/fixtures`: each is opened, brought to the present schema, and whole.
//!
//! A change of the schema adds a file of the version before it. `cargo test -p epitome-ledger --test all keep -- --ignored`
//! writes the present one.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use epitome_core::Time;
use epitome_ledger::model::{
    EventFilter, Expect, NewEvent, NewNote, NewReply, NewSession, NewTurn, NoteKind, Scope, Search,
    SessionId, TurnId, Until,
};
use epitome_ledger::{Access, Ledger, LedgerError, Options, Paging};

use crate::server::{self, Server};
use crate::support::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn session_id(number: u8) -> SessionId {
    SessionId::from_uuid(uuid::Uuid::from_bytes([number; 16]))
}

fn turn_id(number: u8) -> TurnId {
    TurnId::from_uuid(uuid::Uuid::from_bytes([100 + number; 16]))
}

fn turn(number: u8) -> NewTurn {
    let said = call(&format!("question {number} of src/main.rs"), &format!("answer {number}"));
    NewTurn { id: turn_id(number), time: Some(Time(i64::from(number))), ..said }
}

fn at(session: u8, head: Option<u8>) -> Expect {
    Expect { session: session_id(session), head: head.map(turn_id), fence: None }
}

/// Writes one of everything: turns packed and not, a compaction, a fork, notes, an event.
async fn fill(ledger: &Ledger) {
    let new = NewSession { id: session_id(1), external: Some("name".to_owned()), ..NewSession::of("agent") };
    ledger.create_session(ME, new).await.unwrap();
    ledger.append(ME, at(1, None), (1..=4).map(turn).collect()).await.unwrap();
    ledger.pack().await.unwrap();
    let cut = compaction(vec![summary(0..4, "the summary says why"), verbatim(4..8)]);
    let cut = epitome_ledger::model::NewCompaction { id: turn_id(5), time: Some(Time(5)), ..cut };
    ledger.compact(ME, at(1, Some(4)), cut).await.unwrap();
    ledger.append(ME, at(1, Some(5)), vec![turn(6)]).await.unwrap();
    let pin = NewNote { kind: NoteKind::Pin, messages: 0..1, content: None, time: Some(Time(7)) };
    ledger.note(ME, at(1, Some(6)), pin).await.unwrap();
    let fork = NewSession { id: session_id(2), ..NewSession::of("agent") };
    ledger.fork(ME, turn_id(3), fork).await.unwrap();
    ledger.append(ME, at(2, Some(3)), vec![turn(8)]).await.unwrap();
    let event = NewEvent {
        platform: "chat".to_owned(),
        channel: "general".to_owned(),
        external: "1".to_owned(),
        time: Time(9),
        payload: b"somebody knocked".to_vec(),
        turns: vec![turn_id(6)],
    };
    ledger.append_event(ME, event).await.unwrap();
}

/// Asks and answers in a session of its own, the last thing before everything stops.
async fn fill_last(ledger: &Ledger) {
    let new = NewSession { id: session_id(3), ..NewSession::of("agent") };
    ledger.create_session(ME, new).await.unwrap();
    let asked = NewTurn { id: turn_id(10), ..NewTurn::of(vec![user("was it kept?")]) };
    ledger.append(ME, at(3, None), vec![asked]).await.unwrap();
    let answer = NewReply { messages: vec![assistant("it was")], ..NewReply::default() };
    ledger.reply(ME, at(3, Some(10)), answer).await.unwrap();
}

async fn check_last(ledger: &Ledger) {
    let view = ledger.current_view(ME, session_id(3)).await.unwrap();
    assert_eq!(texts(&view.messages), ["was it kept?", "it was"]);
    let search =
        Search { query: "kept".to_owned(), scope: Scope::Session(session_id(3)), ..Search::default() };
    assert_eq!(ledger.search(ME, search, Paging::first(9)).await.unwrap().items.len(), 1);
}

async fn check(ledger: &Ledger) {
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    let view = ledger.view(ME, turn_id(6), Until::Reply).await.unwrap();
    assert_eq!(view.compaction.unwrap().summary().unwrap(), "the summary says why");
    let shown = ["question 3 of src/main.rs", "answer 3", "question 4 of src/main.rs", "answer 4"];
    assert_eq!(texts(&view.messages)[..4], shown);
    let fork = ledger.messages(ME, turn_id(8), 0..8).await.unwrap();
    assert_eq!(texts(&fork)[6..], ["question 8 of src/main.rs", "answer 8"]);
    assert_eq!(ledger.notes(ME, session_id(1)).await.unwrap().len(), 1);
    let session = ledger.find_session(ME, "agent", "name").await.unwrap().unwrap();
    assert_eq!((session.turns, session.messages, session.compactions), (6, 10, 1));
    let events = ledger.events(ME, EventFilter::default(), Paging::first(9)).await.unwrap().items;
    assert_eq!(
        (events[0].payload.as_slice(), &events[0].turns[..]),
        (&b"somebody knocked"[..], &[turn_id(6)][..])
    );
    for (query, hits) in [("src/main.rs", 6), ("why", 1), ("knocked", 1)] {
        let search = Search { query: query.to_owned(), scope: Scope::Tenant, ..Search::default() };
        assert_eq!(ledger.search(ME, search, Paging::first(20)).await.unwrap().items.len(), hits, "{query}");
    }
}

/// Checks what is there, writes more, and checks again.
pub(crate) async fn goes_on(place: &Place) {
    let guest = Options { access: Access::ReadOnly, ..Options::default() };
    match Ledger::open(&place.address, guest).await {
        // Whoever reads a file brings it up. The present version of a server's tables may be the one that was kept.
        Ok(guest) => check(&guest).await,
        Err(refused) => {
            assert!(matches!(refused, LedgerError::OlderSchema { .. }) && !place.is_sqlite(), "{refused}");
        }
    }
    let ledger = place.open().await;
    check(&ledger).await;
    ledger.append(ME, at(2, Some(8)), vec![turn(9)]).await.unwrap();
    assert_eq!(ledger.messages(ME, turn_id(9), 8..10).await.unwrap().len(), 2);
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    ledger.close().await;
}

fn unzipped(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The kept files of a kind, oldest first.
pub(crate) fn kept(ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    assert!(files.len() >= 2, "the kept files are missing");
    files
}

#[test]
fn every_earlier_file_is_brought_up() {
    let mut arrivals = 0;
    for file in kept(".db.gz") {
        let place = unpacked(&file);
        let pending = arrived(&place.file());
        arrivals += pending;
        run(goes_on(&place));
        if pending > 0 {
            run(async { check_last(&place.open().await).await });
        }
    }
    assert!(arrivals > 0, "no file is kept in which something was not in its place yet");
}

/// How much of a file was acknowledged and is not in its place; nothing where it is too old to know of such a thing.
fn arrived(file: &Path) -> i64 {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.query_row("SELECT count(*) FROM arrivals", [], |row| row.get(0)).unwrap_or(0)
}

#[test]
fn every_earlier_dump_is_brought_up() {
    for file in kept(".sql.gz") {
        run(goes_on(&restored(&file)));
    }
}

/// A kept SQLite file, to be worked on.
pub(crate) fn unpacked(file: &Path) -> Place {
    let place = Place::sqlite();
    fs::write(place.file(), unzipped(file)).unwrap();
    place
}

/// A kept PostgreSQL database, to be worked on.
pub(crate) fn restored(dump: &Path) -> Place {
    let place = Place::postgres();
    let script = place.folder.path().join("dump.sql");
    fs::write(&script, unzipped(dump)).unwrap();
    let psql = Command::new(server::binaries().join("psql"))
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &place.address, "-f"])
        .arg(&script)
        .output()
        .unwrap();
    assert!(psql.status.success(), "{}", String::from_utf8_lossy(&psql.stderr));
    place
}

fn keep_as(name: &str, bytes: &[u8]) {
    let file = fs::File::create(folder().join(name)).unwrap();
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap();
}

/// A filled file in which something was not in its place yet when everything stopped.
pub(crate) fn stopped_in_disorder() -> Place {
    // What arrived last is put in its place soon.
    std::iter::repeat_with(stopped).find(|file| arrived(&file.file()) > 0).unwrap()
}

/// A filled file as it lies on the disk the moment after the last acknowledgement.
fn stopped() -> Place {
    let (place, copy) = (Place::sqlite(), Place::sqlite());
    run(async {
        let ledger = place.open().await;
        fill(&ledger).await;
        fill_last(&ledger).await;
        for ending in ["", "-wal"] {
            let of = |place: &Place| format!("{}{ending}", place.file().display());
            fs::copy(of(&place), of(&copy)).unwrap();
        }
        ledger.close().await;
    });
    copy
}

#[test]
#[ignore = "writes the file of the present schema, to be kept before it changes"]
fn keep() {
    let file = stopped_in_disorder();
    let connection = rusqlite::Connection::open(file.file()).unwrap();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    keep_as(&format!("ledger-{version}.db.gz"), &fs::read(file.file()).unwrap());
    let server = Server::start();
    let address = server.database();
    run(async {
        let ledger = Ledger::open(&address, Default::default()).await.unwrap();
        fill(&ledger).await;
        ledger.close().await;
    });
    let dump = Command::new(server::binaries().join("pg_dump"))
        .args(["--no-owner", "--inserts", "-d", &address])
        .output()
        .unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let version = server::psql(&address, "SELECT max(version) FROM ledger_schema");
    keep_as(&format!("ledger-{}.sql.gz", version.trim()), &dump.stdout);
}
