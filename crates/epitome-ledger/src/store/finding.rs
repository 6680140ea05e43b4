//! Findings: recorded once, marked, listed. What became of one is a function of the rows.

use epitome_core::Time;
use epitome_core::knowledge::Kind;

use super::path::{Path, Span};
use super::{code, entry, session, tenant};
use crate::error::{LedgerError, Result};
use crate::model::{
    FindingFilter, FindingId, FindingMark, FindingState, NewFinding, RecordedFinding, SessionId, TenantId,
    TurnId,
};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, Statement, Value, values_of};

/// Records what was learnt from the path of a session, and says which of it was not recorded before.
pub(crate) async fn learn(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    id: SessionId,
    new: Vec<NewFinding>,
) -> Result<Vec<FindingId>> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let standing = session::lock(sql, tenant, id).await?;
    let path = Path::to(sql, standing.end()).await?;
    let mut recorded = Vec::new();
    for new in new {
        if new.message >= standing.session.messages {
            let (message, length) = (new.message, standing.session.messages);
            return Err(LedgerError::BadRequest(format!(
                "a finding of message {message} of a path of {length}"
            )));
        }
        if let Some(before) = new.supersedes {
            key(sql, tenant, before).await?;
        }
        let owner = path.owner_of_message(new.message)?;
        let insert = "INSERT INTO findings (tenant, id, agent, session, ordinal, kind, subject, content, supersedes, \
             time) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (tenant, id) DO NOTHING RETURNING key";
        let values = values_of![
            tenant,
            new.id.as_uuid(),
            standing.session.agent.as_str(),
            owner,
            new.message,
            code::of_knowledge(new.kind),
            new.subject,
            new.text,
            new.supersedes.as_ref().map(FindingId::as_uuid),
            new.time.unwrap_or_else(|| sql.shared.clock.now()),
        ];
        if let Some(mut row) = sql.one(insert, &values).await? {
            let entry = entry::insert(entry::Place::finding(tenant, owner, row.count()?));
            sql.execute(&entry.text, &entry.values).await?;
            recorded.push(new.id);
        }
    }
    Ok(recorded)
}

/// Says something of a finding.
pub(crate) async fn mark(
    sql: &mut Sql<'_>,
    tenant: TenantId,
    id: FindingId,
    mark: FindingMark,
) -> Result<RecordedFinding> {
    let tenant = tenant::known_to_writer(sql, tenant).await?;
    let finding = key(sql, tenant, id).await?;
    let insert = "INSERT INTO finding_marks (tenant, finding, mark, time) VALUES ($1, $2, $3, $4)";
    let values = values_of![tenant, finding, code::of_mark(mark), sql.shared.clock.now()];
    sql.execute(insert, &values).await?;
    by_id(sql, tenant, id).await
}

// Nobody takes it away until the transaction ends.
async fn key(sql: &mut Sql<'_>, tenant: i64, id: FindingId) -> Result<i64> {
    let text = sql.either(
        "SELECT key FROM findings WHERE tenant = $1 AND id = $2",
        "SELECT key FROM findings WHERE tenant = $1 AND id = $2 FOR SHARE",
    );
    let row = sql.one(text, &values_of![tenant, id.as_uuid()]).await?;
    row.ok_or_else(|| missing(id))?.int()
}

fn missing(id: FindingId) -> LedgerError {
    LedgerError::NotFound { what: "finding", id: id.to_string() }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT f.key, f.tenant, f.id, f.kind, f.agent, f.subject, f.content, s.id, t.id, f.ordinal, ",
            "f.supersedes, f.time, (SELECT m.mark FROM finding_marks m WHERE m.finding = f.key ORDER BY m.key DESC ",
            "LIMIT 1) FROM findings f JOIN sessions s ON s.key = f.session ",
            "JOIN messages g ON g.session = f.session AND g.ordinal = f.ordinal ",
            "JOIN turns t ON t.session = f.session AND t.number = g.turn WHERE ",
            $rest
        )
    };
}

/// A finding by its id.
pub(crate) async fn by_id(sql: &mut Sql<'_>, tenant: i64, id: FindingId) -> Result<RecordedFinding> {
    let rows = sql.query(select!("f.tenant = $1 AND f.id = $2"), &values_of![tenant, id.as_uuid()]).await?;
    read(sql, rows, None).await?.pop().map(|(_, finding)| finding).ok_or_else(|| missing(id))
}

/// A finding by its key.
pub(crate) async fn by_key(sql: &mut Sql<'_>, key: u64) -> Result<Option<RecordedFinding>> {
    let rows = sql.query(select!("f.key = $1"), &values_of![key]).await?;
    Ok(read(sql, rows, None).await?.pop().map(|(_, finding)| finding))
}

/// Findings, the latest learnt first.
pub(crate) async fn list(
    sql: &mut Sql<'_>,
    tenant: i64,
    filter: FindingFilter,
    paging: Paging,
) -> Result<Page<RecordedFinding>> {
    let mut before = paging.after.map_or(Ok(i64::MAX), |cursor| cursor.number())?;
    let spans = match filter.session {
        None => None,
        Some(id) => {
            let standing = session::by_id(sql, tenant, id).await?;
            Some(Path::to(sql, standing.end()).await?.spans().to_vec())
        }
    };
    let wanted = |finding: &RecordedFinding| {
        filter.kind.is_none_or(|kind| finding.kind == kind)
            && filter.agent.as_ref().is_none_or(|agent| finding.agent == *agent)
            && (filter.states.is_empty() || filter.states.contains(&finding.state))
    };
    let batch = paging.limit + 1;
    let mut found = Vec::new();
    loop {
        let statements = statements(tenant, &filter, spans.as_deref(), before, batch);
        let rows: Vec<Row> = sql.queries(&statements).await?.into_iter().flatten().collect();
        let mut some = read(sql, rows, spans.as_deref()).await?;
        some.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
        some.truncate(batch);
        let ended = some.len() < batch;
        before = some.last().map_or(before, |(key, _)| *key);
        found.extend(some.into_iter().filter(|(_, finding)| wanted(finding)));
        if ended || found.len() > paging.limit {
            return Ok(Page::of(found, paging.limit, |(key, _)| Cursor::of(*key)).map(|(_, finding)| finding));
        }
    }
}

