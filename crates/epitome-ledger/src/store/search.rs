//! Searching: the newest that hold everything asked for, or the best of some ([`best`]).

use super::hit::{self, Candidate};
use super::index::{self, Waiting};
use super::path::{Path, Span};
use super::{best, entry, event, session, tenant};
use crate::error::Result;
use crate::model::{Found, Hit, Order, Scope, Search};
use crate::page::{Cursor, Page, Paging};
use crate::sql::{Row, Sql, Statement, values_of};
use crate::words::{Query, Reading, Term};

/// Candidates whose texts are looked at in one go.
const BATCH: usize = 64;
/// Candidates that are looked at for one page of a search for a phrase; the next page goes on behind them.
const LOOKED_AT: usize = 256;

/// A query with where to look.
pub(super) struct Asked {
    pub(super) query: Query,
    pub(super) terms: Vec<Term>,
    /// Who asks.
    tenant: i64,
    /// The term that everything must have, where there is more than one tenant.
    owner: Option<String>,
    /// The terms of which one is enough.
    scope: Vec<String>,
    /// The path, where only what lies on it counts.
    pub(super) path: Option<Vec<Span>>,
    /// What is not indexed yet.
    waiting: Vec<Waiting>,
}

pub(crate) async fn run(sql: &mut Sql<'_>, tenant: i64, search: Search, paging: Paging) -> Result<Page<Hit>> {
    let query = Query::parse(&search.query)?;
    let terms = query.terms();
    // Where there is only one tenant, its term would be in every entry.
    let alone = tenant::is_alone(sql, tenant).await?;
    let owner = (!alone).then(|| entry::tenant_term(tenant));
    let (scope, path) = match search.scope {
        Scope::Tenant => (Vec::new(), None),
        Scope::Agent(agent) => (vec![entry::agent_term(tenant, &agent)], None),
        Scope::Session(id) => {
            let standing = session::by_id(sql, tenant, id).await?;
            let spans = Path::to(sql, standing.end()).await?.spans().to_vec();
            (spans.iter().map(|span| entry::session_term(span.owner)).collect(), Some(spans))
        }
    };
    let waiting = index::waiting(sql, &terms).await?;
    let asked = Asked { query, terms, tenant, owner, scope, path, waiting };
    match search.order {
        Order::Newest => newest(sql, &asked, paging).await,
        Order::Best => best::run(sql, &asked, paging.limit).await,
    }
}

async fn newest(sql: &mut Sql<'_>, asked: &Asked, paging: Paging) -> Result<Page<Hit>> {
    let mut before = paging.after.map_or(Ok(i64::MAX), |cursor| cursor.number())?;
    let batch = if asked.query.needs_text() || asked.path.is_some() { BATCH } else { paging.limit + 1 };
    let (mut hits, mut looked_at) = (Vec::new(), 0);
    loop {
        let keys = keys(sql, asked, &asked.terms, before, batch).await?;
        looked_at += keys.len();
        let ended = keys.len() < batch;
        for candidate in hit::load(sql, &keys).await? {
            before = candidate.key;
            if !asked.admits(sql, &candidate).await? {
                continue;
            }
            let reading = Reading::of(&candidate.text);
            if reading.answers(&asked.query) {
                let snippet = reading.snippet(&asked.query, &asked.terms);
                hits.push((candidate.key, candidate.hit(snippet, 0.0, Vec::new())));
            }
            if hits.len() > paging.limit {
                break;
            }
        }
        if ended || hits.len() > paging.limit || looked_at >= LOOKED_AT {
            let mut page = Page::of(hits, paging.limit, |(key, _)| Cursor::of(*key));
            // There may be more behind what was looked at.
            if page.next.is_none() && !ended {
                page.next = Some(Cursor::of(before));
            }
            return Ok(page.map(|(_, hit)| hit));
        }
    }
}

impl Asked {
    // What is not indexed yet and holds all of these terms, newest first.
    pub(super) fn waiting(&self, terms: &[Term]) -> impl Iterator<Item = i64> {
        let holds = |entry: &&Waiting, term: &Term| match term.prefix {
            false => entry.terms.contains(&term.text),
            true => {
                let next = entry.terms.range(term.text.clone()..).next();
                next.is_some_and(|found| found.starts_with(&term.text))
            }
        };
        let within = |entry: &&Waiting| {
            self.owner.iter().all(|term| entry.terms.contains(term))
                && (self.scope.is_empty() || self.scope.iter().any(|term| entry.terms.contains(term)))
        };
        let matching = move |entry: &&Waiting| within(entry) && terms.iter().all(|term| holds(entry, term));
        self.waiting.iter().filter(matching).map(|entry| entry.key)
    }

