//! One session on one page: breakdowns, the chart, what pruning would save, what a provider would refuse.

use std::io::{self, Write};

use epitome_core::profile::Profile;
use epitome_core::{BlockKind, Tokens};

use super::{Inspection, Problem, Saving};
use crate::print::{
    Align, BAD, FAINT, GOOD, HEADING, Table, WARN, bytes, grouped, growth, paint, percent, plural, width,
};

const CHART_WIDTH: usize = 72;
/// What stands beside the chart: its scale and margins.
const CHART_MARGIN: usize = 14;
const CHART_HEIGHT: usize = 8;
/// Rows of a breakdown.
const ROWS: usize = 12;

impl Inspection {
    /// Prints it for a person.
    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        self.print_head(out)?;
        let whole = self.profile.tokens.0;
        let share = |tokens: Tokens| [grouped(tokens.0), percent(tokens.0, whole)];
        let (left, right) = (Align::Left, Align::Right);

        let mut table =
            Table::new(&[("by role", left), ("blocks", right), ("tokens", right), ("share", right)]);
        for part in &self.profile.by_role {
            table.row(
                [part.of.to_string(), grouped(part.blocks as u64)].into_iter().chain(share(part.tokens)),
            );
        }
        writeln!(out, "{}", table.render())?;

        let mut table =
            Table::new(&[("by kind", left), ("blocks", right), ("tokens", right), ("share", right)]);
        for part in &self.profile.by_kind {
            table
                .row([kind_name(part.of), grouped(part.blocks as u64)].into_iter().chain(share(part.tokens)));
        }
        table.row(["framing".to_owned(), String::new()].into_iter().chain(share(self.profile.framing)));
        writeln!(out, "{}", table.render())?;

        let mut table = Table::new(&[
            ("by tool", left),
            ("calls", right),
            ("errors", right),
            ("call tokens", right),
            ("result tokens", right),
            ("share", right),
        ]);
        for tool in self.profile.by_tool.iter().take(ROWS) {
            table.row([
                tool.name.clone(),
                grouped(tool.calls as u64),
                grouped(tool.errors as u64),
                grouped(tool.call_tokens.0),
                grouped(tool.result_tokens.0),
                percent((tool.call_tokens + tool.result_tokens).0, whole),
            ]);
        }
        self.print_optional(out, &table)?;

        let mut table = Table::new(&[
            ("largest results", left),
            ("message", right),
            ("chars", right),
            ("tokens", right),
            ("share", right),
        ]);
        for result in self.profile.largest.iter().take(5) {
            let place = [result.tool.clone(), grouped(result.message as u64), grouped(result.chars.0 as u64)];
            table.row(place.into_iter().chain(share(result.tokens)));
        }
        self.print_optional(out, &table)?;

