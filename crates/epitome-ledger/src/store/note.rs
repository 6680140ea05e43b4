//! Notes: pins, seals and their like, which hold for whoever has the turn on the path at which they were made.

use epitome_core::Time;

use super::path::Path;
use super::{session, tenant};
use crate::error::{LedgerError, Result};
use crate::model::{Expect, NewNote, Note, NoteKind, SessionId, TenantId};
use crate::sql::{Row, Sql, Statement, values_of};

/// Records a note at the head of a session.
pub(crate) async fn add(sql: &mut Sql<'_>, tenant: TenantId, expect: Expect, new: NewNote) -> Result<Note> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, expect.session).await?;
    standing.check(&expect)?;
    let (turns, length) = (standing.session.turns, standing.session.messages);
    if new.messages.is_empty() || new.messages.end > length {
        let range = new.messages;
        return Err(LedgerError::BadRequest(format!(
            "a note on messages {}..{} of a path of {length}",
            range.start, range.end
        )));
    }
    let time = new.time.unwrap_or_else(|| sql.shared.clock.now());
    let insert = "INSERT INTO notes (session, tenant, turns, kind, first, finish, content, time, number) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, (SELECT count(*) FROM notes WHERE session = $1))";
    let values = values_of![
        standing.key,
        tenant,
        turns,
        name(new.kind),
        new.messages.start,
        new.messages.end,
        new.content.as_deref(),
        time,
    ];
    sql.finish(&[Statement::new(insert, values)]).await?;
    Ok(Note { kind: new.kind, messages: new.messages, content: new.content, turns, time })
}

/// All notes on the path of a session, in the order in which they were made.
pub(crate) async fn list(sql: &mut Sql<'_>, tenant: i64, id: SessionId) -> Result<Vec<Note>> {
    let standing = session::by_id(sql, tenant, id).await?;
    let path = Path::to(sql, standing.end()).await?;
    let text = "SELECT kind, first, finish, content, turns, time FROM notes \
         WHERE session = $1 AND turns <= $2 ORDER BY number";
    let statement = |span: &super::path::Span| Statement::new(text, values_of![span.owner, span.turns.end]);
    let statements: Vec<Statement> = path.spans().iter().map(statement).collect();
    sql.queries(&statements).await?.into_iter().flatten().map(note).collect()
}

fn note(mut row: Row) -> Result<Note> {
    Ok(Note {
        kind: kind(&row.text()?)?,
        messages: row.count()?..row.count()?,
        content: row.maybe_text()?,
        turns: row.count()?,
        time: Time(row.int()?),
    })
}

fn name(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Pin => "pin",
        NoteKind::Unpin => "unpin",
        NoteKind::Seal => "seal",
    }
}

fn kind(name: &str) -> Result<NoteKind> {
    match name {
        "pin" => Ok(NoteKind::Pin),
        "unpin" => Ok(NoteKind::Unpin),
        "seal" => Ok(NoteKind::Seal),
        other => Err(LedgerError::damaged(format!("no note is called {other:?}"))),
    }
}