    // Terms only say where to look. Whose something is, and whether it lies on the path, say the rows themselves: what a
    // parent recorded behind the fork does not, nor does an event whose turns are elsewhere.
    pub(super) async fn admits(&self, sql: &mut Sql<'_>, candidate: &Candidate) -> Result<bool> {
        if candidate.tenant != Some(self.tenant) {
            return Ok(false);
        }
        let Some(spans) = &self.path else { return Ok(true) };
        if let Found::Event { number, .. } = candidate.found {
            let places = event::places(sql, number).await?;
            let on = |(session, turn): &(i64, u64)| {
                spans.iter().any(|span| span.owner == *session && span.turns.contains(turn))
            };
            return Ok(places.iter().any(on));
        }
        Ok(spans.iter().filter(|span| candidate.session == Some(span.owner)).any(|span| {
            match candidate.found {
                Found::Message { ordinal, .. } | Found::Finding { ordinal, .. } => {
                    span.messages.contains(&ordinal)
                }
                _ => span.turns.contains(&candidate.place),
            }
        }))
    }
}

/// The newest entries that hold all of these terms, within the scope.
pub(super) async fn keys(
    sql: &mut Sql<'_>,
    asked: &Asked,
    terms: &[Term],
    before: i64,
    limit: usize,
) -> Result<Vec<i64>> {
    let statement = holding(sql, asked, terms, before, limit);
    let rows = sql.query(&statement.text, &statement.values).await?;
    let waiting = asked.waiting(terms).filter(|key| *key < before).take(limit);
    newest_of(rows, waiting, limit)
}

/// The statement for those of them that are indexed.
pub(super) fn holding(sql: &Sql<'_>, asked: &Asked, terms: &[Term], before: i64, limit: usize) -> Statement {
    let text = sql.either(
        "SELECT rowid FROM search WHERE search MATCH $1 AND rowid < $2 ORDER BY rowid DESC LIMIT $3",
        "SELECT key FROM entries WHERE terms @@ CAST(CAST($1 AS TEXT) AS TSQUERY) AND key < $2 \
         ORDER BY key DESC LIMIT $3",
    );
    let matching = sql.either(Expression::FTS5, Expression::TSQUERY).of(asked, terms);
    Statement::new(text, values_of![matching, before, limit])
}

/// What the index has and what waits for it, in one order.
pub(super) fn newest_of(
    rows: Vec<Row>,
    waiting: impl Iterator<Item = i64>,
    limit: usize,
) -> Result<Vec<i64>> {
    let mut keys: Vec<i64> = waiting.collect();
    for mut row in rows {
        keys.push(row.int()?);
    }
    // On PostgreSQL keys are not indexed in their order.
    keys.sort_unstable_by(|one, other| other.cmp(one));
    keys.dedup();
    keys.truncate(limit);
    Ok(keys)
}

/// How a database writes what must occur.
struct Expression {
    quote: char,
    and: &'static str,
    or: &'static str,
    prefix: &'static str,
}

impl Expression {
    const FTS5: Self = Self { quote: '"', and: " AND ", or: " OR ", prefix: " *" };
    const TSQUERY: Self = Self { quote: '\'', and: " & ", or: " | ", prefix: ":*" };

    // No term holds a quote or a backslash: terms are letters, digits, underscores and colons.
    fn of(&self, asked: &Asked, terms: &[Term]) -> String {
        let quote = self.quote;
        let quoted = |term: &String| format!("{quote}{term}{quote}");
        let (owner, scope) = (asked.owner.iter().map(quoted), asked.scope.iter().map(quoted));
        let scope: Vec<String> = scope.collect();
        let terms = terms.iter().map(|term| {
            let prefix = if term.prefix { self.prefix } else { "" };
            format!("{quote}{}{quote}{prefix}", term.text)
        });
        let scope = (!scope.is_empty()).then(|| format!("({})", scope.join(self.or)));
        terms.chain(owner).chain(scope).collect::<Vec<_>>().join(self.and)
    }
}
