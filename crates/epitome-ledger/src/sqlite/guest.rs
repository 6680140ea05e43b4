//! Reading a file that is not ours to write: of another process, on a medium that only reads, on a disk that is full.
//!
//! What arrived and is not in its place was acknowledged like everything else, so it must be read like everything else. Where it
//! cannot be put in its place for good, that is done for one read and taken back, or on a copy.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::open::{check_owner, connect, owner, version, writer};
use super::statement::{failure, perform, query};
use super::upkeep;
use crate::error::{LedgerError, Result};
use crate::migrations;
use crate::shared::Shared;

/// Opens a connection that only reads. A file of an earlier version is brought up to date, where it can be written to.
pub(super) fn guest(path: &Path) -> Result<Connection> {
    let connection = read(path)?;
    let known = migrations::SQLITE.len() as i64;
    match version(&connection)? {
        0 => Err(LedgerError::NoLedger(path.display().to_string())),
        found if found > known => Err(LedgerError::NewerSchema { found, known }),
        found if found < known => {
            drop(connection);
            let older = |error: LedgerError| match error {
                LedgerError::ReadOnly(_) | LedgerError::Unavailable(_) | LedgerError::Full(_) => {
                    LedgerError::OlderSchema { found, known }
                }
                error => error,
            };
            writer(path, None).map_err(older)?;
            read(path)
        }
        _ => Ok(connection),
    }
}

fn read(path: &Path) -> Result<Connection> {
    let plain = || {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        check_owner(&connection)?;
        Ok(connection)
    };
    match plain() {
        Err(error @ (LedgerError::Unavailable(_) | LedgerError::ReadOnly(_) | LedgerError::Full(_))) => {
            if fs::metadata(path).is_err() {
                return Err(error);
            }
            let connection = still(path)?;
            check_owner(&connection)?;
            Ok(connection)
        }
        found => found,
    }
}

// Readers of a file with a write-ahead log share an index of it, which is a file, too. Where that is not there and cannot be
// made, nobody writes to the ledger, and each reader can do without.
fn still(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let has_log = fs::metadata(log(path)).is_ok_and(|log| log.len() > 0);
    if !has_log {
        return connect(&uri(path, "immutable=1"), flags);
    }
    let how = if cfg!(windows) { "vfs=win32-none" } else { "vfs=unix-none" };
    let connection = connect(&uri(path, how), flags)?;
    connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE").map_err(failure)?;
    Ok(connection)
}

fn log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn uri(path: &Path, how: &str) -> PathBuf {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    OsString::from(format!("file:{name}?{how}")).into()
}

/// Puts what arrived in its place for good, as the process that wrote it would have done.
pub(super) fn tidy(path: &Path, shared: &Shared) -> Result<()> {
    let mut connection = owner(path)?;
    let arrived = query(&connection, "SELECT count(*) FROM arrivals WHERE key > 0", &[])?.into_iter().next();
    let arrived = arrived.map(|mut row| row.count()).transpose()?.unwrap_or(0);
    upkeep::settle_all(&mut connection, shared)?;
    shared.found_left_behind(usize::try_from(arrived).unwrap_or(usize::MAX));
    Ok(())
}

/// A connection on which what arrived is in its place, in a transaction that is to be taken back: not a byte of it goes to the
/// disk.
pub(super) fn for_now(path: &Path, shared: &Shared) -> Result<Connection> {
    let mut connection = owner(path)?;
    let set = "PRAGMA cache_spill = OFF; PRAGMA temp_store = MEMORY;";
    connection.execute_batch(set).map_err(failure)?;
    perform(&connection, "BEGIN IMMEDIATE")?;
    upkeep::settle_within(&mut connection, shared)?;
    Ok(connection)
}

/// A copy in a file that SQLite keeps for us and removes by itself, with everything in its place.
pub(super) fn copy(source: &Connection, shared: &Shared) -> Result<Connection> {
    let mut copy = connect(Path::new(""), OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    let done = Backup::new(source, &mut copy).and_then(|backup| backup.step(-1)).map_err(failure)?;
    if done != StepResult::Done {
        return Err(LedgerError::Busy("the file cannot be copied at the moment".to_owned()));
    }
    upkeep::settle_all(&mut copy, shared)?;
    Ok(copy)
}
