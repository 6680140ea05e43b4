//! Arrivals: what was appended to a SQLite file, acknowledged, and is not sorted into its tables yet.
//!
//! The rows of a turn lie in five tables and as many indexes, on a dozen pages. So many writers would wait for one thread to
//! touch them all. Instead the statements that record a turn are kept as one row, durably, and run a little later, many
//! turns at a time. Whoever needs more than the rows of sessions has them run first.
//!
//! What cannot be sorted in is set aside, under a key below zero, so that it does not stop the rest. It was acknowledged, so
//! it is kept, tried again by whoever opens the file and by the doctor, who tells of what is left.

use std::borrow::Cow;

use crate::error::{LedgerError, Result};
use crate::sql::{Sql, Statement, Value, values_of};

/// The version of the form in which statements are kept.
const VERSION: u8 = 1;

/// What can be kept. The number of a statement is its place here; it never changes.
const FORMS: [&str; 7] = [
    super::append::INSERT_TURN,
    super::append::INSERT_REPLY,
    super::message::INSERT_BODY,
    super::message::INSERT_MESSAGE,
    super::entry::INSERT_OF_SESSION,
    super::recall::INSERT,
    super::entry::INSERT,
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

/// Keeps what is to be sorted in later, and does `step`; says whether that changed a row, and keeps nothing where it did not,
/// nor where there is such a turn already: whoever looks first can tell whether this is the same.
///
/// It has no savepoint around it: whatever fails leaves nothing behind, or ends the whole transaction.
pub(crate) async fn keep(
    sql: &mut Sql<'_>,
    tenant: i64,
    turn: Option<&uuid::Uuid>,
    record: Vec<u8>,
    step: &Statement,
) -> Result<bool> {
    let there = "SELECT 1 FROM turns WHERE id = $1 UNION ALL SELECT 1 FROM arrivals WHERE turn = $1";
    if let Some(turn) = turn
        && sql.one(there, &values_of![turn]).await?.is_some()
    {
        return Ok(false);
    }
    // SQLite would go on behind the highest key, also where that is below zero.
    let insert = "INSERT INTO arrivals (tenant, turn, record, key) \
         VALUES ($1, $2, $3, (SELECT max(COALESCE(max(key), 0), 0) + 1 FROM arrivals)) RETURNING key";
    let row = sql.one(insert, &values_of![tenant, turn, record]).await?;
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
    let row = sql.one("SELECT count(*) FROM arrivals WHERE key > 0", &[]).await?;
    let count = row.map(|mut row| row.count()).transpose()?.unwrap_or(0);
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Sorts in the oldest so many arrivals, and says how many there were.
pub(crate) async fn settle(sql: &mut Sql<'_>, most: usize) -> Result<usize> {
    let text = "SELECT key, record FROM arrivals WHERE key > 0 ORDER BY key LIMIT $1";
    let rows = sql.query(text, &values_of![most]).await?;
    let arrivals =
        rows.into_iter().map(|mut row| Ok((row.int()?, row.blob()?))).collect::<Result<Vec<_>>>()?;
    let Some((last, _)) = arrivals.last() else { return Ok(0) };
    // All of them share a savepoint, because one for each has its price.
    sql.execute("SAVEPOINT sorting", &[]).await?;
    match all(sql, &arrivals).await {
        Err(error) if error.is_refusal() => {
            sql.execute("ROLLBACK TO sorting", &[]).await?;
            each(sql, &arrivals).await?;
        }
        sorted => sorted?,
    }
    sql.execute("DELETE FROM arrivals WHERE key > 0 AND key <= $1", &values_of![*last]).await?;
    sql.execute("RELEASE sorting", &[]).await?;
    Ok(arrivals.len())
}

async fn all(sql: &mut Sql<'_>, arrivals: &[(i64, Vec<u8>)]) -> Result<()> {
    for (_, record) in arrivals {
        one(sql, record).await?;
    }
    Ok(())
}

// Sorts in each by itself, and sets aside those for which that cannot be.
async fn each(sql: &mut Sql<'_>, arrivals: &[(i64, Vec<u8>)]) -> Result<()> {
    let aside = "UPDATE arrivals SET key = (SELECT min(min(key), 0) - 1 FROM arrivals) WHERE key = $1";
    for (key, record) in arrivals {
        sql.execute("SAVEPOINT arrival", &[]).await?;
        match one(sql, record).await {
            Err(error) if error.is_refusal() => {
                sql.execute("ROLLBACK TO arrival", &[]).await?;
                sql.execute(aside, &values_of![*key]).await?;
                tracing::warn!(%error, "something that was recorded cannot be put in its place");
            }
            sorted => sorted?,
        }
        sql.execute("RELEASE arrival", &[]).await?;
    }
    Ok(())
}

/// Tries once more what was set aside, and says how much of it is in its place now.
pub(crate) async fn retry(sql: &mut Sql<'_>) -> Result<usize> {
    let mut sorted = 0;
    for mut row in sql.query("SELECT key, record FROM arrivals WHERE key < 0 ORDER BY key DESC", &[]).await? {
        let (key, record) = (row.int()?, row.blob()?);
        sql.execute("SAVEPOINT arrival", &[]).await?;
        match one(sql, &record).await {
            Ok(()) => {
                sql.execute("DELETE FROM arrivals WHERE key = $1", &values_of![key]).await?;
                tracing::info!(arrival = key.unsigned_abs(), "what was set aside is in its place now");
                sorted += 1;
            }
            Err(error) if error.is_refusal() => drop(sql.execute("ROLLBACK TO arrival", &[]).await?),
            Err(error) => return Err(error),
        }
        sql.execute("RELEASE arrival", &[]).await?;
    }
    Ok(sorted)
}

async fn one(sql: &mut Sql<'_>, record: &[u8]) -> Result<()> {
    for statement in decode(record)? {
        sql.execute(&statement.text, &statement.values).await?;
    }
    Ok(())
}

/// What was set aside: its key, and the key of its session where that can be read.
pub(crate) async fn aside(sql: &mut Sql<'_>) -> Result<Vec<(i64, Option<i64>)>> {
    let rows = sql.query("SELECT key, record FROM arrivals WHERE key < 0 ORDER BY key DESC", &[]).await?;
    rows.into_iter().map(|mut row| Ok((row.int()?, session(&row.blob()?)))).collect()
}

// The record of a turn and that of a reply begin with the row of it, and that with its session.
fn session(record: &[u8]) -> Option<i64> {
    match decode(record).ok()?.first()?.values.first()? {
        Value::Int(session) => Some(*session),
        _ => None,
    }
}

/// Takes out what was set aside of a session.
pub(crate) async fn forget(sql: &mut Sql<'_>, session: i64) -> Result<()> {
    for (key, owner) in aside(sql).await? {
        if owner == Some(session) {
            sql.execute("DELETE FROM arrivals WHERE key = $1", &values_of![key]).await?;
        }
    }
    Ok(())
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
