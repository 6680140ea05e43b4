//! Memos: small values by scope and name. The last one written counts.

use epitome_core::Time;

use super::tenant;
use crate::error::{LedgerError, Result};
use crate::model::{Memo, SessionId, TenantId};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, values_of};

/// Writes a memo, in the place of the one before.
pub(crate) async fn put(sql: &mut Sql<'_>, tenant: TenantId, new: [String; 3]) -> Result<Memo> {
    let [scope, name, value] = new;
    if scope.is_empty() || name.is_empty() {
        return Err(LedgerError::BadRequest("a memo without a scope or a name".to_owned()));
    }
    let tenant = tenant::ensure(sql, tenant).await?;
    let time = sql.shared.clock.now();
    let upsert = "INSERT INTO memos (tenant, scope, name, value, time) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (tenant, scope, name) DO UPDATE SET value = excluded.value, time = excluded.time";
    let values = values_of![tenant, scope.as_str(), name.as_str(), value.as_str(), time];
    sql.execute(upsert, &values).await?;
    Ok(Memo { scope, name, value, time })
}

/// The memo of this scope and name.
pub(crate) async fn get(sql: &mut Sql<'_>, tenant: i64, scope: &str, name: &str) -> Result<Option<Memo>> {
    let text =
        "SELECT key, scope, name, value, time FROM memos WHERE tenant = $1 AND scope = $2 AND name = $3";
    let row = sql.one(text, &values_of![tenant, scope, name]).await?;
    row.map(|row| Ok(read(row)?.1)).transpose()
}

/// The memos of a scope, in the order in which they were first written.
pub(crate) async fn list(sql: &mut Sql<'_>, tenant: i64, scope: &str, paging: Paging) -> Result<Page<Memo>> {
    let after = paging.after.map_or(Ok(0), |cursor| cursor.number())?;
    let text = "SELECT key, scope, name, value, time FROM memos WHERE tenant = $1 AND scope = $2 AND key > $3 \
         ORDER BY key LIMIT $4";
    let rows = sql.query(text, &values_of![tenant, scope, after, paging.limit + 1]).await?;
    let memos = rows.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(Page::of(memos, paging.limit, |(key, _)| Cursor::of(*key)).map(|(_, memo)| memo))
}

/// Forgets the memos that have the name of a session.
pub(crate) async fn forget(sql: &mut Sql<'_>, session: i64) -> Result<()> {
    let row = sql.one("SELECT tenant, id FROM sessions WHERE key = $1", &values_of![session]).await?;
    let Some(mut row) = row else { return Ok(()) };
    let (tenant, id) = (row.int()?, SessionId::from_uuid(row.uuid()?).to_string());
    sql.execute("DELETE FROM memos WHERE tenant = $1 AND name = $2", &values_of![tenant, id]).await?;
    Ok(())
}

fn read(mut row: Row) -> Result<(i64, Memo)> {
    let key = row.int()?;
    let memo = Memo { scope: row.text()?, name: row.text()?, value: row.text()?, time: Time(row.int()?) };
    Ok((key, memo))
}
