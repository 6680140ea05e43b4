//! A file on a medium that cannot be written to, as its writer left it when it died: everything that was acknowledged is read.

use std::fs;
use std::io::Write;
use std::path::Path;

use epitome_ledger::model::{NewSession, SessionFilter, TurnId};
use epitome_ledger::{Access, Ledger, LedgerError, Options, Paging};

use crate::full::where_mounted;
use crate::support::*;
use crate::worker::{Worker, acknowledge};

/// Makes the folder read-only for whoever is started, root included.
const READ_ONLY: &str = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";

/// What a visitor on a read-only medium says: the turns at the heads of all sessions.
fn visit_there(place: &Place) -> Option<Vec<String>> {
    let program = where_mounted(place.folder.path(), READ_ONLY)?;
    Some(Worker::start_by(program, "visit", &place.address).finish())
}

/// Reads everything, and is refused when it writes.
pub(crate) async fn visit(address: String) {
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let ledger = Ledger::open(&address, Options { access, ..Options::default() }).await.unwrap();
        let sessions = ledger.sessions(ME, SessionFilter::default(), Paging::first(100)).await.unwrap().items;
        for session in &sessions {
            let Some(head) = session.head else { continue };
            let messages = ledger.messages(ME, head, 0..session.messages).await.unwrap();
            assert_eq!(messages.len() as u64, session.messages);
            acknowledge(&format!("{} {head} {}", session.id, session.messages));
        }
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
        let refused = ledger.create_session(ME, NewSession::of("agent")).await;
        assert!(matches!(refused, Err(LedgerError::ReadOnly(_))), "{refused:?}");
        ledger.close().await;
    }
}

fn not_tested() {
    let told = "NOT TESTED: a read-only medium, because this machine allows no mounts of one's own\n";
    std::io::stderr().write_all(told.as_bytes()).unwrap();
}

fn side_file(place: &Place, ending: &str) -> std::path::PathBuf {
    Path::new(&format!("{}{ending}", place.file().display())).to_owned()
}

/// A file whose writer was killed, and the last turns that it acknowledged.
fn abandoned() -> (Place, Vec<String>) {
    let place = Place::sqlite();
    let mut worker = Worker::start("write 77", &place.address);
    let mut said: Vec<String> = (0..60).map(|_| worker.next().unwrap()).collect();
    said.extend(worker.kill());
    (place, said)
}

/// Each session was acknowledged to be at least as long as it is claimed to be.
fn check(said: &[String], visited: &[String]) {
    let parts = |line: &String| -> (String, TurnId, u64) {
        let words: Vec<&str> = line.split(' ').collect();
        (words[0].to_owned(), words[1].parse().unwrap(), words[2].parse().unwrap())
    };
    let purged: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("purging ")).collect();
    let appended = said.iter().filter(|line| !line.starts_with("purg")).map(parts);
    for (session, _, messages) in appended.filter(|(session, ..)| !purged.contains(&session.as_str())) {
        let found = visited.iter().map(parts).find(|(id, ..)| *id == session);
        assert!(found.is_some_and(|(_, _, found)| found >= messages), "session {session} is not whole");
    }
}

#[test]
fn what_a_dead_writer_left_on_a_read_only_medium_is_read() {
    let (place, said) = abandoned();
    let Some(visited) = visit_there(&place) else { return not_tested() };
    check(&said, &visited);
    // Copies are made of the file and its log, hardly ever of the index of the log.
    fs::remove_file(side_file(&place, "-shm")).unwrap();
    check(&said, &visit_there(&place).unwrap());
    // The medium was left as it was.
    assert!(!side_file(&place, "-shm").exists());
    run(async { assert_eq!(place.open().await.doctor().await.unwrap().findings, []) });
}

#[test]
fn a_file_on_a_read_only_medium_is_read() {
    let place = Place::sqlite();
    run(async {
        let ledger = place.open().await;
        let session = open_session(&ledger).await;
        talk(&ledger, &session, 0..3).await;
        ledger.close().await;
    });
    assert!(!side_file(&place, "-wal").exists());
    let Some(visited) = visit_there(&place) else { return not_tested() };
    assert_eq!(visited.len(), 2);
    assert!(visited[0].ends_with(" 6"), "{visited:?}");
}
