//! Inserts of the same kind become one insert of many rows: what a statement costs beside its rows is paid once.

use std::fmt::Write;

use crate::sql::{Statement, Value};

/// Rows of one statement at most; PostgreSQL counts parameters in sixteen bits.
const ROWS: usize = 16;

/// The same statements, inserts into one table put together where the first of them stands, and those of bodies first.
///
/// What is inserted must not depend on what stands between; the ledger's statements are written so.
pub(super) fn together(statements: &[Statement]) -> Vec<Statement> {
    let (bodies, rest): (Vec<_>, Vec<_>) =
        statements.iter().partition(|statement| statement.text.starts_with("INSERT INTO bodies "));
    let mut together = Vec::new();
    // Held before, a body is not purged from under us. Held behind, neither is one that somebody else stored in between.
    together.extend(hold(&bodies));
    together.extend(joined_groups(&bodies));
    together.extend(hold(&bodies));
    together.extend(joined_groups(&rest));
    together
}

// Keeps a purge from taking the bodies that are there already until the transaction ends.
fn hold(bodies: &[&Statement]) -> Option<Statement> {
    let text = "SELECT key FROM bodies WHERE tenant = $1 AND hash = ANY (CAST(CAST($2 AS TEXT) AS BYTEA[])) \
         ORDER BY key FOR KEY SHARE";
    let tenant = bodies.first()?.values.first()?.clone();
    let mut hashes = String::from("{");
    for body in bodies {
        let Some(Value::Blob(hash)) = body.values.get(1) else { continue };
        hashes.push_str(if hashes.len() > 1 { ",\"\\\\x" } else { "\"\\\\x" });
        for byte in hash {
            let _ = write!(hashes, "{byte:02x}");
        }
        hashes.push('"');
    }
    hashes.push('}');
    Some(Statement::new(text, vec![tenant, Value::Text(hashes)]))
}

fn joined_groups(statements: &[&Statement]) -> Vec<Statement> {
    let groups = groups(statements.iter().copied());
    groups.iter().filter_map(|rows| Some(joined(rows.first()?.text.as_ref(), rows))).collect()
}

/// Inserts into one table, where the first of them stands; other statements by themselves.
pub(super) fn groups<'s>(statements: impl IntoIterator<Item = &'s Statement>) -> Vec<Vec<&'s Statement>> {
    let mut groups: Vec<Vec<&Statement>> = Vec::new();
    for statement in statements {
        let text = statement.text.as_ref();
        let open = |rows: &&mut Vec<&Statement>| {
            rows.len() < ROWS && rows.first().is_some_and(|first| first.text == text)
        };
        match groups.iter_mut().find(open) {
            Some(rows) if text.starts_with("INSERT") => rows.push(statement),
            _ => groups.push(vec![statement]),
        }
    }
    groups
}

fn joined(text: &str, rows: &[&Statement]) -> Statement {
    let values: Vec<Value> = rows.iter().flat_map(|row| row.values.iter().cloned()).collect();
    let Some((head, template, tail)) = parts(text).filter(|_| rows.len() > 1) else {
        return Statement::new(text.to_owned(), values);
    };
    let mut joined = String::with_capacity(text.len() + template.len() * (rows.len() - 1) + 16);
    joined.push_str(head);
    let mut before = 0;
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            joined.push_str(", ");
        }
        renumber(template, before, &mut joined);
        before += row.values.len();
    }
    joined.push_str(tail);
    Statement::new(joined, values)
}

// What stands before the row of values, the row with its brackets, and what stands behind it.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find("VALUES (")? + "VALUES ".len();
    let mut depth = 0;
    let end = text.get(start..)?.char_indices().find_map(|(at, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => return None,
        }
        (depth == 0).then_some(start + at + 1)
    })?;
    Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?))
}

fn renumber(template: &str, before: usize, out: &mut String) {
    let mut pieces = template.split('$');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(digits);
        let number: usize = number.parse().unwrap_or_default();
        let _ = write!(out, "${}{rest}", number + before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::values_of;

    #[test]
    fn inserts_of_a_kind_are_put_together() {
        let insert = "INSERT INTO t (a, b) VALUES ($1, (SELECT k FROM u WHERE x = $1 AND y = $2)) ON CONFLICT DO NOTHING";
        let row = |one: i64, two: i64| Statement::new(insert, values_of![one, two]);
        let update = || Statement::new("UPDATE s SET a = $1", values_of![9_i64]);
        let found = together(&[row(1, 2), update(), row(3, 4), update()]);
        let texts: Vec<&str> = found.iter().map(|it| it.text.as_ref()).collect();
        let both = "INSERT INTO t (a, b) VALUES ($1, (SELECT k FROM u WHERE x = $1 AND y = $2)), \
             ($3, (SELECT k FROM u WHERE x = $3 AND y = $4)) ON CONFLICT DO NOTHING";
        assert_eq!(texts, [both, "UPDATE s SET a = $1", "UPDATE s SET a = $1"]);
        assert_eq!(found[0].values, values_of![1_i64, 2_i64, 3_i64, 4_i64]);
        assert_eq!(together(&[row(1, 2)])[0].text, insert);
    }
}
