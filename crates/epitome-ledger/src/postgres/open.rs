//! Bringing a PostgreSQL database to the present schema.

use super::lane::Lane;
use crate::error::{LedgerError, Result};
use crate::migrations;
use crate::options::Access;

/// The number under which processes that migrate wait for each other, within one transaction.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4997705)";

/// Checks the version of the schema, and brings it to the present one where that is allowed.
pub(super) async fn migrate(lane: &mut Lane, access: Access) -> Result<()> {
    let known = migrations::POSTGRES.len() as i64;
    let found = supported(lane, known).await?;
    if found == known {
        return Ok(());
    }
    match access {
        Access::ReadOnly if found == 0 => {
            return Err(LedgerError::NoLedger("the database is empty".to_owned()));
        }
        Access::ReadOnly => return Err(LedgerError::OlderSchema { found, known }),
        Access::ReadWrite => {}
    }
    lane.script(LOCK).await?;
    // Another process may have been faster, and may know more.
    let found = supported(lane, known).await?;
    lane.script("CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT NOT NULL)").await?;
    for migration in migrations::POSTGRES.iter().skip(usize::try_from(found).unwrap_or(0)) {
        lane.script(migration.sql).await?;
    }
    lane.script(&format!("DELETE FROM ledger_schema; INSERT INTO ledger_schema VALUES ({known})")).await
}

// The version that was found, where this program knows it.
async fn supported(lane: &mut Lane, known: i64) -> Result<i64> {
    let found = version(lane).await?;
    if found > known { Err(LedgerError::NewerSchema { found, known }) } else { Ok(found) }
}

// An empty database has version zero.
async fn version(lane: &mut Lane) -> Result<i64> {
    let exists = "SELECT count(*) FROM pg_tables \
         WHERE tablename = 'ledger_schema' AND schemaname = ANY (current_schemas(false))";
    let mut rows = lane.query(exists, &[]).await?;
    if rows.first_mut().map(|row| row.int()).transpose()? != Some(1) {
        return Ok(0);
    }
    let mut rows = lane.query("SELECT max(version) FROM ledger_schema", &[]).await?;
    Ok(rows.first_mut().map(|row| row.maybe_int()).transpose()?.flatten().unwrap_or(0))
}
