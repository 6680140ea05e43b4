//! Sessions: opening, finding, listing, and where one stands.

use epitome_core::{Time, Tokens};

use super::path::End;
use super::tenant;
use crate::error::{LedgerError, Result};
use crate::model::{
    ChainHash, Expect, NewSession, Origin, Session, SessionFilter, SessionId, TenantId, TurnId,
};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, values_of};

/// A session's row.
#[derive(Clone)]
pub(crate) struct Standing {
    pub(crate) key: i64,
    pub(crate) tenant: i64,
    pub(crate) first_turn: u64,
    pub(crate) first_message: u64,
    pub(crate) nearest: Option<u64>,
    pub(crate) fence: u64,
    pub(crate) session: Session,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT s.key, s.tenant, s.first_turn, s.first_message, s.nearest, s.fence, s.id, s.agent, s.label, ",
            "s.platform, s.channel, s.external, (SELECT p.id FROM sessions p WHERE p.key = s.parent), s.parent_turn, ",
            "s.head, s.turns, s.messages, s.compactions, s.chain, s.tokens_total, s.tokens_used, s.token_limit, ",
            "s.created, s.updated FROM sessions s WHERE s.purged IS NULL AND ",
            $rest
        )
    };
}

impl Standing {
    fn read(mut row: Row) -> Result<Self> {
        let row = &mut row;
        let (key, tenant) = (row.int()?, row.int()?);
        let (first_turn, first_message) = (row.count()?, row.count()?);
        let (nearest, fence) = (row.maybe_count()?, row.count()?);
        let id = SessionId::from_uuid(row.uuid()?);
        let agent = row.text()?;
        let [label, platform, channel, external] =
            [row.maybe_text()?, row.maybe_text()?, row.maybe_text()?, row.maybe_text()?];
        let (parent, parent_turn) = (row.maybe_uuid()?, row.maybe_uuid()?);
        let origin = parent.zip(parent_turn).map(|(session, turn)| Origin {
            session: SessionId::from_uuid(session),
            turn: TurnId::from_uuid(turn),
            messages: first_message,
        });
        let session = Session {
            id,
            agent,
            label,
            platform,
            channel,
            external,
            origin,
            head: row.maybe_uuid()?.map(TurnId::from_uuid),
            turns: row.count()?,
            messages: row.count()?,
            compactions: row.count()?,
            chain: chain(&row.blob()?)?,
            tokens_total: Tokens(row.count()?),
            tokens_used: Tokens(row.count()?),
            token_limit: row.maybe_count()?.map(Tokens),
            created: Time(row.int()?),
            updated: Time(row.int()?),
        };
        Ok(Self { key, tenant, first_turn, first_message, nearest, fence, session })
    }

    /// Where its path ends.
    pub(crate) fn end(&self) -> End {
        End {
            session: self.key,
            first_turn: self.first_turn,
            first_message: self.first_message,
            turns: self.session.turns,
            messages: self.session.messages,
        }
    }

    /// Refuses a writer who stands elsewhere, or whose lease is over.
    pub(crate) fn check(&self, expect: &Expect) -> Result<()> {
        self.check_fence(expect)?;
        if expect.head != self.session.head {
            return Err(LedgerError::HeadMoved {
                session: expect.session,
                expected: expect.head,
                found: self.session.head,
            });
        }
        Ok(())
    }

    pub(crate) fn check_fence(&self, expect: &Expect) -> Result<()> {
        match expect.fence {
            Some(given) if given != self.fence => {
                Err(LedgerError::Fenced { session: expect.session, given, current: self.fence })
            }
            _ => Ok(()),
        }
    }
}

pub(crate) fn chain(bytes: &[u8]) -> Result<ChainHash> {
    ChainHash::from_bytes(bytes).ok_or_else(|| LedgerError::damaged("a chain hash is not sixteen bytes long"))
}

