//! `epitome inspect`: where the tokens of a session go.

use std::io::{self, Write};

use epitome_core::profile::Profile;
use epitome_core::prune::{Budget, PruneMode};
use epitome_core::{BlockKind, Tokens};
use epitome_wire::check::Violation;
use serde::Serialize;

use crate::args::Inspect;
use crate::input::{self, Item};
use crate::print::{
    Align, BAD, FAINT, GOOD, HEADING, Table, WARN, bytes, grouped, growth, paint, percent, plural, width,
};
use crate::session::Session;
use crate::settings::Settings;

const CHART_WIDTH: usize = 72;
/// What stands beside the chart: its scale and margins.
const CHART_MARGIN: usize = 14;
const CHART_HEIGHT: usize = 8;
/// Rows of a breakdown and of the table of many sessions.
const ROWS: usize = 12;
const SESSIONS: usize = 40;

/// Everything `inspect` says of one session.
#[derive(Serialize)]
struct Inspection {
    name: String,
    id: Option<String>,
    format: String,
    dialect: String,
    model: Option<String>,
    context_window: Tokens,
    /// The conversation in the model's own tokens, as far as they can be estimated without usage.
    model_tokens: Option<Tokens>,
    system_and_tools: Tokens,
    threads: usize,
    compactions: usize,
    /// What the provider billed for the last call, input and output: what the context really was then.
    billed: Option<Tokens>,
    damaged_lines: Vec<String>,
    warnings: Vec<String>,
    #[serde(flatten)]
    profile: Profile,
    pruning: Saving,
    problems: Vec<Problem>,
}

/// What pruning would do.
#[derive(Serialize)]
struct Saving {
    /// Tokens saved in steps, sparing the provider's cache.
    steps: Tokens,
    /// Tokens saved when all that is prunable goes at once.
    every_call: Tokens,
    trimmed: usize,
    cleared: usize,
}

#[derive(Serialize)]
struct Problem {
    rule: String,
    message: usize,
    detail: String,
}

/// Runs the command.
pub(crate) fn run(arguments: &Inspect, settings: &Settings) -> anyhow::Result<()> {
    let model = arguments.model.as_deref();
    let work = |path: &std::path::Path, transcript| {
        Ok(inspect(&Session::new(path, transcript, model, settings), settings))
    };
    let sources = input::sources(&arguments.input)?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        return input::each_session(&arguments.input, &sources, work, |_, item| {
            let Item::Session(inspection) = item else { return Ok(()) };
            serde_json::to_writer(&mut out, &inspection)?;
            Ok(writeln!(out)?)
        });
    }
    let mut sessions = Sessions::default();
    let outcome = input::each_session(&arguments.input, &sources, work, |_, item| {
        if let Item::Session(inspection) = item {
            sessions.add(inspection);
        }
        Ok(())
    });
    sessions.print(&mut out)?;
    outcome
}

fn inspect(session: &Session, settings: &Settings) -> Inspection {
    let transcript = &session.transcript;
    let (path, messages) = match session.main() {
        Some(main) => (session.path(main), session.messages(main)),
        None => Default::default(),
    };
    let profile = Profile::of(&path, &session.rewritten());
    let saved = |mode: PruneMode| {
        let mut settings = settings.clone();
        settings.values.prune.prune_mode = mode;
        session.plan(&path, &messages, &settings, Budget::default())
    };
    let (steps, every_call) = (saved(PruneMode::Steps), saved(PruneMode::EveryCall));
    Inspection {
        name: session.name.clone(),
        id: transcript.id.clone(),
        format: transcript.format.to_string(),
        dialect: transcript.dialect.to_string(),
        model: session.names_model.then(|| session.model.id.to_string()),
        context_window: session.model.window,
        model_tokens: session.model_tokens(profile.tokens),
        system_and_tools: session.fixed.tokens,
        threads: transcript.threads.len(),
        compactions: transcript.compactions.len(),
        damaged_lines: session.damaged(),
        billed: session.billed(),
        warnings: session.warnings(),
        pruning: Saving {
            steps: steps.before.tokens - steps.after.tokens,
            every_call: every_call.before.tokens - every_call.after.tokens,
            trimmed: every_call.soft,
            cleared: every_call.hard,
        },
        problems: session.violations(&messages).into_iter().map(problem).collect(),
        profile,
    }
}

fn problem(violation: Violation) -> Problem {
    Problem { rule: violation.rule.to_string(), message: violation.message, detail: violation.detail }
}

/// The sessions so far: the first whole, of the others what a table needs.
#[derive(Default)]
struct Sessions {
    first: Option<Inspection>,
    count: usize,
    rows: Vec<Row>,
    total: Tokens,
    prunable: Tokens,
    problems: usize,
}

struct Row {
    name: String,
    messages: usize,
    turns: usize,
    tokens: Tokens,
    prunable: Tokens,
    problems: usize,
}

impl Sessions {
    fn add(&mut self, inspection: Inspection) {
        let row = Row {
            name: inspection.name.clone(),
            messages: inspection.profile.messages,
            turns: inspection.profile.turns,
            tokens: inspection.profile.tokens,
            prunable: inspection.pruning.every_call,
            problems: inspection.problems.len(),
        };
        self.count += 1;
        self.total += row.tokens;
        self.prunable += row.prunable;
        self.problems += row.problems;
        let place = self.rows.partition_point(|other| other.tokens >= row.tokens);
        self.rows.insert(place, row);
        self.rows.truncate(SESSIONS);
        self.first.get_or_insert(inspection);
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.first {
            Some(only) if self.count == 1 => only.print(out),
            _ => self.print_table(out),
        }
    }

    fn print_table(&self, out: &mut impl Write) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let (left, right) = (Align::Left, Align::Right);
        let mut table = Table::new(&[
            ("session", left),
            ("messages", right),
            ("turns", right),
            ("tokens", right),
            ("prunable", right),
            ("problems", right),
        ]);
        for row in &self.rows {
            table.row([
                row.name.clone(),
                grouped(row.messages as u64),
                grouped(row.turns as u64),
                grouped(row.tokens.0),
                percent(row.prunable.0, row.tokens.0),
                grouped(row.problems as u64),
            ]);
        }
        write!(out, "{}", table.render())?;
        if self.count > self.rows.len() {
            let rest = format!(
                "and {} smaller ones; --json lists them all",
                grouped((self.count - self.rows.len()) as u64)
            );
            writeln!(out, "  {}", paint(FAINT, rest))?;
        }
        writeln!(
            out,
            "\n  {} · {} tokens · {} prunable",
            plural(self.count, "session"),
            paint(HEADING, grouped(self.total.0)),
            percent(self.prunable.0, self.total.0),
        )
    }
}

impl Inspection {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
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
