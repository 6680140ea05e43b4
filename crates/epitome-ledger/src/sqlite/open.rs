//! Opening a SQLite file: settings, version, migrations.

use std::fs::OpenOptions;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::statement::failure;
use crate::error::{LedgerError, Result};
use crate::migrations::{self, Migration};

/// Marks the file as ours: "EPIT".
const APPLICATION: i64 = 0x4550_4954;

/// How often one process looks whether another that writes to the same file is done, and how long it waits in between.
/// Evenly, because one that writes all the time leaves only moments.
const LOOKS: i32 = 10_000;
const WAIT: Duration = Duration::from_millis(1);

/// Statements kept ready on each connection.
const STATEMENTS: usize = 128;

/// Opens the connection that writes, and brings the file to the latest version.
///
/// Durability: every commit is an fsync of the write-ahead log (`synchronous = FULL`), so that what was acknowledged
/// survives the loss of power, not only of the process.
pub(crate) fn writer(path: &Path, max_bytes: Option<u64>) -> Result<Connection> {
    create(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    check_owner(&connection)?;
    let pages = super::log::PAGES;
    let set = format!(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = {pages}; PRAGMA secure_delete = FAST;"
    );
    connection.execute_batch(&set).map_err(failure)?;
    migrate(&mut connection, migrations::SQLITE)?;
    if let Some(bytes) = max_bytes {
        let pages = bytes / u64::try_from(pragma(&connection, "page_size")?).unwrap_or(4096).max(1);
        connection.execute_batch(&format!("PRAGMA max_page_count = {pages}")).map_err(failure)?;
    }
    Ok(connection)
}

// A file that is not there yet is made for its owner alone, and SQLite makes the files beside it alike. What fails here fails
// again when the file is opened, and is told then.
fn create(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Opens a connection that may write, on a file that has the latest version.
pub(crate) fn owner(path: &Path) -> Result<Connection> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Opens a connection that only reads, on a file that has the latest version.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let set = "PRAGMA query_only = ON; PRAGMA cache_size = -8192; PRAGMA mmap_size = 1073741824;";
    connection.execute_batch(set).map_err(failure)?;
    Ok(connection)
}

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let mut connection =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failure)?;
    connection.busy_handler(Some(wait)).map_err(failure)?;
    // Plans must not depend on values: SQLite would prepare each statement on a table with a partial index anew for
    // every value, to see whether that index serves.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failure)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn wait(looks: i32) -> bool {
    thread::sleep(WAIT);
    looks < LOOKS
}

fn pragma(connection: &Connection, name: &str) -> Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0)).map_err(failure)
}

pub(super) fn version(connection: &Connection) -> Result<i64> {
    pragma(connection, "user_version")
}

// An empty file is nobody's yet. Its tables and its mark come together: who looks at the mark last does not miss it where another
// process fills the file meanwhile.
pub(super) fn check_owner(connection: &Connection) -> Result<()> {
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    let tables = tables.map_err(failure)?;
    let application = pragma(connection, "application_id")?;
    match tables {
        _ if application == APPLICATION => Ok(()),
        0 if application == 0 => Ok(()),
        tables => Err(LedgerError::NotALedger(format!(
            "it holds {tables} tables and the mark {application:#x} instead of {APPLICATION:#x}"
        ))),
    }
}

fn migrate(connection: &mut Connection, migrations: &[Migration]) -> Result<()> {
    let known = migrations.len() as i64;
    let found = version(connection)?;
    if found == known {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failure)?;
    // Another process may have been faster.
    let found = version(&transaction)?;
    if found > known {
        return Err(LedgerError::NewerSchema { found, known });
    }
    for migration in migrations.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(migration.sql).map_err(failure)?;
    }
    let mark = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known};");
    transaction.execute_batch(&mark).map_err(failure)?;
    transaction.commit().map_err(failure)
}