/// Opens a session.
pub(crate) async fn create(sql: &mut Sql<'_>, tenant: TenantId, new: NewSession) -> Result<Standing> {
    let tenant = tenant::ensure(sql, tenant).await?;
    let root = Start {
        parent: None,
        turn: None,
        first_turn: 0,
        first_message: 0,
        chain: ChainHash::ROOT,
        nearest: None,
        compactions: 0,
        tokens_total: Tokens::ZERO,
        tokens_used: Tokens::ZERO,
    };
    insert(sql, tenant, &new, &root).await?;
    by_id(sql, tenant, new.id).await
}

/// Where a new session begins.
pub(crate) struct Start {
    pub(crate) parent: Option<i64>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) first_turn: u64,
    pub(crate) first_message: u64,
    pub(crate) chain: ChainHash,
    pub(crate) nearest: Option<u64>,
    pub(crate) compactions: u64,
    pub(crate) tokens_total: Tokens,
    pub(crate) tokens_used: Tokens,
}

// The highest key that a SQLite file ever gave to a session.
macro_rules! highest {
    () => {
        "SELECT max(COALESCE(max(key), 0), COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'sessions'), 0)) \
         FROM sessions"
    };
}

/// Writes the row of a new session and returns its key.
pub(crate) async fn insert(sql: &mut Sql<'_>, tenant: i64, new: &NewSession, start: &Start) -> Result<i64> {
    let time = new.time.unwrap_or_else(|| sql.shared.clock.now());
    let (column, key) = sql.either((", key", concat!(", (", highest!(), ") + 1")), ("", ""));
    let insert = format!(
        "INSERT INTO sessions (id, tenant, agent, label, platform, channel, external, parent, parent_turn, first_turn, \
         first_message, created, head, turns, messages, chain, nearest, compactions, tokens_total, tokens_used, \
         token_limit, updated{column}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
         $17, $18, $19, $20, $21, $22{key}) RETURNING key"
    );
    let values = values_of![
        new.id.as_uuid(),
        tenant,
        new.agent.as_str(),
        new.label.as_deref(),
        new.platform.as_deref(),
        new.channel.as_deref(),
        new.external.as_deref(),
        start.parent,
        start.turn.as_ref().map(TurnId::as_uuid),
        start.first_turn,
        start.first_message,
        time,
        start.turn.as_ref().map(TurnId::as_uuid),
        start.first_turn,
        start.first_message,
        start.chain.as_bytes(),
        start.nearest,
        start.compactions,
        start.tokens_total,
        start.tokens_used,
        new.token_limit,
        time,
    ];
    let exists = |error| match error {
        LedgerError::Exists { .. } => LedgerError::Exists {
            what: "the session",
            id: new.external.clone().unwrap_or_else(|| new.id.to_string()),
        },
        error => error,
    };
    let row = sql.one(&insert, &values).await.map_err(exists)?;
    row.ok_or_else(|| LedgerError::damaged("a session has no key"))?.int()
}

/// Sees to it that the keys of sessions that are about to go are not given again, to sessions that would then find what is
/// left of them under their own key.
///
/// PostgreSQL never does. SQLite would give the highest again; so it is kept where SQLite keeps those of other tables.
pub(crate) async fn keep_highest(sql: &mut Sql<'_>) -> Result<()> {
    if sql.either(false, true) {
        return Ok(());
    }
    let highest = sql.one(highest!(), &[]).await?.map(|mut row| row.int()).transpose()?;
    sql.execute("DELETE FROM sqlite_sequence WHERE name = 'sessions'", &[]).await?;
    let insert = "INSERT INTO sqlite_sequence (name, seq) VALUES ('sessions', $1)";
    sql.execute(insert, &values_of![highest]).await?;
    Ok(())
}

/// A session by its id.
pub(crate) async fn by_id(sql: &mut Sql<'_>, tenant: i64, id: SessionId) -> Result<Standing> {
    let row = sql.one(select!("s.id = $1 AND s.tenant = $2"), &values_of![id.as_uuid(), tenant]).await?;
    Standing::read(row.ok_or_else(|| LedgerError::no_session(id))?)
}

/// A session that nobody else can change until the transaction ends.
pub(crate) async fn lock(sql: &mut Sql<'_>, tenant: i64, id: SessionId) -> Result<Standing> {
    let text = sql.either(
        select!("s.id = $1 AND s.tenant = $2"),
        select!("s.id = $1 AND s.tenant = $2 FOR UPDATE OF s"),
    );
    let row = sql.one(text, &values_of![id.as_uuid(), tenant]).await?;
    Standing::read(row.ok_or_else(|| LedgerError::no_session(id))?)
}

