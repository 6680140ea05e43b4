//! Tenants, and the short keys that stand for them on every row.

use crate::error::Result;
use crate::model::TenantId;
use crate::sql::{Sql, values_of};

/// The key of a tenant; nothing where it never wrote anything.
pub(crate) async fn find(sql: &mut Sql<'_>, id: TenantId) -> Result<Option<i64>> {
    if let Some(key) = sql.shared.tenant(id) {
        return Ok(Some(key));
    }
    let row = sql.one("SELECT key FROM tenants WHERE id = $1", &values_of![id.as_uuid()]).await?;
    let key = row.map(|mut row| row.int()).transpose()?;
    // PostgreSQL shows only what is committed. The writer of a SQLite file sees what others wrote into the transaction that
    // they share with it, and that may yet be rolled back.
    if let Some(key) = key.filter(|_| sql.either(false, true)) {
        sql.shared.remember_tenant(id, key);
    }
    Ok(key)
}

/// The key of a tenant that may be new.
pub(crate) async fn ensure(sql: &mut Sql<'_>, id: TenantId) -> Result<i64> {
    if let Some(key) = find(sql, id).await? {
        return Ok(key);
    }
    let insert =
        "INSERT INTO tenants (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING key";
    let row = sql.one(insert, &values_of![id.as_uuid()]).await?;
    row.ok_or_else(|| crate::LedgerError::damaged("a tenant has no key"))?.int()
}

/// The key of a tenant, for reading: one that nobody has where it never wrote anything.
pub(crate) async fn known(sql: &mut Sql<'_>, id: TenantId) -> Result<i64> {
    let found = find(sql, id).await?;
    // What a reader sees is committed.
    if let Some(key) = found {
        sql.shared.remember_tenant(id, key);
    }
    Ok(found.unwrap_or(NOBODY))
}

/// The key of a tenant, for changing what it has: as [`known`], without remembering what may be rolled back.
pub(crate) async fn known_to_writer(sql: &mut Sql<'_>, id: TenantId) -> Result<i64> {
    Ok(find(sql, id).await?.unwrap_or(NOBODY))
}

/// The key of a tenant that does not exist.
const NOBODY: i64 = -1;

/// Whether a tenant is the only one that ever wrote anything.
pub(crate) async fn is_alone(sql: &mut Sql<'_>, tenant: i64) -> Result<bool> {
    let rows = sql.query("SELECT key FROM tenants LIMIT 2", &[]).await?;
    let keys = rows.into_iter().map(|mut row| row.int()).collect::<Result<Vec<_>>>()?;
    Ok(keys == [tenant])
}
