//! The report for a person.

use epitome_core::Tokens;
use epitome_core::compact::Component;

use super::Report;
use crate::compact::sides;
use crate::print::{
    Align, BAD, FAINT, GOOD, HEADING, Table, WARN, bytes, grouped, paint, percent, plural, say, say_damage,
};

/// How much is said of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::compact) enum Detail {
    /// A line, and what went wrong: one of many sessions.
    Line,
    /// Before and after, side by side.
    Sides,
    /// What each component of the request may take and takes, too.
    Components,
}

impl Report {
    /// Prints it on stderr.
    pub(in crate::compact) fn print(&self, detail: Detail) {
        let sizes = match self.bytes_after {
            None => String::new(),
            Some(after) => format!(" · {} → {}", bytes(self.bytes_before as u64), bytes(after as u64)),
        };
        say(format_args!(
            "{} {}{sizes}",
            paint(HEADING, format!("{}:", self.name)),
            saving(self.tokens_before, self.tokens_after)
        ));
        if detail != Detail::Line {
            self.print_history(detail);
            self.print_changes();
        }
        self.print_shortfall();
        say_damage(&self.name, &self.damaged);
        self.print_problems();
    }

    fn print_history(&self, detail: Detail) {
        let Some(history) = &self.history else { return };
        say(format_args!("  {}", history.reason));
        if let Some(verdict) = &history.verdict {
            say(format_args!("  {verdict}"));
        }
        say(sides::table(&self.sides).trim_end());
        if detail == Detail::Components {
            say(components(&history.components).trim_end());
        }
        if let Some(loss) = &self.loss {
            let style = if loss.invented.is_empty() { FAINT } else { WARN };
            say(format_args!(
                "  {}",
                paint(style, format!("of what is no longer shown: {}", loss.summary()))
            ));
        }
        for note in &history.notes {
            say(format_args!("  {}", paint(FAINT, note)));
        }
    }

    fn print_changes(&self) {
        let parts = [
            (self.cleared, "cleared"),
            (self.trimmed, "trimmed"),
            (self.capped, "capped"),
            (self.truncated, "long texts truncated"),
            (self.thinking_removed, "thinking blocks removed"),
            (self.dropped, "oldest messages dropped"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", grouped(*count as u64)))
            .collect();
        if !parts.is_empty() {
            say(format_args!("  {}", parts.join(", ")));
        }
        for note in &self.notes {
            say(format_args!("  {}", paint(FAINT, note)));
        }
    }

    fn print_shortfall(&self) {
        if let Some(budget) = self.budget.filter(|_| self.shortfall.tokens > Tokens::ZERO) {
            let unit = match self.budget_unit.as_str() {
                "o200k" => String::new(),
                model => format!("{model} "),
            };
            say(format_args!(
                "  {} {} {}tokens over the budget of {}: {}",
                paint(WARN, "short:"),
                grouped(self.shortfall.tokens.0),
                unit,
                grouped(budget.0),
                self.why_short(),
            ));
        }
        if let Some(budget) = self.max_bytes.filter(|_| self.shortfall.bytes > 0) {
            say(format_args!(
                "  {} {} over the limit of {}",
                paint(WARN, "short:"),
                bytes(self.shortfall.bytes as u64),
                bytes(budget as u64)
            ));
        }
    }

    fn why_short(&self) -> String {
        match (&self.history, self.expanded) {
            (_, true) => "that is what --expand shows again".to_owned(),
            (Some(_), false) => "what must stay alone takes that much".to_owned(),
            (None, false) => format!("{} alone cannot do more", self.strategy),
        }
    }

    fn print_problems(&self) {
        match (self.problems_before, self.problems_after.unwrap_or(0)) {
            (0, 0) => {}
            (before, after) if after <= before => {
                say(format_args!(
                    "  {} before and after; epitome inspect names them",
                    plural(after, "validity problem")
                ));
            }
            (before, after) => {
                say(format_args!(
                    "  {} {before} validity problems became {after}; please report this",
                    paint(BAD, "bug:")
                ));
            }
        }
    }
}

/// Prints what came of many sessions together.
pub(in crate::compact) fn print_total(reports: &[Report]) {
    let (before, after) = (
        reports.iter().map(|report| report.tokens_before).sum(),
        reports.iter().map(|report| report.tokens_after).sum(),
    );
    let sessions = plural(reports.len(), "session");
    say(format_args!("{} {}", paint(HEADING, format!("{sessions}:")), saving(before, after)));
}

fn saving(before: Tokens, after: Tokens) -> String {
    let change = match after > before {
        false => paint(GOOD, format!("{} saved", percent((before - after).0, before.0))),
        true => paint(WARN, format!("{} more", percent((after - before).0, before.0))),
    };
    format!("{} → {} tokens ({change})", grouped(before.0), paint(HEADING, grouped(after.0)))
}

fn components(components: &[Component]) -> String {
    let mut table =
        Table::new(&[("of the request", Align::Left), ("may take", Align::Right), ("takes", Align::Right)]);
    for Component { name, budget, actual } in components {
        let actual = actual.map_or_else(|| "–".to_owned(), |actual| grouped(actual.0));
        table.row([name.replace('_', " "), grouped(budget.0), actual]);
    }
    table.render()
}
