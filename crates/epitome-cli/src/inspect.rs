//! `epitome inspect`: where the tokens of a session go.

mod page;

use std::io::{self, Write};

use epitome_core::Tokens;
use epitome_core::profile::Profile;
use epitome_core::prune::{Budget, PruneMode};
use epitome_wire::check::Violation;
use serde::Serialize;

use crate::args::Inspect;
use crate::input::{self, Item, Source};
use crate::print::{Align, FAINT, HEADING, Table, grouped, paint, percent, plural};
use crate::session::Session;
use crate::settings::Settings;

/// Rows of the table of many sessions.
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
    input::each_found(&arguments.input, |sources| inspect_all(arguments, sources, settings))
}

fn inspect_all(arguments: &Inspect, sources: &[Source], settings: &Settings) -> anyhow::Result<()> {
    let model = arguments.model.as_deref();
    let work = |path: &std::path::Path, transcript| {
        Ok(inspect(&Session::new(path, transcript, model, settings), settings))
    };
    let mut out = anstream::stdout().lock();
    if arguments.json {
        return input::each_session(&input::options(&arguments.input), sources, work, |_, item| {
            let Item::Session(inspection) = item else { return Ok(()) };
            serde_json::to_writer(&mut out, &inspection)?;
            Ok(writeln!(out)?)
        });
    }
    let mut sessions = Sessions::default();
    let outcome = input::each_session(&input::options(&arguments.input), sources, work, |_, item| {
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
