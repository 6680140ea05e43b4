//! Messages: writing them with their bodies, and reading any stretch of a path.

use std::ops::Range;
use std::sync::Arc;

use epitome_core::{ContentHash, Time, Tokens};

use super::path::Path;
use super::{code, entry, pack, recall, session};
use crate::body;
use crate::error::{LedgerError, Result};
use crate::model::{ChainHash, NewMessage, Notation, Record, StoredMessage};
use crate::sql::{Row, Sql, Statement, values_of};

/// Records a message.
pub(crate) const INSERT_MESSAGE: &str = "INSERT INTO messages (session, ordinal, tenant, turn, role, record, notation, tokens, \
     chain, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, (SELECT key FROM bodies WHERE tenant = $3 AND hash = $10))";
/// Stores a body, unless its tenant has it.
pub(crate) const INSERT_BODY: &str = "INSERT INTO bodies (tenant, hash, digest, size, bytes) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (tenant, hash) DO NOTHING";

/// A message with everything about it that can be computed before anybody waits for a transaction.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) message: NewMessage,
    hash: [u8; 16],
    /// The hash of the canonical form, where that is not the body itself.
    digest: Option<ContentHash>,
}

impl Prepared {
    pub(crate) fn of(message: NewMessage) -> Self {
        let whole = ContentHash::of(&message.body);
        let digest = Some(message.digest).filter(|digest| *digest != whole);
        Self { hash: body::short(&whole), message, digest }
    }

    pub(crate) fn all(messages: Vec<NewMessage>) -> Vec<Self> {
        messages.into_iter().map(Self::of).collect()
    }
}

/// Where a message goes.
pub(crate) struct Place {
    pub(crate) session: i64,
    pub(crate) tenant: i64,
    pub(crate) turn: u64,
    pub(crate) ordinal: u64,
    pub(crate) record: Record,
    pub(crate) chain: ChainHash,
}

/// The statements that record a message at its place.
pub(crate) fn insert(prepared: Prepared, place: &Place) -> Result<Vec<Statement>> {
    let Prepared { mut message, hash, digest } = prepared;
    let recalls = std::mem::take(&mut message.recalls);
    let values = values_of![
        place.session,
        place.ordinal,
        place.tenant,
        place.turn,
        code::of_role(message.role)?,
        code::of_record(place.record),
        i64::from(message.notation.0),
        message.tokens,
        place.chain.as_bytes(),
        hash.as_slice(),
    ];
    let mut statements = vec![
        insert_body(place.tenant, hash, digest, message.body),
        Statement::new(INSERT_MESSAGE, values),
        entry::insert(entry::Place::message(place.tenant, place.session, place.ordinal)),
    ];
    statements.extend(recall::insert(recalls, place));
    Ok(statements)
}

/// The statement that stores a body, unless the tenant has it.
pub(crate) fn insert_body(
    tenant: i64,
    hash: [u8; 16],
    digest: Option<ContentHash>,
    body: Vec<u8>,
) -> Statement {
    let digest = digest.as_ref().map(|digest| digest.as_bytes().as_slice());
    Statement::new(INSERT_BODY, values_of![tenant, hash.as_slice(), digest, body.len(), body])
}

/// The key of a body, which no purge takes before the transaction ends.
pub(crate) async fn store_body(sql: &mut Sql<'_>, tenant: i64, hash: [u8; 16], body: Vec<u8>) -> Result<i64> {
    let insert = insert_body(tenant, hash, None, body);
    let hold = sql.either(
        "SELECT key FROM bodies WHERE tenant = $1 AND hash = $2",
        "SELECT key FROM bodies WHERE tenant = $1 AND hash = $2 FOR KEY SHARE",
    );
    loop {
        sql.execute(&insert.text, &insert.values).await?;
        // A purge may have taken the one that was there.
        if let Some(mut row) = sql.one(hold, &values_of![tenant, hash.as_slice()]).await? {
            return row.int();
        }
    }
}

const READ: &str = "SELECT m.ordinal, m.turn, m.role, m.record, m.notation, m.chain, m.tokens, \
     CASE WHEN m.record = 0 THEN t.time ELSE r.time END, b.size, b.pack, b.place, b.bytes \
     FROM messages m JOIN bodies b ON b.key = m.body JOIN turns t ON t.session = m.session AND t.number = m.turn \
     LEFT JOIN replies r ON r.session = m.session AND r.turn = m.turn \
     WHERE m.session = $1 AND m.ordinal >= $2 AND m.ordinal < $3 ORDER BY m.ordinal";

