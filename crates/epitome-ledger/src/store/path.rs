//! Paths: which session owns which stretch of what a session stands on.

use std::ops::Range;

use crate::error::{LedgerError, Result};
use crate::sql::{Sql, Statement, Value, values_of};

/// A stretch of a path that lies on one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) owner: i64,
    pub(crate) turns: Range<u64>,
    pub(crate) messages: Range<u64>,
}

/// The spans of a path, from its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(Vec<Span>);

/// Where a path ends: on which session, and behind how many turns and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) session: i64,
    pub(crate) first_turn: u64,
    pub(crate) first_message: u64,
    pub(crate) turns: u64,
    pub(crate) messages: u64,
}

impl Path {
    /// The path that ends here.
    pub(crate) async fn to(sql: &mut Sql<'_>, end: End) -> Result<Self> {
        let mut spans = Vec::new();
        if end.first_turn > 0 {
            let text = "SELECT owner, from_turn, to_turn, from_message, to_message FROM spans \
                 WHERE session = $1 ORDER BY from_turn";
            for mut row in sql.query(text, &values_of![end.session]).await? {
                let owner = row.int()?;
                let (turns, messages) = (row.count()?..row.count()?, row.count()?..row.count()?);
                spans.push(Span { owner, turns, messages });
            }
        }
        spans.push(Span {
            owner: end.session,
            turns: end.first_turn..end.turns,
            messages: end.first_message..end.messages,
        });
        Ok(Self(spans))
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    /// The session that owns the turn of this number.
    pub(crate) fn owner_of_turn(&self, number: u64) -> Result<i64> {
        let span = self.0.iter().find(|span| span.turns.contains(&number));
        span.map(|span| span.owner)
            .ok_or_else(|| LedgerError::damaged(format!("nobody owns turn {number} of a path")))
    }

    /// The session that owns the message of this ordinal.
    pub(crate) fn owner_of_message(&self, ordinal: u64) -> Result<i64> {
        let span = self.0.iter().find(|span| span.messages.contains(&ordinal));
        span.map(|span| span.owner)
            .ok_or_else(|| LedgerError::damaged(format!("nobody owns message {ordinal} of a path")))
    }

    /// The parts of a stretch of messages, each with its owner.
    pub(crate) fn messages(&self, range: &Range<u64>) -> impl Iterator<Item = (i64, Range<u64>)> {
        self.0
            .iter()
            .map(|span| (span.owner, overlap(&span.messages, range)))
            .filter(|(_, part)| !part.is_empty())
    }

    /// The parts of a stretch of turns, each with its owner.
    pub(crate) fn turns(&self, range: &Range<u64>) -> impl Iterator<Item = (i64, Range<u64>)> {
        self.0
            .iter()
            .map(|span| (span.owner, overlap(&span.turns, range)))
            .filter(|(_, part)| !part.is_empty())
    }

    /// The statements that store this path as the ancestry of a session.
    pub(crate) fn stored(&self, tenant: i64, session: i64) -> Vec<Statement> {
        let insert = "INSERT INTO spans (tenant, session, owner, from_turn, to_turn, from_message, to_message) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let statement = |span: &Span| {
            let Span { owner, turns, messages } = span;
            let (turns, messages) = ([turns.start, turns.end], [messages.start, messages.end]);
            let mut values = values_of![tenant, session, *owner];
            values.extend(turns.into_iter().chain(messages).map(Value::from));
            Statement::new(insert, values)
        };
        self.0.iter().filter(|span| !span.turns.is_empty()).map(statement).collect()
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> Range<u64> {
    one.start.max(other.start)..one.end.min(other.end)
}
