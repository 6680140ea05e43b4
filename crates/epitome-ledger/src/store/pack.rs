//! Packing bodies that lie as they were written, a few at a time, when nobody waits.

use std::pin::Pin;
use std::sync::Arc;

use super::message::dictionary;
use crate::body::{self, Dictionary, PLAIN};
use crate::error::{LedgerError, Result};
use crate::sql::{Sql, values_of};

/// Bodies packed in one step: few enough to let a writer in between.
const STEP: usize = 64;
/// A dictionary is trained when there are so many bodies, because what a database is about shows only with time.
const TRAINED_AT: [i64; 3] = [256, 4096, 65_536];
/// Places at which bodies are taken to learn from, and bodies taken at each.
const PLACES: i64 = 40;
const BODIES_A_PLACE: i64 = 50;
/// Longer bodies bring their own context; only their heads are learnt from.
const SAMPLE_BYTES: usize = 8 * 1024;

/// Packs a few bodies and says how many were looked at.
pub(crate) fn step(mut sql: Sql<'_>) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + '_>> {
    Box::pin(async move { some(&mut sql).await })
}

async fn some(sql: &mut Sql<'_>) -> Result<usize> {
    let lock = sql.either("SELECT body FROM packed", "SELECT body FROM packed FOR UPDATE");
    let done = number(sql, lock).await?;
    let text = "SELECT key, bytes FROM bodies WHERE key > $1 AND packing = 0 ORDER BY key LIMIT $2";
    let rows = sql.query(text, &values_of![done, STEP]).await?;
    let chosen = if rows.is_empty() { None } else { current(sql).await? };
    let count = rows.len();
    let mut last = done;
    for mut row in rows {
        let bytes;
        (last, bytes) = (row.int()?, row.blob()?);
        let with = chosen.as_ref().map(|(key, dictionary)| (*key, dictionary.as_ref()));
        if let Some((packing, packed)) = body::pack(&bytes, with) {
            let update = "UPDATE bodies SET packing = $1, bytes = $2 WHERE key = $3";
            sql.execute(update, &values_of![packing, packed, last]).await?;
        }
    }
    if count > 0 {
        sql.execute("UPDATE packed SET body = $1", &values_of![last]).await?;
    }
    Ok(count)
}

async fn number(sql: &mut Sql<'_>, text: &str) -> Result<i64> {
    let row = sql.one(text, &[]).await?;
    Ok(row.ok_or_else(|| LedgerError::damaged("a number is missing"))?.maybe_int()?.unwrap_or(0))
}

// The newest dictionary, trained now if it is time.
async fn current(sql: &mut Sql<'_>) -> Result<Option<(i64, Arc<Dictionary>)>> {
    let newest = number(sql, "SELECT max(key) FROM dictionaries").await?;
    let bodies = number(sql, "SELECT max(key) FROM bodies").await?;
    let due = PLAIN + TRAINED_AT.iter().filter(|at| bodies >= **at).count() as i64;
    if due > newest.max(PLAIN)
        && let Some(bytes) = Dictionary::train(&samples(sql, bodies).await?)
    {
        let insert = "INSERT INTO dictionaries (key, bytes) VALUES ($1, $2)";
        sql.execute(insert, &values_of![due, bytes.as_slice()]).await?;
        return Ok(Some((due, Arc::new(Dictionary::new(&bytes)))));
    }
    match newest {
        0 => Ok(None),
        key => Ok(Some((key, dictionary(sql, key).await?))),
    }
}

async fn samples(sql: &mut Sql<'_>, bodies: i64) -> Result<Vec<Vec<u8>>> {
    let text = "SELECT size, packing, bytes FROM bodies WHERE key > $1 ORDER BY key LIMIT $2";
    let mut samples = Vec::new();
    let mut unpacker = super::message::Unpacker::default();
    for place in 0..PLACES {
        let start = bodies.saturating_mul(place) / PLACES;
        let count = BODIES_A_PLACE.min(bodies / PLACES + 1);
        for mut row in sql.query(text, &values_of![start, count]).await? {
            let mut bytes = unpacker.next(sql, &mut row).await?;
            bytes.truncate(SAMPLE_BYTES);
            samples.push(bytes);
        }
    }
    Ok(samples)
}