/// A message that a session appended itself.
pub(crate) async fn read_own(sql: &mut Sql<'_>, owner: i64, ordinal: u64) -> Result<StoredMessage> {
    let row = sql.one(READ, &values_of![owner, ordinal, ordinal + 1]).await?;
    let missing = || LedgerError::damaged(format!("message {ordinal} of a session is missing"));
    message(sql, row.ok_or_else(missing)?, &mut Unpacker::default()).await
}

/// The messages of a stretch of a path.
pub(crate) async fn read(
    sql: &mut Sql<'_>,
    path: &Path,
    ranges: &[Range<u64>],
) -> Result<Vec<StoredMessage>> {
    let part =
        |(owner, part): (i64, Range<u64>)| Statement::new(READ, values_of![owner, part.start, part.end]);
    let statements: Vec<Statement> = ranges.iter().flat_map(|range| path.messages(range)).map(part).collect();
    let expected: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
    let rows = sql.queries(&statements).await?;
    let mut unpacker = Unpacker::default();
    let mut messages = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    for row in rows.into_iter().flatten() {
        messages.push(message(sql, row, &mut unpacker).await?);
    }
    if messages.len() as u64 != expected {
        let found = messages.len();
        return Err(LedgerError::damaged(format!("{found} messages were found where {expected} should be")));
    }
    Ok(messages)
}

async fn message(sql: &mut Sql<'_>, mut row: Row, unpacker: &mut Unpacker) -> Result<StoredMessage> {
    Ok(StoredMessage {
        ordinal: row.count()?,
        turn: row.count()?,
        role: code::role(row.int()?)?,
        record: code::record(row.int()?)?,
        notation: Notation(u8::try_from(row.int()?).unwrap_or_default()),
        chain: session::chain(&row.blob()?)?,
        tokens: Tokens(row.count()?),
        time: Time(row.int()?),
        body: unpacker.next(sql, &mut row).await?,
    })
}

/// Reads bodies from rows that end in size, pack, place and bytes.
#[derive(Default)]
pub(crate) struct Unpacker(Option<(i64, Arc<Vec<u8>>)>);

impl Unpacker {
    pub(crate) async fn next(&mut self, sql: &mut Sql<'_>, row: &mut Row) -> Result<Vec<u8>> {
        let (size, pack, place, bytes) =
            (row.count()?, row.maybe_int()?, row.maybe_count()?, row.maybe_blob()?);
        if let Some(bytes) = bytes {
            return Ok(bytes);
        }
        let (Some(pack), Some(place)) = (pack, place) else {
            return Err(LedgerError::damaged("a body has neither bytes nor a place in a pack"));
        };
        // Neighbours are in the same pack.
        let known = self.0.as_ref().filter(|(key, _)| *key == pack).map(|(_, opened)| Arc::clone(opened));
        let opened = match known {
            Some(opened) => opened,
            None => pack::open(sql, pack).await?,
        };
        let body = pack::slice(&opened, place, size)?.to_vec();
        self.0 = Some((pack, opened));
        Ok(body)
    }
}

/// The hash of a session's own path before the message of this ordinal.
pub(crate) async fn chain_before(
    sql: &mut Sql<'_>,
    standing: &session::Standing,
    ordinal: u64,
) -> Result<ChainHash> {
    let Some(before) = ordinal.checked_sub(1) else { return Ok(ChainHash::ROOT) };
    let path = Path::to(sql, standing.end()).await?;
    chain_at(sql, path.owner_of_message(before)?, before).await
}

/// The hash of the path up to a message.
pub(crate) async fn chain_at(sql: &mut Sql<'_>, owner: i64, ordinal: u64) -> Result<ChainHash> {
    let text = "SELECT chain FROM messages WHERE session = $1 AND ordinal = $2";
    let row = sql.one(text, &values_of![owner, ordinal]).await?;
    let missing = || LedgerError::damaged(format!("message {ordinal} of a path is missing"));
    session::chain(&row.ok_or_else(missing)?.blob()?)
}
