//! The report for a person.

use std::io::Write;

use epitome_core::Tokens;
use epitome_core::compact::Component;
use epitome_core::loss::{Fate, Loss};

use super::{Asked, Leniency, Report};
use crate::compact::sides;
use crate::fail::failure;
use crate::print::{
    Align, BAD, FAINT, GOOD, HEADING, Table, WARN, bytes, grouped, paint, percent, plural, say, say_damage,
};
use crate::session::OUR_UNIT;
use crate::writers::Account;

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

/// Where a report is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::compact) enum Stream {
    /// On stdout: it is what was asked for.
    Data,
    /// On stderr, beside what was asked for.
    Talk,
}

impl Stream {
    fn print(self, lines: &[String]) -> anyhow::Result<()> {
        match self {
            Stream::Talk => lines.iter().for_each(say),
            Stream::Data => {
                let mut out = anstream::stdout().lock();
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            }
        }
        Ok(())
    }
}

impl Report {
    /// Prints it.
    pub(in crate::compact) fn print(&self, detail: Detail, stream: Stream) -> anyhow::Result<()> {
        for warning in &self.warnings {
            say(format_args!("{} {warning}", paint(WARN, "warning:")));
        }
        stream.print(&self.lines(detail))?;
        say_damage(&self.name, &self.damaged);
        Ok(())
    }

    fn lines(&self, detail: Detail) -> Vec<String> {
        let mut lines = vec![self.headline()];
        if detail != Detail::Line {
            lines.extend(self.beside());
            lines.extend(self.limits());
            lines.extend(self.decisions(detail));
            lines.extend(self.changes());
        }
        lines.extend(self.shortfalls());
        lines.extend(self.problems());
        lines
    }

    fn headline(&self) -> String {
        let name = paint(HEADING, format!("{}:", self.name));
        let saving = saving(self.tokens_before, self.tokens_after);
        let budget = self.budget.map_or_else(String::new, |budget| format!(", budget {}", grouped(budget.0)));
        let sizes = match self.bytes_after {
            None => String::new(),
            Some(after) => format!(" · {} → {}", bytes(self.bytes_before as u64), bytes(after as u64)),
        };
        format!("{name} {saving}{budget}{sizes}")
    }

    // What is in the file and not in the figures above.
    fn beside(&self) -> Option<String> {
        let parts =
            [(self.system_and_tools, "of system and tools"), (self.other_threads, "in other threads")];
        let parts = parts.iter().filter(|(tokens, _)| *tokens > Tokens::ZERO);
        let parts: Vec<String> =
            parts.map(|(tokens, what)| format!("{} tokens {what}", grouped(tokens.0))).collect();
        (!parts.is_empty())
            .then(|| format!("  {}", paint(FAINT, format!("beside them {}", parts.join(", ")))))
    }

    // Where a budget comes from that is not the number that was asked for.
    fn limits(&self) -> Vec<String> {
        let tokens = match (&self.budget_asked, self.budget) {
            (Some(Asked { tokens, unit }), Some(budget)) if unit != OUR_UNIT => Some(format!(
                "  budget: {} tokens of {unit}, about {} of {OUR_UNIT}",
                grouped(tokens.0),
                grouped(budget.0)
            )),
            _ => None,
        };
        let bytes = self.max_bytes.map(|limit| {
            let about = self.tokens_for_bytes.map(|tokens| grouped(tokens.0));
            let about =
                about.map_or_else(String::new, |tokens| format!(", about {tokens} tokens of conversation"));
            format!("  limit: {} bytes for all that is sent{about}", grouped(limit as u64))
        });
        tokens.into_iter().chain(bytes).collect()
    }

