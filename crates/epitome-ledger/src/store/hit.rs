//! What stands behind the entries of the index.

use epitome_core::Time;

use super::message::Unpacker;
use super::{code, compact, entry, event, finding};
use crate::error::Result;
use crate::model::{Found, Hit, SessionId, Snippet, TurnId};
use crate::sql::{Row, Sql, Statement, values_of};
use crate::words;

/// Something that may be what was asked for.
pub(crate) struct Candidate {
    pub(crate) key: i64,
    /// Whose it is.
    pub(crate) tenant: Option<i64>,
    pub(crate) session: Option<i64>,
    pub(crate) place: u64,
    pub(crate) found: Found,
    pub(crate) text: String,
    time: Time,
}

impl Candidate {
    pub(crate) fn hit(self, snippet: Snippet, score: f64, shares: Vec<f64>) -> Hit {
        Hit { found: self.found, time: self.time, snippet, score, shares }
    }
}

/// The candidates of these keys, in their order; what is not there any more is left out.
pub(crate) async fn load(sql: &mut Sql<'_>, keys: &[i64]) -> Result<Vec<Candidate>> {
    let text = "SELECT e.key, e.kind, e.session, e.place, COALESCE(s.tenant, v.tenant), s.id, t.id, m.role, COALESCE(r.time, t.time), \
         b.size, b.pack, b.place, b.bytes FROM entries e \
         LEFT JOIN sessions s ON s.key = e.session \
         LEFT JOIN events v ON e.kind = 2 AND v.key = e.place \
         LEFT JOIN messages m ON e.kind = 0 AND m.session = e.session AND m.ordinal = e.place \
         LEFT JOIN turns t ON t.session = e.session AND t.number = CASE e.kind WHEN 0 THEN m.turn ELSE e.place END \
         LEFT JOIN replies r ON m.record > 0 AND r.session = t.session AND r.turn = t.number \
         LEFT JOIN bodies b ON b.key = m.body WHERE e.key = $1";
    let statements: Vec<Statement> = keys.iter().map(|key| Statement::new(text, values_of![*key])).collect();
    let mut unpacker = Unpacker::default();
    let mut candidates = Vec::with_capacity(keys.len());
    for row in sql.queries(&statements).await?.into_iter().flatten() {
        candidates.extend(candidate(sql, row, &mut unpacker).await?);
    }
    Ok(candidates)
}

async fn candidate(sql: &mut Sql<'_>, mut row: Row, unpacker: &mut Unpacker) -> Result<Option<Candidate>> {
    let (key, kind, session, place) = (row.int()?, row.int()?, row.maybe_int()?, row.count()?);
    let tenant = row.maybe_int()?;
    let (session_id, turn) = (row.maybe_uuid()?, row.maybe_uuid()?);
    let (role, time) = (row.maybe_int()?, row.maybe_int()?);
    let ids = session_id.map(SessionId::from_uuid).zip(turn.map(TurnId::from_uuid));
    let (found, time, text) = match (kind, ids, role) {
        (entry::MESSAGE, Some((session, turn)), Some(role)) => {
            let text = words::text_of(&unpacker.next(sql, &mut row).await?);
            (Found::Message { session, turn, ordinal: place, role: code::role(role)? }, time, text)
        }
        (entry::SUMMARY, Some((id, turn)), _) => {
            let record = compact::read(sql, session.unwrap_or_default(), place).await?;
            let text = record.compaction.summary().unwrap_or_default();
            (Found::Summary { session: id, turn }, time, text)
        }
        (entry::FINDING, _, _) => {
            let Some(found) = finding::by_key(sql, place).await? else { return Ok(None) };
            let (session, turn, ordinal) = (found.session, found.turn, found.message);
            let place =
                Found::Finding { id: found.id, kind: found.kind, state: found.state, session, turn, ordinal };
            (place, Some(found.time.0), found.text)
        }
        (entry::EVENT, _, _) => {
            let Some(event) = event::by_number(sql, place).await? else { return Ok(None) };
            let found = Found::Event { number: place, platform: event.platform, channel: event.channel };
            (found, Some(event.time.0), words::text_of(&event.payload))
        }
        _ => return Ok(None),
    };
    Ok(Some(Candidate { key, tenant, session, place, found, text, time: Time(time.unwrap_or_default()) }))
}
