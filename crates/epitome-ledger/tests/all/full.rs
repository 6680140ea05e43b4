//! A disk that is really full: a file system of a few megabytes, in a mount namespace of the worker's own.

use std::io::Write;
use std::process::Command;

use epitome_ledger::model::NewTurn;
use epitome_ledger::{Access, Ledger, LedgerError, Options};

use crate::support::*;
use crate::worker::{Worker, acknowledge};

/// Starts this binary where the folder is mounted by these commands; nothing where this machine does not allow that.
pub(crate) fn where_mounted(folder: &std::path::Path, mount: &str) -> Option<Command> {
    // The second way is for those who are not root.
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let unshare = |way: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(way).args(["sh", "-c"]);
        command.arg(format!("{mount} && exec \"$@\"")).arg(folder);
        command
    };
    let allowed = |way: &&&[&str]| unshare(way).arg("true").output().is_ok_and(|done| done.status.success());
    let way = ways.iter().find(allowed)?;
    let mut command = unshare(way);
    command.arg(std::env::current_exe().unwrap());
    Some(command)
}

#[test]
fn a_disk_that_is_really_full_refuses_and_loses_nothing() {
    let place = Place::sqlite();
    let Some(program) = where_mounted(place.folder.path(), "mount -t tmpfs -o size=4m none \"$0\"") else {
        // Past what the test runner holds back: nobody should take this for tested.
        let told = "NOT TESTED: a disk that is really full, because this machine allows no mounts of one's own; \
            a file that may not grow is tested in its place\n";
        std::io::stderr().write_all(told.as_bytes()).unwrap();
        return;
    };
    let said = Worker::start_by(program, "fill", &place.address).finish();
    assert_eq!(said, ["well"]);
}

/// Appends until the disk is full, makes room, and goes on. One turn after the other, as the proxy does it.
pub(crate) async fn fill(address: String) {
    let folder = std::path::Path::new(address.trim_start_matches("sqlite:")).parent().unwrap().to_owned();
    std::fs::write(folder.join("filler"), vec![7; 1 << 20]).unwrap();
    let ledger = Ledger::open(&address, Options::default()).await.unwrap();
    let session = open_session(&ledger).await;
    let text = |number: u64| format!("turn {number} {}", "with some more words ".repeat(200));
    let mut now = session.clone();
    let error = loop {
        let turn = NewTurn::of(vec![user(&text(now.turns))]);
        match ledger.append(ME, expect(&now), vec![turn]).await {
            Ok(receipt) => (now.head, now.turns) = (receipt.head, receipt.turns),
            Err(error) => break error,
        }
        assert!(now.turns < 10_000, "the disk does not get full");
    };
    assert!(matches!(error, LedgerError::Full(_)), "{error:?}");
    assert!(now.turns > 10);
    // What was acknowledged is read all the same, by us and by others.
    let guest = Options { access: Access::ReadOnly, ..Options::default() };
    let guest = Ledger::open(&address, guest).await.unwrap();
    for ledger in [&ledger, &guest] {
        let messages = ledger.messages(ME, now.head.unwrap(), 0..now.turns).await.unwrap();
        assert_eq!(messages.len() as u64, now.turns);
        assert_eq!(ledger.doctor().await.unwrap().findings, []);
    }
    guest.close().await;
    std::fs::remove_file(folder.join("filler")).unwrap();
    let found = ledger.session(ME, session.id).await.unwrap();
    assert_eq!((found.head, found.turns), (now.head, now.turns));
    ledger.append(ME, expect(&found), vec![NewTurn::of(vec![user(&text(now.turns))])]).await.unwrap();
    let head = ledger.session(ME, session.id).await.unwrap().head.unwrap();
    let messages = ledger.messages(ME, head, 0..now.turns + 1).await.unwrap();
    for (number, said) in texts(&messages).into_iter().enumerate() {
        assert_eq!(said, text(number as u64));
    }
    assert_eq!(ledger.doctor().await.unwrap().findings, []);
    ledger.close().await;
    acknowledge("well");
}
