//! One seam over both databases: statements, values, rows.
//!
//! What a ledger does is written once, in [`crate::store`], as statements that both databases understand; here a statement
//! reaches the one or the other. Parameters are written `$1`, `$2`, … and first appear in that order, because
//! SQLite numbers them as it meets them. Only what the databases cannot say alike is chosen by [`Sql::either`].

use std::borrow::Cow;
use std::pin::Pin;

use crate::error::{LedgerError, Result};
use crate::shared::Shared;
use crate::{postgres, sqlite};

/// A value that goes into a statement or comes out of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

macro_rules! values {
    ($($from:ty => $make:expr;)*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                $make(value)
            }
        }
    )*};
}

values! {
    i64 => Value::Int;
    u64 => |value: u64| Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    usize => |value: usize| Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
    &str => |value: &str| Value::Text(value.to_owned());
    String => Value::Text;
    &[u8] => |value: &[u8]| Value::Blob(value.to_vec());
    Vec<u8> => Value::Blob;
    uuid::Uuid => |value: uuid::Uuid| Value::Blob(value.as_bytes().to_vec());
    &uuid::Uuid => |value: &uuid::Uuid| Value::Blob(value.as_bytes().to_vec());
    epitome_core::Tokens => |value: epitome_core::Tokens| Value::from(value.0);
    epitome_core::Time => |value: epitome_core::Time| Value::Int(value.0);
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// The values of a statement, each turned into a [`Value`].
macro_rules! values_of {
    ($($value:expr),* $(,)?) => { Vec::from([$($crate::sql::Value::from($value)),*]) };
}
pub(crate) use values_of;

/// A statement with its values.
pub(crate) struct Statement {
    pub(crate) text: Cow<'static, str>,
    pub(crate) values: Vec<Value>,
}

impl Statement {
    pub(crate) fn new(text: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Self {
        Self { text: text.into(), values }
    }
}

/// A row that was read. Its columns are taken from left to right.
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    pub(crate) fn into_values(self) -> Vec<Value> {
        self.0.collect()
    }

    fn next(&mut self) -> Result<Value> {
        self.0.next().ok_or_else(|| LedgerError::damaged("a row is too short"))
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>> {
        match self.next()? {
            Value::Int(value) => Ok(Some(value)),
            Value::Null => Ok(None),
            other => Err(unexpected("a number", &other)),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64> {
        self.maybe_int()?.ok_or_else(|| unexpected("a number", &Value::Null))
    }

    pub(crate) fn maybe_count(&mut self) -> Result<Option<u64>> {
        let number = self.maybe_int()?;
        number.map(|number| u64::try_from(number).map_err(|_| negative(number))).transpose()
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        self.maybe_count()?.ok_or_else(|| unexpected("a number", &Value::Null))
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>> {
        match self.next()? {
            Value::Text(value) => Ok(Some(value)),
            Value::Null => Ok(None),
            other => Err(unexpected("a text", &other)),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String> {
        self.maybe_text()?.ok_or_else(|| unexpected("a text", &Value::Null))
    }

    pub(crate) fn maybe_blob(&mut self) -> Result<Option<Vec<u8>>> {
        match self.next()? {
            Value::Blob(value) => Ok(Some(value)),
            Value::Null => Ok(None),
            other => Err(unexpected("bytes", &other)),
        }
    }

    pub(crate) fn blob(&mut self) -> Result<Vec<u8>> {
        self.maybe_blob()?.ok_or_else(|| unexpected("bytes", &Value::Null))
    }

    pub(crate) fn maybe_uuid(&mut self) -> Result<Option<uuid::Uuid>> {
        let bytes = self.maybe_blob()?;
        let parsed = bytes.map(|bytes| uuid::Uuid::from_slice(&bytes)).transpose();
        parsed.map_err(|_| LedgerError::damaged("an id is not sixteen bytes long"))
    }

    pub(crate) fn uuid(&mut self) -> Result<uuid::Uuid> {
        self.maybe_uuid()?.ok_or_else(|| unexpected("an id", &Value::Null))
    }
}

fn unexpected(expected: &str, found: &Value) -> LedgerError {
    let found = match found {
        Value::Null => "nothing",
        Value::Int(_) => "a number",
        Value::Text(_) => "a text",
        Value::Blob(_) => "bytes",
    };
    LedgerError::damaged(format!("a column holds {found} where {expected} should be"))
}

fn negative(number: i64) -> LedgerError {
    LedgerError::damaged(format!("a count is negative: {number}"))
}

/// A connection that a piece of work has to itself, inside a transaction where it writes.
pub(crate) struct Sql<'c> {
    pub(crate) shared: &'c Shared,
    pub(crate) connection: Connection<'c>,
}

pub(crate) enum Connection<'c> {
    Sqlite(&'c mut rusqlite::Connection),
    Postgres(&'c mut postgres::Lane),
}

impl Sql<'_> {
    /// Reads all rows of a statement.
    pub(crate) async fn query(&mut self, text: &str, values: &[Value]) -> Result<Vec<Row>> {
        match &mut self.connection {
            Connection::Sqlite(connection) => sqlite::query(connection, text, values),
            Connection::Postgres(lane) => lane.query(text, values).await,
        }
    }

    /// Reads at most one row.
    pub(crate) async fn one(&mut self, text: &str, values: &[Value]) -> Result<Option<Row>> {
        Ok(self.query(text, values).await?.into_iter().next())
    }

    /// Runs a statement and says how many rows it changed.
    pub(crate) async fn execute(&mut self, text: &str, values: &[Value]) -> Result<u64> {
        match &mut self.connection {
            Connection::Sqlite(connection) => sqlite::execute(connection, text, values),
            Connection::Postgres(lane) => lane.execute(text, values).await,
        }
    }

    /// Reads the rows of several statements without waiting in between.
    pub(crate) async fn queries(&mut self, statements: &[Statement]) -> Result<Vec<Vec<Row>>> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                statements.iter().map(|it| sqlite::query(connection, &it.text, &it.values)).collect()
            }
            Connection::Postgres(lane) => lane.queries(statements).await,
        }
    }

    /// Runs the last statements of a transaction without waiting in between, and commits it.
    pub(crate) async fn finish(&mut self, statements: &[Statement]) -> Result<()> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                for statement in statements {
                    sqlite::execute(connection, &statement.text, &statement.values)?;
                }
                Ok(())
            }
            Connection::Postgres(lane) => lane.finish(statements).await,
        }
    }

    /// Does `step`, and where that changed a row, all of `inserts`, in one statement and without a transaction around it.
    ///
    /// Says whether it did. PostgreSQL only: a SQLite file has its arrivals.
    pub(crate) async fn land(&mut self, step: &Statement, inserts: &[Statement]) -> Result<bool> {
        match &mut self.connection {
            Connection::Sqlite(_) => Ok(false),
            Connection::Postgres(lane) => lane.land(step, inserts).await,
        }
    }

    /// What the databases cannot say alike.
    pub(crate) fn either<T>(&self, sqlite: T, postgres: T) -> T {
        match self.connection {
            Connection::Sqlite(_) => sqlite,
            Connection::Postgres(_) => postgres,
        }
    }
}

/// Work on a connection.
pub(crate) trait Work<T>:
    for<'c> FnOnce(Sql<'c>) -> Pin<Box<dyn Future<Output = Result<T>> + Send + 'c>> + Send + 'static
{
}
impl<T, W> Work<T> for W where
    W: for<'c> FnOnce(Sql<'c>) -> Pin<Box<dyn Future<Output = Result<T>> + Send + 'c>> + Send + 'static
{
}
