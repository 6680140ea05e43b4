//! Bodies: each unpacks to the bytes that its hash says, and somebody uses it.

use super::Checkup;
use crate::body;
use crate::error::Result;
use crate::sql::{Sql, values_of};
use crate::store::message::Unpacker;

const BATCH: i64 = 256;

pub(super) async fn check(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    let mut after = 0;
    let mut unpacker = Unpacker::default();
    loop {
        let text =
            "SELECT key, hash, size, pack, place, bytes FROM bodies WHERE key > $1 ORDER BY key LIMIT $2";
        let rows = sql.query(text, &values_of![after, BATCH]).await?;
        if rows.is_empty() {
            break;
        }
        for mut row in rows {
            let hash;
            (after, hash) = (row.int()?, row.blob()?);
            checkup.bodies += 1;
            match unpacker.next(sql, &mut row).await {
                Ok(bytes) if body::hash(&bytes).as_slice() == hash => {}
                Ok(_) => checkup.found(format!("body {after}"), "its bytes are not those of its hash"),
                Err(error) => checkup.found(format!("body {after}"), error.to_string()),
            }
        }
    }
    let unused =
        "SELECT key FROM bodies WHERE key NOT IN (SELECT body FROM messages UNION SELECT body FROM events)";
    for mut row in sql.query(unused, &[]).await? {
        checkup.found(format!("body {}", row.int()?), "nobody uses it");
    }
    Ok(())
}
