//! Knowledge: every finding has its message, every mark its finding, every episode its compaction, all of one tenant.

use super::Checkup;
use crate::error::Result;
use crate::sql::Sql;

pub(super) async fn check(sql: &mut Sql<'_>, checkup: &mut Checkup) -> Result<()> {
    let findings = "SELECT f.id FROM findings f LEFT JOIN messages m ON m.session = f.session \
         AND m.ordinal = f.ordinal AND m.tenant = f.tenant WHERE m.session IS NULL ORDER BY f.key LIMIT 1000";
    for mut row in sql.query(findings, &[]).await? {
        checkup.found(format!("finding {}", row.uuid()?), "its tenant has no such message");
    }
    let counts = [
        (
            "finding marks",
            "the number of those without a finding",
            "SELECT count(*) FROM finding_marks k WHERE NOT EXISTS \
             (SELECT 1 FROM findings f WHERE f.key = k.finding AND f.tenant = k.tenant)",
        ),
        (
            "index",
            "the number of findings without an entry",
            "SELECT (SELECT count(*) FROM findings) - (SELECT count(*) FROM entries WHERE kind = 3)",
        ),
        (
            "episodes",
            "the number of those without a compaction",
            "SELECT count(*) FROM episodes e WHERE NOT EXISTS (SELECT 1 FROM turns t WHERE t.session = e.session \
             AND t.number = e.turn AND t.tenant = e.tenant AND t.kind = 1 AND e.finish <= t.first)",
        ),
        (
            "episodes",
            "the number of those that hold nothing",
            "SELECT count(*) FROM episodes WHERE first >= finish",
        ),
        (
            "memos",
            "the number of those that belong to nobody",
            "SELECT count(*) FROM memos WHERE tenant NOT IN (SELECT key FROM tenants)",
        ),
    ];
    for (subject, what, text) in counts {
        let count = sql.one(text, &[]).await?.map(|mut row| row.int()).transpose()?;
        checkup.expect(subject, what, count, Some(0));
    }
    Ok(())
}
