//! Statements on a SQLite connection, and what its errors mean.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};

use crate::error::{LedgerError, Result};
use crate::sql::{Row, Value};

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

pub(crate) fn query(connection: &Connection, text: &str, values: &[Value]) -> Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(text).map_err(failure)?;
    let columns = statement.column_count();
    let mut rows = statement.query(params_from_iter(values)).map_err(failure)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failure)? {
        let values = (0..columns).map(|column| row.get_ref(column).map_err(failure).and_then(value));
        found.push(Row::new(values.collect::<Result<_>>()?));
    }
    Ok(found)
}

pub(crate) fn execute(connection: &Connection, text: &str, values: &[Value]) -> Result<u64> {
    let mut statement = connection.prepare_cached(text).map_err(failure)?;
    let changed = statement.execute(params_from_iter(values)).map_err(failure)?;
    Ok(changed as u64)
}

/// What SQLite has to say about its pages, as far as it comes: it ends where it cannot go on.
pub(crate) fn complaints(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check(100)").map_err(failure)?;
    let mut rows = statement.query([]).map_err(failure)?;
    let mut told = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => told.push(row.get(0).map_err(failure)?),
            Ok(None) => return Ok(told),
            Err(error) => {
                told.push(format!("it cannot be read any further: {error}"));
                return Ok(told);
            }
        }
    }
}

/// Runs a statement that takes no values, as those are that begin and end transactions.
pub(crate) fn perform(connection: &Connection, text: &str) -> Result<()> {
    let mut statement = connection.prepare_cached(text).map_err(failure)?;
    statement.raw_execute().map_err(failure)?;
    Ok(())
}

fn value(value: ValueRef<'_>) -> Result<Value> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Text(value) => Value::Text(
            std::str::from_utf8(value).map_err(|_| LedgerError::damaged("a text is not UTF-8"))?.to_owned(),
        ),
        ValueRef::Blob(value) => Value::Blob(value.to_vec()),
        ValueRef::Real(_) => return Err(LedgerError::damaged("a column holds a fraction")),
    })
}

/// What an error of SQLite means to a user of the ledger.
pub(crate) fn failure(error: rusqlite::Error) -> LedgerError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => LedgerError::Full(text),
        Some(ErrorCode::ReadOnly) => LedgerError::ReadOnly(text),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => LedgerError::Damaged(text),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::Busy(text),
        Some(ErrorCode::ConstraintViolation) if text.contains("UNIQUE") => {
            LedgerError::Exists { what: "a row", id: text }
        }
        Some(ErrorCode::CannotOpen) => LedgerError::Unavailable(text),
        _ => LedgerError::Sqlite(Arc::new(error)),
    }
}