        if self.profile.growth.len() > 1 {
            let sizes: Vec<u64> = self.profile.growth.iter().map(|size| size.0).collect();
            writeln!(
                out,
                "  {}\n{}",
                paint(FAINT, "context at each turn, in tokens"),
                growth(&sizes, CHART_WIDTH.min(width().saturating_sub(CHART_MARGIN)), CHART_HEIGHT)
            )?;
        }
        self.print_pruning(out)?;
        self.print_problems(out)
    }

    fn print_optional(&self, out: &mut impl Write, table: &Table) -> io::Result<()> {
        let text = table.render();
        if text.is_empty() { Ok(()) } else { writeln!(out, "{text}") }
    }

    fn print_head(&self, out: &mut impl Write) -> io::Result<()> {
        let Profile { messages, turns, exchanges, tokens, bytes: size, .. } = &self.profile;
        let model = self.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
        writeln!(
            out,
            "{} {}",
            paint(HEADING, &self.name),
            paint(FAINT, format!("· {}{model}", self.format))
        )?;
        writeln!(
            out,
            "  {} tokens (o200k) in {}, {}, {} · {}",
            paint(HEADING, grouped(tokens.0)),
            plural(*messages, "message"),
            plural(*turns, "turn"),
            plural(*exchanges, "exchange"),
            bytes(*size as u64),
        )?;
        if self.system_and_tools > Tokens::ZERO {
            writeln!(out, "  system prompt and tools: {} more", grouped(self.system_and_tools.0))?;
        }
        if let (Some(model), Some(tokens)) = (&self.model, self.model_tokens) {
            let (fill, window) = (percent(tokens.0, self.context_window.0), grouped(self.context_window.0));
            writeln!(
                out,
                "  about {} tokens for {model}: {fill} of its window of {window}",
                grouped(tokens.0)
            )?;
        }
        if self.threads > 1 {
            writeln!(
                out,
                "  {} beside the main one, not counted here",
                plural(self.threads - 1, "other thread")
            )?;
        }
        if self.compactions > 0 {
            let now = self.profile.growth.last().copied().unwrap_or_default();
            writeln!(
                out,
                "  compacted {} by the tool that wrote it; {} tokens are in the context now",
                plural(self.compactions, "time"),
                grouped(now.0)
            )?;
        }
        if let Some(billed) = self.billed {
            let fill = percent(billed.0, self.context_window.0);
            writeln!(
                out,
                "  the last call was billed {} tokens, system prompt and tools included: {fill} of the window",
                grouped(billed.0)
            )?;
        }
        for warning in &self.warnings {
            writeln!(out, "  {} {warning}", paint(WARN, "warning:"))?;
        }
        for damage in &self.damaged_lines {
            writeln!(out, "  {} {damage}", paint(WARN, "damaged:"))?;
        }
        writeln!(out)
    }

    fn print_pruning(&self, out: &mut impl Write) -> io::Result<()> {
        let Saving { steps, every_call, trimmed, cleared } = &self.pruning;
        let whole = self.profile.tokens.0;
        if *every_call == Tokens::ZERO {
            return writeln!(out, "  pruning: nothing to prune");
        }
        writeln!(
            out,
            "  pruning: {} tokens ({}) could go: {}, {cleared} cleared",
            paint(GOOD, grouped(every_call.0)),
            percent(every_call.0, whole),
            plural(*trimmed, "result") + " trimmed",
        )?;
        let kept = "in steps that spare the provider's cache";
        writeln!(out, "           {} tokens ({}) {kept}", grouped(steps.0), percent(steps.0, whole))
    }

    fn print_problems(&self, out: &mut impl Write) -> io::Result<()> {
        if self.problems.is_empty() {
            return writeln!(out, "  validity: {} for the {} dialect", paint(GOOD, "valid"), self.dialect);
        }
        writeln!(
            out,
            "  validity: {} for the {} dialect",
            paint(BAD, plural(self.problems.len(), "problem")),
            self.dialect
        )?;
        for Problem { rule, message, detail } in self.problems.iter().take(ROWS) {
            writeln!(out, "    message {message}: {detail} {}", paint(FAINT, format!("({rule})")))?;
        }
        if self.problems.len() > ROWS {
            writeln!(
                out,
                "    {}",
                paint(FAINT, format!("and {} more; --json lists them all", self.problems.len() - ROWS))
            )?;
        }
        Ok(())
    }
}

fn kind_name(kind: BlockKind) -> String {
    match kind {
        BlockKind::Text => "text",
        BlockKind::ToolUse => "tool use",
        BlockKind::ToolResult => "tool result",
        BlockKind::Image => "image",
        BlockKind::Document => "document",
        BlockKind::Thinking => "thinking",
        BlockKind::RedactedThinking => "redacted thinking",
        BlockKind::ServerToolUse => "server tool use",
        BlockKind::ServerToolResult => "server tool result",
        BlockKind::Compaction => "compaction",
        _ => "unknown",
    }
    .to_owned()
}
