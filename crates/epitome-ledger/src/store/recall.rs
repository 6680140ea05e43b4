//! Recalling: which message holds the text that a marker stands for.

use epitome_core::RecallId;

use super::message::{self, Place};
use crate::error::Result;
use crate::model::{Recalled, SessionId};
use crate::sql::{Sql, Statement, values_of};

/// Makes a text of a message findable.
pub(crate) const INSERT: &str =
    "INSERT INTO recalls (tenant, id, session, ordinal) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";

/// The statements that make the texts of a message findable.
pub(crate) fn insert(recalls: Vec<RecallId>, place: &Place) -> impl Iterator<Item = Statement> {
    let (tenant, session, ordinal) = (place.tenant, place.session, place.ordinal);
    recalls
        .into_iter()
        .map(move |id| Statement::new(INSERT, values_of![tenant, id.number(), session, ordinal]))
}

/// The message recorded last that holds a text of this id.
pub(crate) async fn find(sql: &mut Sql<'_>, tenant: i64, id: RecallId) -> Result<Option<Recalled>> {
    let text = "SELECT r.session, r.ordinal, s.id FROM recalls r JOIN sessions s ON s.key = r.session \
         WHERE r.tenant = $1 AND r.id = $2 ORDER BY r.session DESC, r.ordinal DESC LIMIT 1";
    let Some(mut row) = sql.one(text, &values_of![tenant, id.number()]).await? else { return Ok(None) };
    let (owner, ordinal, session) = (row.int()?, row.count()?, SessionId::from_uuid(row.uuid()?));
    let found = message::read_own(sql, owner, ordinal).await?;
    Ok(Some(Recalled { session, message: found }))
}

/// Forgets the texts of messages that are gone.
pub(crate) async fn forget(sql: &mut Sql<'_>, tenant: i64) -> Result<()> {
    let text = "DELETE FROM recalls WHERE tenant = $1 AND NOT EXISTS (SELECT 1 FROM messages m \
         WHERE m.session = recalls.session AND m.ordinal = recalls.ordinal)";
    sql.execute(text, &values_of![tenant]).await?;
    Ok(())
}
