//! Arrivals: what was appended to a SQLite file, acknowledged, and is not sorted into its tables yet.
//!
//! The rows of a turn lie in five tables and as many indexes, on a dozen pages. So many writers would wait for one thread to
//! touch them all. Instead the statements that record a turn are kept as one row, durably, and run a little later, many
//! turns at a time. Whoever needs more than the rows of sessions has them run first.

use std::borrow::Cow;

use crate::error::{LedgerError, Result};
use crate::sql::{Row, Sql, Statement, Value, values_of};

/// The version of the form in which statements are kept.
const VERSION: u8 = 1;

/// What can be kept. The number of a statement is its place here; it never changes.
const FORMS: [&str; 6] = [
    super::append::INSERT_TURN,
    super::append::INSERT_REPLY,
    super::message::INSERT_BODY,
    super::message::INSERT_MESSAGE,
    super::entry::INSERT,
    super::recall::INSERT,
];

/// Statements as the bytes of one row; nothing where one of them cannot be kept.
pub(crate) fn encode(statements: &[Statement]) -> Option<Vec<u8>> {
    let size: usize = statements.iter().flat_map(|it| &it.values).map(size).sum();
    let mut record = Vec::with_capacity(size + 16);
    record.push(VERSION);
    for statement in statements {
        let form = FORMS.iter().position(|form| *form == statement.text)?;
        record.push(u8::try_from(form).ok()?);
        record.push(u8::try_from(statement.values.len()).ok()?);
        statement.values.iter().for_each(|value| write(value, &mut record));
    }
    Some(record)
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null => 1,
        Value::Int(_) => 9,
        Value::Text(text) => 9 + text.len(),
        Value::Blob(bytes) => 9 + bytes.len(),
    }
}

fn write(value: &Value, out: &mut Vec<u8>) {
    let mut counted = |tag, bytes: &[u8]| {
        out.push(tag);
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
    };
    match value {
        Value::Null => out.push(0),
        Value::Int(number) => {
            out.push(1);
            out.extend(number.to_le_bytes());
        }
        Value::Text(text) => counted(2, text.as_bytes()),
        Value::Blob(bytes) => counted(3, bytes),
    }
}

/// The statements that were kept as these bytes.
pub(crate) fn decode(record: &[u8]) -> Result<Vec<Statement>> {
    let mut rest = Rest(record);
    let version = rest.byte()?;
    if version > VERSION {
        return Err(LedgerError::NewerSchema { found: version.into(), known: VERSION.into() });
    }
    let mut statements = Vec::new();
    while !rest.0.is_empty() {
        let form = FORMS.get(usize::from(rest.byte()?)).ok_or_else(torn)?;
        let values = (0..rest.byte()?).map(|_| rest.value()).collect::<Result<Vec<_>>>()?;
        statements.push(Statement { text: Cow::Borrowed(form), values });
    }
    Ok(statements)
}

fn torn() -> LedgerError {
    LedgerError::damaged("an arrival cannot be read")
}

/// What is left to read of a record.
struct Rest<'r>(&'r [u8]);

impl Rest<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(torn)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1)?.first().copied().ok_or_else(torn)
    }

    fn word(&mut self) -> Result<[u8; 8]> {
        self.take(8)?.try_into().map_err(|_| torn())
    }

    fn counted(&mut self) -> Result<Vec<u8>> {
        let count = usize::try_from(u64::from_le_bytes(self.word()?)).map_err(|_| torn())?;
        Ok(self.take(count)?.to_vec())
    }

    fn value(&mut self) -> Result<Value> {
        Ok(match self.byte()? {
            0 => Value::Null,
            1 => Value::Int(i64::from_le_bytes(self.word()?)),
            2 => Value::Text(String::from_utf8(self.counted()?).map_err(|_| torn())?),
            3 => Value::Blob(self.counted()?),
            _ => return Err(torn()),
        })
    }
}

/// Keeps what is to be sorted in later, and does `step`; says whether that changed a row, and keeps nothing where it did not.
///
/// It has no savepoint around it: whatever fails leaves nothing behind, or ends the whole transaction.
pub(crate) async fn keep(
    sql: &mut Sql<'_>,
    turn: Option<&uuid::Uuid>,
    record: Vec<u8>,
    step: &Statement,
) -> Result<bool> {
    if let Some(turn) = turn
        && sql.one("SELECT 1 FROM turns WHERE id = $1", &values_of![turn]).await?.is_some()
    {
        return Err(LedgerError::Exists { what: "the turn", id: turn.to_string() });
    }
    let insert = "INSERT INTO arrivals (turn, record) VALUES ($1, $2) RETURNING key";
    let row = sql.one(insert, &values_of![turn, record]).await?;
    let key = row.ok_or_else(|| LedgerError::damaged("an arrival has no key"))?.int()?;
    let moved = sql.execute(&step.text, &step.values).await;
    if !matches!(moved, Ok(1)) {
        let undone = sql.execute("DELETE FROM arrivals WHERE key = $1", &values_of![key]).await;
        if undone.is_err() {
            sql.execute("ROLLBACK", &[]).await?;
        }
    }
    Ok(moved? > 0)
}

/// How much is not sorted in yet.
pub(crate) async fn count(sql: &mut Sql<'_>) -> Result<usize> {
    let row = sql.one("SELECT count(*) FROM arrivals", &[]).await?;
    let count = row.map(|mut row| row.count()).transpose()?.unwrap_or(0);
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Sorts in the oldest so many arrivals, and says how many there were.
pub(crate) async fn settle(sql: &mut Sql<'_>, most: usize) -> Result<usize> {
    let rows = sql.query("SELECT key, record FROM arrivals ORDER BY key LIMIT $1", &values_of![most]).await?;
    let count = rows.len();
    let mut last = None;
    for mut row in rows {
        last = Some(one(sql, &mut row).await?);
    }
    if let Some(last) = last {
        sql.execute("DELETE FROM arrivals WHERE key <= $1", &values_of![last]).await?;
    }
    Ok(count)
}

async fn one(sql: &mut Sql<'_>, row: &mut Row) -> Result<i64> {
    let (key, record) = (row.int()?, row.blob()?);
    for statement in decode(&record)? {
        sql.execute(&statement.text, &statement.values).await?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let values = values_of![1_i64, i64::MIN, "text with \u{1F980}", &[0_u8, 255][..], None::<i64>, ""];
        let statements: Vec<Statement> =
            FORMS.iter().map(|form| Statement::new(*form, values.clone())).collect();
        let record = encode(&statements).unwrap_or_default();
        let found = decode(&record).unwrap_or_default();
        assert_eq!(found.len(), FORMS.len());
        for (found, form) in found.iter().zip(FORMS) {
            assert_eq!((found.text.as_ref(), &found.values), (form, &values));
        }
        for length in 1..record.len() {
            let cut = record.get(..length).unwrap_or_default();
            assert!(decode(cut).is_ok_and(|some| some.len() < FORMS.len()) || decode(cut).is_err());
        }
        assert!(encode(&[Statement::new("DELETE FROM turns", Vec::new())]).is_none());
        assert!(matches!(decode(&[9]), Err(LedgerError::NewerSchema { .. })));
    }
}