/// A session by the name under which its agent knows it.
pub(crate) async fn by_external(
    sql: &mut Sql<'_>,
    tenant: i64,
    agent: &str,
    external: &str,
) -> Result<Option<Session>> {
    let text = select!("s.tenant = $1 AND s.agent = $2 AND s.external = $3");
    let row = sql.one(text, &values_of![tenant, agent, external]).await?;
    Ok(row.map(Standing::read).transpose()?.map(|standing| standing.session))
}

/// Sessions of a tenant, the latest opened first.
pub(crate) async fn list(
    sql: &mut Sql<'_>,
    tenant: i64,
    filter: SessionFilter,
    paging: Paging,
) -> Result<Page<Session>> {
    let before = paging.after.map_or(Ok(i64::MAX), |cursor| cursor.number())?;
    let text = select!(
        "s.tenant = $1 AND s.key < $2 AND (CAST($3 AS TEXT) IS NULL OR s.agent = $3) \
         AND (CAST($4 AS TEXT) IS NULL OR s.platform = $4) \
         AND (CAST($5 AS TEXT) IS NULL OR lower(s.label) LIKE lower(CAST($5 AS TEXT)) ESCAPE '!') \
         AND (CAST($6 AS TEXT) IS NULL OR s.channel = $6) ORDER BY s.key DESC LIMIT $7"
    );
    let label = filter.label.map(|label| format!("%{}%", escaped(&label)));
    let SessionFilter { agent, platform, channel, .. } = filter;
    let values = values_of![tenant, before, agent, platform, label, channel, paging.limit + 1];
    let rows = sql.query(text, &values).await?;
    let standings = rows.into_iter().map(Standing::read).collect::<Result<Vec<_>>>()?;
    Ok(Page::of(standings, paging.limit, |standing| Cursor::of(standing.key))
        .map(|standing| standing.session))
}

// What is looked for is no pattern.
fn escaped(label: &str) -> String {
    label.replace('!', "!!").replace('%', "!%").replace('_', "!_")
}

/// The ids that begin alike.
pub(crate) struct IdRange {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl IdRange {
    pub(crate) fn of(digits: &str) -> Result<Self> {
        let bare: String = digits.chars().filter(|digit| *digit != '-').collect();
        let hex = |filled: String| u128::from_str_radix(&filled, 16).ok().map(|id| id.to_be_bytes().to_vec());
        let well_formed = bare.len() <= 32 && bare.bytes().all(|digit| digit.is_ascii_hexdigit());
        let range = well_formed.then(|| Some((hex(format!("{bare:0<32}"))?, hex(format!("{bare:f<32}"))?)));
        let wrong = || LedgerError::BadRequest(format!("not the beginning of an id: {digits:?}"));
        let (first, last) = range.flatten().ok_or_else(wrong)?;
        Ok(Self { first, last })
    }
}

/// Some of the sessions whose ids begin alike.
pub(crate) async fn by_prefix(sql: &mut Sql<'_>, tenant: i64, range: IdRange) -> Result<Vec<Session>> {
    let text = select!("s.tenant = $1 AND s.id >= $2 AND s.id <= $3 ORDER BY s.id LIMIT 10");
    let rows = sql.query(text, &values_of![tenant, range.first, range.last]).await?;
    rows.into_iter().map(|row| Ok(Standing::read(row)?.session)).collect()
}

/// The sessions that were forked off a session itself, the oldest first.
pub(crate) async fn forks(sql: &mut Sql<'_>, tenant: i64, id: SessionId) -> Result<Vec<Session>> {
    let parent = by_id(sql, tenant, id).await?.key;
    let text = select!("s.tenant = $1 AND s.parent = $2 ORDER BY s.key");
    let rows = sql.query(text, &values_of![tenant, parent]).await?;
    rows.into_iter().map(|row| Ok(Standing::read(row)?.session)).collect()
}