    fn decisions(&self, detail: Detail) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(history) = &self.history {
            lines.push(format!("  {}", history.reason));
            lines.extend(history.verdict.map(|verdict| format!("  {verdict}")));
        }
        let table = sides::table(&self.sides);
        lines.extend((!table.is_empty()).then(|| table.trim_end().to_owned()));
        if let Some(history) = self.history.as_ref().filter(|_| detail == Detail::Components) {
            lines.push(self.components(&history.components).trim_end().to_owned());
        }
        lines.extend(self.summaries.lines());
        lines.extend(self.loss.as_ref().filter(|loss| !loss.tallies.is_empty()).map(lost));
        let notes = self.history.iter().flat_map(|history| &history.notes);
        lines.extend(notes.map(|note| format!("  {}", paint(FAINT, note))));
        lines
    }

    fn changes(&self) -> Vec<String> {
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
        let parts = (!parts.is_empty()).then(|| format!("  {}", parts.join(", ")));
        let notes = self.notes.iter().map(|note| format!("  {}", paint(FAINT, note)));
        parts.into_iter().chain(notes).collect()
    }

    fn shortfalls(&self) -> Vec<String> {
        let short = paint(WARN, "short:");
        let tokens = self.budget.filter(|_| self.shortfall.tokens > Tokens::ZERO).map(|budget| {
            let over = grouped(self.shortfall.tokens.0);
            format!("  {short} {over} tokens over the budget of {}: {}", grouped(budget.0), self.why_short())
        });
        let bytes = self.max_bytes.filter(|_| self.shortfall.bytes > 0).map(|limit| {
            let over = bytes(self.shortfall.bytes as u64);
            let beside = bytes(self.bytes_beside as u64);
            let why = match self.bytes_beside < limit {
                true => String::new(),
                false => format!(": what stands beside the conversation alone has {beside}"),
            };
            format!("  {short} {over} over the limit of {}{why}", bytes(limit as u64))
        });
        tokens.into_iter().chain(bytes).collect()
    }

    fn why_short(&self) -> String {
        match self.leniency {
            Leniency::Expanded => "that is what --expand shows again".to_owned(),
            Leniency::Strategy => format!("{} alone cannot do more", self.strategy),
            Leniency::None | Leniency::DryRun => "what must stay alone takes that much".to_owned(),
        }
    }

    fn is_missed(&self) -> bool {
        self.leniency == Leniency::None && (self.shortfall.tokens > Tokens::ZERO || self.shortfall.bytes > 0)
    }

    // What to do about a budget that is missed.
    fn way_out(&self) -> String {
        let least = self.minimum_budget;
        match self.budget {
            Some(budget) if budget < least => format!(
                "the least that can be met here is {} tokens of {OUR_UNIT}: 256, and what is pinned in full",
                grouped(least.0)
            ),
            _ if self.shortfall.bytes > 0 => {
                "raise --max-bytes, or pin less; the short: line says by how much".to_owned()
            }
            _ => "raise --budget; fallback=escalate does whatever it takes".to_owned(),
        }
    }

    fn components(&self, components: &[Component]) -> String {
        let may = if self.budget.is_some() { "may take, at most the budget" } else { "may take" };
        let mut table =
            Table::new(&[("of the request", Align::Left), (may, Align::Right), ("takes", Align::Right)]);
        for Component { name, budget, actual } in components {
            let actual = actual.map_or_else(|| "–".to_owned(), |actual| grouped(actual.0));
            table.row([component(name).to_owned(), grouped(budget.0), actual]);
        }
        table.render()
    }

    fn problems(&self) -> Option<String> {
        match (self.problems_before, self.problems_after.unwrap_or(0)) {
            (0, 0) => None,
            (before, 0) => Some(format!("  {} before, none after", plural(before, "validity problem"))),
            (before, after) if after <= before => Some(format!(
                "  {} before, {} after; epitome inspect names them",
                plural(before, "validity problem"),
                grouped(after as u64)
            )),
            (before, after) => Some(format!(
                "  {} {before} validity problems became {after}; please report this",
                paint(BAD, "bug:")
            )),
        }
    }
}

/// Fails where a budget was missed that should have been met; what there is has been written by then.
pub(in crate::compact) fn check_budgets(reports: &[Report]) -> anyhow::Result<()> {
    let missed: Vec<&Report> = reports.iter().filter(|report| report.is_missed()).collect();
    match missed.as_slice() {
        [] => Ok(()),
        [only] => Err(failure(format!("{} exceeds its budget", only.name), only.way_out())),
        several => {
            let what =
                format!("{} of {} exceed their budget", several.len(), plural(reports.len(), "session"));
            Err(failure(what, "the lines marked short: say by how much"))
        }
    }
}

/// Prints what came of many sessions together.
pub(in crate::compact) fn print_total(reports: &[Report], stream: Stream) -> anyhow::Result<()> {
    let (before, after) = (
        reports.iter().map(|report| report.tokens_before).sum(),
        reports.iter().map(|report| report.tokens_after).sum(),
    );
    let sessions = plural(reports.len(), "session");
    let mut summaries = Account::default();
    reports.iter().for_each(|report| summaries.add(report.summaries.clone()));
    let mut lines = vec![format!("{} {}", paint(HEADING, format!("{sessions}:")), saving(before, after))];
    lines.extend(summaries.total());
    stream.print(&lines)
}

fn lost(loss: &Loss) -> String {
    let count = |fate: Fate| grouped(loss.count(fate) as u64);
    let style = if loss.invented.is_empty() { FAINT } else { WARN };
    let words = format!(
        "of what is no longer shown: {} kept, {} in another form, {} only pointed at, {} missing, {} invented",
        count(Fate::Kept),
        count(Fate::Reworded),
        count(Fate::Recoverable),
        count(Fate::Missing),
        grouped(loss.invented.len() as u64),
    );
    format!("  {}", paint(style, words))
}

// The names of components as people read them.
fn component(name: &str) -> &str {
    match name {
        "system" => "system and tools",
        "recent" => "recent messages",
        "tools" => "tool calls and results of this exchange",
        "output" => "answer",
        "safety_margin" => "safety margin",
        other => other,
    }
}

fn saving(before: Tokens, after: Tokens) -> String {
    let change = match after > before {
        false => paint(GOOD, format!("{} saved", percent((before - after).0, before.0))),
        true => paint(WARN, format!("{} more", percent((after - before).0, before.0))),
    };
    format!("{} → {} tokens ({change})", grouped(before.0), paint(HEADING, grouped(after.0)))
}
