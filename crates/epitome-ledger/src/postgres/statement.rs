//! Values on their way to and from PostgreSQL, and what its errors mean.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::error::{LedgerError, Result};
use crate::sql::{Row, Value};

type Checked<T> = std::result::Result<T, Box<dyn Error + Sync + Send>>;

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Checked<IsNull> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(value) => value.to_sql(kind, out),
            Value::Text(value) => storable(value).to_sql(kind, out),
            Value::Blob(value) => value.to_sql(kind, out),
        }
    }

    // What is unknown to us, the server finds out.
    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::VARCHAR, Type::BYTEA, Type::UNKNOWN].contains(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Checked<Self> {
        Ok(match *kind {
            Type::INT8 => Value::Int(i64::from_sql(kind, raw)?),
            Type::INT4 => Value::Int(i32::from_sql(kind, raw)?.into()),
            Type::BYTEA => Value::Blob(Vec::from_sql(kind, raw)?),
            _ => Value::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Checked<Self> {
        Ok(Value::Null)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::VARCHAR, Type::BYTEA].contains(kind)
    }
}

// The one character that no text of PostgreSQL can hold is replaced in labels, names and models. Bodies are bytes and keep it.
fn storable(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

pub(super) fn row(row: &tokio_postgres::Row) -> Result<Row> {
    let values = (0..row.len()).map(|column| row.try_get(column).map_err(failure));
    Ok(Row::new(values.collect::<Result<_>>()?))
}

/// What an error of PostgreSQL means to a user of the ledger.
pub(crate) fn failure(error: tokio_postgres::Error) -> LedgerError {
    let Some(reason) = error.as_db_error() else {
        let source = error.source();
        // Not a word from the server: it cannot be reached, or it is us who cannot say or read something.
        let lost = source.is_none_or(|source| source.is::<std::io::Error>());
        let text = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        return if lost { LedgerError::Unavailable(text) } else { LedgerError::Postgres(Arc::new(error)) };
    };
    let text = reason.to_string();
    let code = reason.code();
    let is = |codes: &[SqlState]| codes.contains(code);
    if is(&[SqlState::UNIQUE_VIOLATION]) {
        return LedgerError::Exists { what: "a row", id: text };
    }
    // A message or an event stands for a body; it has none only where a purge took that from under it.
    if is(&[SqlState::NOT_NULL_VIOLATION]) && reason.column() == Some("body") {
        return LedgerError::Busy("a body was purged meanwhile".to_owned());
    }
    if is(&[SqlState::DISK_FULL]) {
        return LedgerError::Full(text);
    }
    if is(&[SqlState::READ_ONLY_SQL_TRANSACTION]) {
        return LedgerError::ReadOnly(text);
    }
    if is(&[SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED]) {
        return LedgerError::Damaged(text);
    }
    if is(&[
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ]) {
        return LedgerError::Busy(text);
    }
    // Class 57 is the operator (shutdown, killed backends), class 53 and 08 are resources and connections.
    if ["57", "53", "08"].iter().any(|class| code.code().starts_with(class)) {
        return LedgerError::Unavailable(text);
    }
    LedgerError::Postgres(Arc::new(error))
}
