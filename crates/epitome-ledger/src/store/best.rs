//! The best of a bounded number of candidates.
//!
//! Ranking all that hold a common word would take seconds in a large ledger. So candidates are taken from the newest end of
//! each term's list, and ranked by what their texts say.

use std::collections::HashMap;

use super::entry;
use super::hit::{self, Candidate};
use super::search::{Asked, holding, keys, newest_of};
use crate::error::Result;
use crate::model::Hit;
use crate::page::Page;
use crate::sql::{Sql, Statement, values_of};
use crate::words::Reading;

/// Candidates that are ranked by their texts.
const RANKED: usize = 96;
/// Of each term the newest so many are candidates.
const HEAD: usize = 128;
/// Terms of a query that are looked up one by one.
const TERMS: usize = 64;

/// What fits best, the best first.
pub(super) async fn run(sql: &mut Sql<'_>, asked: &Asked, limit: usize) -> Result<Page<Hit>> {
    let mut chosen = keys(sql, asked, &asked.terms, i64::MAX, RANKED).await?;
    let weights = if asked.terms.len() > 1 {
        let (heads, weights) = heads(sql, asked).await?;
        if chosen.len() < RANKED {
            chosen.extend(promising(&heads, &weights, RANKED - chosen.len()));
            chosen.sort_unstable_by(|one, other| other.cmp(one));
            chosen.dedup();
        }
        weights
    } else {
        vec![1.0; asked.terms.len()]
    };
    let mut ranked: Vec<(f64, Vec<f64>, Candidate)> = Vec::new();
    for candidate in hit::load(sql, &chosen).await? {
        if !asked.admits(sql, &candidate).await? {
            continue;
        }
        let reading = Reading::of(&candidate.text);
        // Of words some will do; a phrase or a path must stand there.
        if reading.answers(&asked.query) {
            let shares = shares(&reading, asked, &weights);
            ranked.push((shares.iter().sum(), shares, candidate));
        }
    }
    ranked.retain(|(score, ..)| *score > 0.0);
    // Of equals the newest comes first, as the candidates do.
    ranked.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    ranked.truncate(limit);
    let hit = |(score, shares, candidate): (f64, Vec<f64>, Candidate)| {
        let snippet = Reading::of(&candidate.text).snippet(&asked.query, &asked.terms);
        candidate.hit(snippet, score, shares)
    };
    Ok(Page { items: ranked.into_iter().map(hit).collect(), next: None })
}

// The newest entries of each term, and what a term weighs: the denser its newest entries lie, the more common it is.
async fn heads(sql: &mut Sql<'_>, asked: &Asked) -> Result<(Vec<Vec<i64>>, Vec<f64>)> {
    let terms = || asked.terms.iter().take(TERMS).map(std::slice::from_ref);
    let statements: Vec<Statement> = terms().map(|term| holding(sql, asked, term, i64::MAX, HEAD)).collect();
    let mut heads = Vec::with_capacity(statements.len());
    for (term, rows) in terms().zip(sql.queries(&statements).await?) {
        heads.push(newest_of(rows, asked.waiting(term).take(HEAD), HEAD)?);
    }
    let extent = Extent::of(sql, asked).await?;
    let mut weights = Vec::with_capacity(heads.len());
    for head in &heads {
        let covered = match head.last() {
            Some(last) if head.len() == HEAD => extent.since(sql, *last).await?,
            _ => extent.all,
        };
        let share = (head.len() as f64 + 0.5) / (covered as f64 + 1.0);
        weights.push((1.0 / share.clamp(1e-9, 1.0)).ln().max(0.05));
    }
    Ok((heads, weights))
}

/// How much there is where it is looked for.
struct Extent {
    /// How many entries.
    all: u64,
    /// The newest of the ledger.
    newest: i64,
    /// Whether they are the messages of a path.
    is_path: bool,
}

impl Extent {
    async fn of(sql: &mut Sql<'_>, asked: &Asked) -> Result<Self> {
        let newest = sql.one("SELECT max(key) FROM entries", &[]).await?;
        let newest = newest.map(|mut row| row.maybe_int()).transpose()?.flatten().unwrap_or(0).max(1);
        // What is rare in the ledger may stand in every message of a session.
        let path = asked.path.as_ref().and_then(|spans| spans.last()).map(|span| span.messages.end);
        Ok(Self { all: path.unwrap_or(newest.unsigned_abs()), newest, is_path: path.is_some() })
    }

    // How many are no older than an entry.
    async fn since(&self, sql: &mut Sql<'_>, key: i64) -> Result<u64> {
        if !self.is_path {
            return Ok(self.newest.abs_diff(key) + 1);
        }
        let text = "SELECT place FROM entries WHERE key = $1 AND kind = $2";
        let row = sql.one(text, &values_of![key, entry::MESSAGE]).await?;
        let ordinal = row.map(|mut row| row.count()).transpose()?;
        Ok(ordinal.map_or(self.all, |ordinal| self.all.saturating_sub(ordinal)))
    }
}

// The entries whose terms weigh most together.
fn promising(heads: &[Vec<i64>], weights: &[f64], most: usize) -> Vec<i64> {
    let mut sums: HashMap<i64, f64> = HashMap::new();
    for (head, weight) in heads.iter().zip(weights) {
        for key in head {
            *sums.entry(*key).or_default() += weight;
        }
    }
    let mut sums: Vec<(i64, f64)> = sums.into_iter().collect();
    sums.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(other.cmp(one)));
    sums.into_iter().take(most).map(|(key, _)| key).collect()
}

// The usual measure of relevance (BM25, with the constants that are usual for texts of very unequal length), and more for
// phrases and paths that stand there as they were typed.
fn shares(reading: &Reading<'_>, asked: &Asked, weights: &[f64]) -> Vec<f64> {
    let (counts, words) = reading.counts(&asked.terms);
    let length = 0.6 + 0.4 * words as f64 / 200.0;
    let more = 1.0 + reading.needles(&asked.query) as f64;
    let share = |(count, weight): (&u32, &f64)| {
        let count = f64::from(*count);
        more * weight * count * 1.9 / (count + 0.9 * length)
    };
    counts.iter().zip(weights).map(share).collect()
}
