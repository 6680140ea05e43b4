//! The report as a person reads it.

use epitome_core::Tokens;

use super::contender::Contender;
use super::report::{Cell, LONG, Report, Row};
use crate::print::{Align, BAD, FAINT, GOOD, Table, count, grouped, paint};

/// Characters of a name.
const NAME: usize = 44;

/// The whole report.
pub(super) fn printed(report: &Report) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("session", left),
        ("tokens", right),
        ("calls", right),
        ("full", right),
        ("mask each turn", right),
        ("batch mask", right),
        ("threshold", right),
        ("auto", right),
    ]);
    let (changed, alike): (Vec<&Row>, Vec<&Row>) =
        report.sessions.iter().partition(|row| row.contenders.iter().any(|cell| cell.changes > 0));
    for row in &changed {
        table.row(line(&shortened(&row.session), Some(row.tokens), &row.contenders, |cell| cell.of_full));
    }
    let all = count(report.sessions.len() as u64, "session");
    table.row(line(&all, None, &report.all, |cell| cell.of_full));
    table.row(line("output included", None, &report.all, |cell| cell.of_full_with_output));
    if !report.long.is_empty() {
        let long = format!("beyond {} tokens", grouped(LONG.0));
        table.row(line(&long, None, &report.long, |cell| cell.of_full));
    }
    let mut out = table.render();
    out.push_str(&format!(
        "\n  Input and summaries relative to sending everything, with a cache; compaction above {} tokens.\n",
        grouped(report.threshold.0)
    ));
    if !alike.is_empty() {
        out.push_str(&format!(
            "  In {} nothing was changed by anybody.\n",
            count(alike.len() as u64, "session")
        ));
    }
    out.push('\n');
    for goal in &report.goals {
        let met = match goal.met {
            Some(true) => paint(GOOD, "yes"),
            Some(false) => paint(BAD, "no "),
            None => paint(FAINT, "–  "),
        };
        out.push_str(&format!("  {met}  {}: {}\n", goal.goal, goal.measured));
    }
    out
}

fn line(name: &str, tokens: Option<Tokens>, cells: &[Cell], share: fn(&Cell) -> f64) -> Vec<String> {
    let calls = cells.first().map_or(0, |cell| cell.bill.calls);
    let full = cells.get(Contender::Full.place()).map(|cell| cell.bill.sent().to_string());
    let shares = cells.iter().skip(1).map(|cell| format!("{:.2} ×", share(cell)));
    let sizes = [tokens.map_or_else(String::new, |tokens| grouped(tokens.0)), grouped(calls)];
    [name.to_owned()].into_iter().chain(sizes).chain(full).chain(shares).collect()
}

// The end of a name tells sessions apart.
fn shortened(name: &str) -> String {
    let (all, kept) = (name.chars().count(), NAME - 1);
    if all <= NAME {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(all - kept).collect::<String>())
    }
}
