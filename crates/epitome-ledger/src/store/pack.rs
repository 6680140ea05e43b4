//! Packing bodies that lie as they were written, a few at a time, when nobody waits.

use std::pin::Pin;
use std::sync::Arc;

use crate::body::{self, PACK_BYTES};
use crate::error::{LedgerError, Result};
use crate::sql::{Row, Sql, values_of};

/// Bodies looked at in one step: few enough to let a writer in between.
const STEP: usize = 256;

/// Whether bodies that do not fill a pack are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// They wait for more.
    Wait,
    /// They are packed, too.
    Pack,
}

/// A body that lies as it was written.
struct Raw {
    key: i64,
    tenant: i64,
    bytes: Vec<u8>,
}

/// Packs a few bodies and says how many.
pub(crate) fn step(mut sql: Sql<'_>, rest: Rest) -> Pin<Box<dyn Future<Output = Result<usize>> + Send + '_>> {
    Box::pin(async move { some(&mut sql, rest).await })
}

async fn some(sql: &mut Sql<'_>, rest: Rest) -> Result<usize> {
    let lock = sql.either("SELECT packed FROM progress", "SELECT packed FROM progress FOR UPDATE");
    let row = sql.one(lock, &[]).await?;
    let done = row.ok_or_else(|| LedgerError::damaged("progress is not recorded"))?.int()?;
    let text = "SELECT key, tenant, bytes FROM bodies WHERE key > $1 AND pack IS NULL ORDER BY key LIMIT $2";
    let rows = sql.query(text, &values_of![done, STEP]).await?;
    let ended = rows.len() < STEP;
    let read = |mut row: Row| Ok(Raw { key: row.int()?, tenant: row.int()?, bytes: row.blob()? });
    let mut groups = groups(rows.into_iter().map(read).collect::<Result<_>>()?);
    if ended && rest == Rest::Wait && groups.last().is_some_and(|group| size(group) < PACK_BYTES) {
        groups.pop();
    }
    let mut packed = 0;
    for group in groups {
        packed += group.len();
        write(sql, group).await?;
    }
    Ok(packed)
}

fn size(group: &[Raw]) -> usize {
    group.iter().map(|raw| raw.bytes.len()).sum()
}

// Neighbours of one tenant, until they fill a pack.
fn groups(bodies: Vec<Raw>) -> Vec<Vec<Raw>> {
    let mut groups: Vec<Vec<Raw>> = Vec::new();
    for raw in bodies {
        match groups.last_mut() {
            Some(group)
                if group.first().is_some_and(|first| first.tenant == raw.tenant)
                    && size(group) + raw.bytes.len() <= PACK_BYTES =>
            {
                group.push(raw);
            }
            _ => groups.push(vec![raw]),
        }
    }
    groups
}

async fn write(sql: &mut Sql<'_>, group: Vec<Raw>) -> Result<()> {
    let (Some(first), Some(last)) = (group.first(), group.last().map(|raw| raw.key)) else { return Ok(()) };
    let tenant = first.tenant;
    let together: Vec<u8> = group.iter().flat_map(|raw| &raw.bytes).copied().collect();
    let packed = body::pack(&together)?;
    if packed.len() < together.len() {
        let insert = "INSERT INTO packs (tenant, size, bytes) VALUES ($1, $2, $3) RETURNING key";
        let row = sql.one(insert, &values_of![tenant, together.len(), packed]).await?;
        let pack = row.ok_or_else(|| LedgerError::damaged("a pack has no key"))?.int()?;
        let mut place = 0;
        for raw in &group {
            let update = "UPDATE bodies SET pack = $1, place = $2, bytes = NULL WHERE key = $3";
            sql.execute(update, &values_of![pack, place, raw.key]).await?;
            place += raw.bytes.len();
        }
        if sql.either(true, false) {
            close_up(sql, &group).await?;
        }
    }
    sql.execute("UPDATE progress SET packed = $1", &values_of![last]).await?;
    Ok(())
}

// SQLite leaves a page as it is when a row in it shrinks; only rows that leave make neighbours move together.
async fn close_up(sql: &mut Sql<'_>, group: &[Raw]) -> Result<()> {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
    let text = "DELETE FROM bodies WHERE key >= $1 AND key <= $2 \
         RETURNING key, tenant, hash, digest, size, pack, place, bytes";
    let insert = "INSERT INTO bodies (key, tenant, hash, digest, size, pack, place, bytes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    for row in sql.query(text, &values_of![first.key, last.key]).await? {
        sql.execute(insert, &row.into_values()).await?;
    }
    Ok(())
}

/// Gives pages that are free back to the file system, and says how many are left.
pub(crate) async fn shrink(sql: &mut Sql<'_>) -> Result<i64> {
    if sql.either(false, true) {
        return Ok(0);
    }
    sql.query("PRAGMA incremental_vacuum(2048)", &[]).await?;
    let row = sql.one("PRAGMA freelist_count", &[]).await?;
    row.map_or(Ok(0), |mut row| row.int())
}

/// The bodies of a pack, one behind the other.
pub(crate) async fn open(sql: &mut Sql<'_>, key: i64) -> Result<Arc<Vec<u8>>> {
    if let Some(pack) = sql.shared.packs.get(key) {
        return Ok(pack);
    }
    let row = sql.one("SELECT size, bytes FROM packs WHERE key = $1", &values_of![key]).await?;
    let mut row = row.ok_or_else(|| LedgerError::damaged(format!("pack {key} of bodies is missing")))?;
    let size = row.count()?;
    let pack = Arc::new(body::unpack(&row.blob()?, size)?);
    sql.shared.packs.put(key, &pack);
    Ok(pack)
}

/// Takes a pack apart again, so that nothing remains of a body that was purged.
pub(crate) async fn dissolve(sql: &mut Sql<'_>, key: i64) -> Result<()> {
    let pack = open(sql, key).await?;
    let text = "SELECT key, size, place FROM bodies WHERE pack = $1 ORDER BY key";
    let rows = sql.query(text, &values_of![key]).await?;
    let mut first = None;
    for mut row in rows {
        let (body, size, place) = (row.int()?, row.count()?, row.count()?);
        let bytes = slice(&pack, place, size)?;
        let update = "UPDATE bodies SET pack = NULL, place = NULL, bytes = $1 WHERE key = $2";
        sql.execute(update, &values_of![bytes, body]).await?;
        first.get_or_insert(body);
    }
    sql.execute("DELETE FROM packs WHERE key = $1", &values_of![key]).await?;
    sql.shared.packs.clear();
    if let Some(first) = first {
        let update = "UPDATE progress SET packed = $1 WHERE packed >= $1";
        sql.execute(update, &values_of![first - 1]).await?;
    }
    Ok(())
}

/// A body in its pack.
pub(crate) fn slice(pack: &[u8], place: u64, size: u64) -> Result<&[u8]> {
    let start = usize::try_from(place).ok();
    let end = start.zip(usize::try_from(size).ok()).and_then(|(start, size)| start.checked_add(size));
    let slice = start.zip(end).and_then(|(start, end)| pack.get(start..end));
    slice.ok_or_else(|| LedgerError::damaged("a body reaches beyond its pack"))
}
