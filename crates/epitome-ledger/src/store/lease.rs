//! Leases: rows, not locks of a connection, so that they outlive connections and work through poolers.
//!
//! On PostgreSQL the server's clock decides, because it is the only one that all processes share. A SQLite file has one
//! process, and that process has the clock.

use std::time::Duration;

use epitome_core::Time;

use super::session::Standing;
use super::{session, tenant};
use crate::error::{LedgerError, Result};
use crate::model::{Lease, SessionId, TenantId};
use crate::sql::{Sql, Value, values_of};

/// The present moment as SQL: a value on SQLite, the server's clock on PostgreSQL.
const SERVER_CLOCK: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

async fn now(sql: &mut Sql<'_>) -> Result<Time> {
    if sql.either(true, false) {
        return Ok(sql.shared.clock.now());
    }
    let row = sql.one(&format!("SELECT {SERVER_CLOCK}"), &[]).await?;
    Ok(Time(row.ok_or_else(|| LedgerError::damaged("the server has no clock"))?.int()?))
}

/// Refuses a writer without a fence while somebody holds the lease.
pub(crate) async fn check_free(sql: &mut Sql<'_>, standing: &Standing) -> Result<()> {
    let session = standing.session.id;
    let Some((holder, until)) = holder(sql, standing).await? else { return Ok(()) };
    match now(sql).await? {
        now if until > now => Err(LedgerError::Leased { session, holder, until }),
        _ => Ok(()),
    }
}

// Who took the lease last without giving it back, and until when.
async fn holder(sql: &mut Sql<'_>, standing: &Standing) -> Result<Option<(String, Time)>> {
    let text = "SELECT lease_holder, lease_until FROM sessions WHERE key = $1";
    let row = sql.one(text, &values_of![standing.key]).await?;
    let mut row = row.ok_or_else(|| LedgerError::no_session(standing.session.id))?;
    Ok(row.maybe_text()?.zip(row.maybe_int()?.map(Time)))
}

/// Takes the lease of a session, unless somebody else holds it.
pub(crate) async fn acquire(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    id: SessionId,
    holder: String,
    lasts: Duration,
) -> Result<Lease> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, id).await?;
    let now = now(sql).await?;
    if let Some((other, until)) = self::holder(sql, &standing).await?
        && other != holder
        && until > now
    {
        return Err(LedgerError::Leased { session: id, holder: other, until });
    }
    let (fence, until) = (standing.fence + 1, end(now, lasts));
    let update = "UPDATE sessions SET lease_holder = $1, lease_until = $2, fence = $3 WHERE key = $4";
    sql.execute(update, &values_of![holder.as_str(), until, fence, standing.key]).await?;
    Ok(Lease { session: id, holder, fence, until })
}

/// Makes a lease last longer, if nobody else has taken it since.
pub(crate) async fn renew(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    lease: Lease,
    lasts: Duration,
) -> Result<Lease> {
    let until = end(now(sql).await?, lasts);
    change(sql, tenant, &lease, Some(until)).await?;
    Ok(Lease { until, ..lease })
}

/// Gives a lease back before it ends.
pub(crate) async fn release(sql: &mut Sql<'_>, tenant: TenantId, lease: Lease) -> Result<()> {
    change(sql, tenant, &lease, None).await
}

async fn change(sql: &mut Sql<'_>, tenant: TenantId, lease: &Lease, until: Option<Time>) -> Result<()> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, lease.session).await?;
    if standing.fence != lease.fence {
        let (session, given, current) = (lease.session, lease.fence, standing.fence);
        return Err(LedgerError::Fenced { session, given, current });
    }
    let holder = until.map_or(Value::Null, |_| Value::from(lease.holder.as_str()));
    let update = "UPDATE sessions SET lease_holder = $1, lease_until = $2 WHERE key = $3";
    sql.execute(update, &[holder, until.into(), standing.key.into()]).await?;
    Ok(())
}

fn end(now: Time, lasts: Duration) -> Time {
    Time(now.0.saturating_add(i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX)))
}