fn statements(
    tenant: i64,
    filter: &FindingFilter,
    spans: Option<&[Span]>,
    before: i64,
    limit: usize,
) -> Vec<Statement> {
    let on_path = select!(
        "f.session = $1 AND f.ordinal >= $2 AND f.ordinal < $3 AND f.key < $4 ORDER BY f.key DESC LIMIT $5"
    );
    let of_agent = select!("f.tenant = $1 AND f.agent = $2 AND f.key < $3 ORDER BY f.key DESC LIMIT $4");
    let of_all = select!("f.tenant = $1 AND f.key < $2 ORDER BY f.key DESC LIMIT $3");
    let on_span = |span: &Span| {
        let values = values_of![span.owner, span.messages.start, span.messages.end, before, limit];
        Statement::new(on_path, values)
    };
    match (spans, &filter.agent) {
        (Some(spans), _) => spans.iter().map(on_span).collect(),
        (None, Some(agent)) => {
            vec![Statement::new(of_agent, values_of![tenant, agent.as_str(), before, limit])]
        }
        (None, None) => vec![Statement::new(of_all, values_of![tenant, before, limit])],
    }
}

async fn read(
    sql: &mut Sql<'_>,
    rows: Vec<Row>,
    spans: Option<&[Span]>,
) -> Result<Vec<(i64, RecordedFinding)>> {
    let mut found = Vec::with_capacity(rows.len());
    let mut successors = Vec::with_capacity(rows.len());
    for mut row in rows {
        let (key, tenant) = (row.int()?, row.int()?);
        let (finding, mark) = finding(row)?;
        let text = "SELECT f.session, f.ordinal, f.kind, (SELECT m.mark FROM finding_marks m WHERE m.finding = f.key \
             ORDER BY m.key DESC LIMIT 1) FROM findings f WHERE f.tenant = $1 AND f.supersedes = $2";
        successors.push(Statement::new(text, values_of![tenant, finding.id.as_uuid()]));
        found.push((key, finding, mark));
    }
    let successors = sql.queries(&successors).await?;
    let judged = found.into_iter().zip(successors).map(|((key, mut finding, mark), rows)| {
        finding.state = state(finding.kind, mark, rows, spans)?;
        Ok((key, finding))
    });
    judged.collect()
}

fn finding(mut row: Row) -> Result<(RecordedFinding, Option<FindingMark>)> {
    let finding = RecordedFinding {
        id: FindingId::from_uuid(row.uuid()?),
        kind: code::knowledge(row.int()?)?,
        agent: row.text()?,
        subject: row.text()?,
        text: row.text()?,
        session: SessionId::from_uuid(row.uuid()?),
        turn: TurnId::from_uuid(row.uuid()?),
        message: row.count()?,
        supersedes: row.maybe_uuid()?.map(FindingId::from_uuid),
        time: Time(row.int()?),
        state: FindingState::Current,
    };
    Ok((finding, row.maybe_int()?.map(code::mark).transpose()?))
}

// What was marked last, and whether one of its successors counts: one that lies on the path, where that matters.
fn state(
    kind: Kind,
    mark: Option<FindingMark>,
    successors: Vec<Row>,
    spans: Option<&[Span]>,
) -> Result<FindingState> {
    match mark {
        Some(FindingMark::Rejected) => return Ok(FindingState::Rejected),
        Some(FindingMark::Superseded) => return Ok(FindingState::Superseded),
        Some(FindingMark::Confirmed) | None => {}
    }
    for mut row in successors {
        let (session, ordinal) = (row.int()?, row.count()?);
        let unconfirmed = code::knowledge(row.int()?)? == Kind::Preference;
        let on = |span: &Span| span.owner == session && span.messages.contains(&ordinal);
        let counts = match row.maybe_int()?.map(code::mark).transpose()? {
            Some(FindingMark::Rejected) => false,
            // What somebody confirmed stays until what takes its place is confirmed.
            None => !(unconfirmed && mark == Some(FindingMark::Confirmed)),
            Some(_) => true,
        };
        if counts && spans.is_none_or(|spans| spans.iter().any(on)) {
            return Ok(FindingState::Superseded);
        }
    }
    Ok(match (mark, kind) {
        (Some(_), _) => FindingState::Confirmed,
        (None, Kind::Preference) => FindingState::Review,
        (None, _) => FindingState::Current,
    })
}

/// Forgets the findings of messages that go, and says what their entries in the index are.
pub(crate) async fn forget(sql: &mut Sql<'_>, session: i64, from_message: i64) -> Result<Vec<i64>> {
    let values: Vec<Value> = values_of![session, from_message];
    let text = "SELECT e.key FROM findings f JOIN entries e ON e.kind = 3 AND e.place = f.key \
         WHERE f.session = $1 AND f.ordinal >= $2";
    let entries = sql.query(text, &values).await?;
    for text in [
        "DELETE FROM finding_marks WHERE finding IN (SELECT key FROM findings WHERE session = $1 AND ordinal >= $2)",
        "DELETE FROM findings WHERE session = $1 AND ordinal >= $2",
    ] {
        sql.execute(text, &values).await?;
    }
    entries.into_iter().map(|mut row| row.int()).collect()
}
