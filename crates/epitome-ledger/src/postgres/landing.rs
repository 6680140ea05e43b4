//! A whole append as one statement, which is one round trip and a transaction by itself.
//!
//! The row of the session moves first; everything else is inserted only if it did. What one part of a statement inserts
//! is not seen by the others, so that the keys of new bodies are handed on, not looked up.

use std::fmt::Write;

use crate::sql::{Statement, Value};

/// What an append looks like, whatever its values: how many rows go into which table.
pub(super) fn shape(groups: &[Vec<&Statement>]) -> String {
    let mut shape = String::new();
    for rows in groups {
        let table = rows.first().and_then(|row| Insert::parse(&row.text)).map_or("", |insert| insert.table);
        let _ = write!(shape, "{table} {} ", rows.len());
    }
    shape
}

/// All values of an append, in the order of its statement.
pub(super) fn values<'s>(
    step: &'s Statement,
    groups: &'s [Vec<&Statement>],
) -> impl Iterator<Item = &'s Value> {
    step.values.iter().chain(groups.iter().flatten().flat_map(|row| &row.values))
}

/// The statement that does `step`, and where that changed a row, all inserts. It returns the number of rows changed.
pub(super) fn text(step: &Statement, groups: &[Vec<&Statement>]) -> Option<String> {
    let mut text = format!("WITH s AS ({} RETURNING key)", step.text);
    let mut before = step.values.len();
    for (number, rows) in groups.iter().enumerate() {
        let insert = Insert::parse(rows.first()?.text.as_ref())?;
        let given = insert.given(rows, &mut before)?;
        insert.write(number, &given, &mut text);
    }
    text.push_str(" SELECT count(*) FROM s");
    Some(text)
}

/// `INSERT INTO table (columns) VALUES (…)`.
struct Insert<'t> {
    table: &'t str,
    columns: &'t str,
}

impl<'t> Insert<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let (table, rest) = text.strip_prefix("INSERT INTO ")?.split_once(" (")?;
        let (columns, _) = rest.split_once(") VALUES (")?;
        Some(Self { table, columns })
    }

    // The rows as they stand behind `VALUES`, numbered from `before`. The first row says the types.
    fn given(&self, rows: &[&Statement], before: &mut usize) -> Option<String> {
        let columns: Vec<&str> = self.columns.split(", ").collect();
        let mut given = String::new();
        for (number, row) in rows.iter().enumerate() {
            if row.values.len() != columns.len() {
                return None;
            }
            given.push_str(if number > 0 { ", (" } else { "(" });
            for (at, column) in columns.iter().enumerate() {
                *before += 1;
                let comma = if at > 0 { ", " } else { "" };
                let kind = if number > 0 { "" } else { self.kind(column) };
                let _ = write!(given, "{comma}${before}{kind}");
            }
            given.push(')');
        }
        Some(given)
    }

    fn kind(&self, column: &str) -> &'static str {
        match column {
            "chain" | "hash" | "digest" | "bytes" => "::bytea",
            "id" if self.table == "turns" => "::bytea",
            // In place of the key of its body, a message has the body's hash.
            "body" if self.table == "messages" => "::bytea",
            "model" => "::text",
            _ => "::bigint",
        }
    }

    fn write(&self, number: usize, given: &str, out: &mut String) {
        let Self { table, columns } = self;
        let rows = format!("(VALUES {given}) AS v ({columns})");
        let moved = "EXISTS (SELECT FROM s)";
        // Writing to a string does not fail.
        let _ = match *table {
            // Whether a body is there is looked up beforehand: to insert it on condition costs more, and two who store the
            // same body at the same moment are rare. One of them fails and looks again. What is there is held, in the order in
            // which a purge takes bodies; where a purge was faster, it is not there any more.
            "bodies" => write!(
                out,
                ", o AS (SELECT b.key, b.hash FROM {rows} JOIN bodies b ON b.tenant = v.tenant AND b.hash = v.hash \
                 ORDER BY b.key FOR KEY SHARE OF b), \
                 b AS (INSERT INTO bodies ({columns}) SELECT {columns} FROM {rows} \
                 WHERE {moved} AND NOT EXISTS (SELECT FROM o WHERE o.hash = v.hash) RETURNING key, hash), \
                 k AS (SELECT key, hash FROM b UNION ALL SELECT key, hash FROM o)"
            ),
            "messages" => {
                let own = columns.trim_end_matches(", body");
                write!(
                    out,
                    ", m AS (INSERT INTO messages ({columns}) \
                     SELECT {own}, (SELECT k.key FROM k WHERE k.hash = v.body LIMIT 1) FROM {rows} WHERE {moved})"
                )
            }
            // The same text may stand twice in a message.
            "recalls" => write!(
                out,
                ", i{number} AS (INSERT INTO recalls ({columns}) SELECT {columns} FROM {rows} WHERE {moved} \
                 ON CONFLICT DO NOTHING)"
            ),
            _ => write!(
                out,
                ", i{number} AS (INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows} WHERE {moved})"
            ),
        };
    }
}
