//! `epitome eval fidelity`: what a compacted context still holds when the agent comes to need it.

use std::io::Write;
use std::path::Path;

use epitome_core::fidelity::{Interval, Reading, SHARES, Scores, Tally, cuts};
use epitome_core::{Entry, Role, Tokens};
use serde::Serialize;

use super::contender::Contender;
use crate::args::EvalFidelity;
use crate::fail::failure;
use crate::input::{self, Item};
use crate::print::{Align, Table, grouped, plural, say_damage};
use crate::session::Session;
use crate::settings::Settings;

/// What one contender made of one conversation, over its cuts.
#[derive(Clone, Copy, Default)]
struct Result {
    scores: Scores,
    tokens: Tokens,
    contexts: usize,
}

#[derive(Serialize)]
struct Report {
    budget: Tokens,
    conversations: usize,
    cuts: [f64; 3],
    strategies: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    strategy: String,
    /// Tokens of a context, on average.
    tokens: u64,
    items: Column,
    pairs: Column,
    runs: Column,
    constraints: Column,
}

/// A column: the mean over conversations with its interval, and what it is made of.
#[derive(Clone, Copy, Serialize)]
struct Column {
    #[serde(flatten)]
    interval: Option<Interval>,
    #[serde(flatten)]
    total: Tally,
}

/// Runs the command.
pub(crate) fn run(arguments: &EvalFidelity, settings: &Settings) -> anyhow::Result<()> {
    let contenders = Contender::all(&arguments.strategies, settings)?;
    let sources = input::sources(&arguments.input)?;
    let work = |path: &Path, transcript| {
        let session = Session::new(path, transcript, None, settings);
        Ok((examined(&session, &contenders, arguments.budget), session.name.clone(), session.damaged()))
    };
    let mut results: Vec<Vec<Result>> = Vec::new();
    let outcome = input::each_session(&arguments.input, &sources, work, |_, item| {
        if let Item::Session((examined, name, damaged)) = item {
            say_damage(&name, &damaged);
            results.extend(examined);
        }
        Ok(())
    });
    if results.is_empty() {
        outcome?;
        return Err(failure("no conversation has a part that exceeds the budget", "try a smaller --budget"));
    }
    let report = report(&contenders, &results, arguments.budget);
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", printed(&report))?;
    }
    outcome
}

// What each contender makes of a conversation; nothing where it cannot be cut.
fn examined(session: &Session, contenders: &[Contender], budget: Tokens) -> Option<Vec<Result>> {
    let main = session.main()?;
    let (path, messages) = (session.path(main), session.messages(main));
    let reading = Reading::of(session.transcript.system.as_ref(), &messages);
    let mut results = vec![Result::default(); contenders.len()];
    for cut in &cuts(&path) {
        let (path, messages) = (path.get(..*cut)?, messages.get(..*cut)?);
        // Of a part that fits nothing is lost, whoever compacts it.
        if conversation_tokens(path) <= budget {
            continue;
        }
        let exam = reading.exam(*cut);
        for (result, contender) in results.iter_mut().zip(contenders) {
            let context = contender.context(session, path, messages, budget);
            result.scores += exam.score(&context);
            result.tokens += context.tokens;
            result.contexts += 1;
        }
    }
    results.iter().any(|result| result.contexts > 0).then_some(results)
}

fn conversation_tokens(path: &[Entry]) -> Tokens {
    let of_operator = |entry: &&Entry| matches!(entry.outline.role, Role::System | Role::Developer);
    path.iter().skip_while(of_operator).map(|entry| entry.outline.tokens).sum()
}

fn report(contenders: &[Contender], results: &[Vec<Result>], budget: Tokens) -> Report {
    let row = |(at, contender): (usize, &Contender)| {
        let results: Vec<Result> = results.iter().filter_map(|results| results.get(at).copied()).collect();
        let contexts: usize = results.iter().map(|result| result.contexts).sum();
        let tokens: Tokens = results.iter().map(|result| result.tokens).sum();
        let [items, pairs, runs, constraints] = [0, 1, 2, 3].map(|number| column(&results, number));
        let tokens = tokens.0.checked_div(contexts as u64).unwrap_or(0);
        Row { strategy: contender.name.clone(), tokens, items, pairs, runs, constraints }
    };
    let strategies = contenders.iter().enumerate().map(row).collect();
    Report { budget, conversations: results.len(), cuts: SHARES, strategies }
}

fn column(results: &[Result], number: usize) -> Column {
    let tallies = || results.iter().filter_map(|result| result.scores.columns().get(number).copied());
    let shares: Vec<f64> = tallies().filter_map(|tally| tally.share()).collect();
    let mut total = Tally::default();
    tallies().for_each(|tally| total += tally);
    Column { interval: Interval::of(&shares), total }
}

fn printed(report: &Report) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("strategy", left),
        ("tokens", right),
        ("items", left),
        ("pairs", left),
        ("runs", left),
        ("constraints", left),
    ]);
    for row in &report.strategies {
        let columns = [row.items, row.pairs, row.runs, row.constraints].map(cell);
        table.row([row.strategy.clone(), grouped(row.tokens)].into_iter().chain(columns));
    }
    let asked = report.strategies.first().map(|row| {
        let [items, pairs, runs, constraints] =
            [row.items, row.pairs, row.runs, row.constraints].map(|column| column.total.asked);
        format!("{items} items, {pairs} pairs, {runs} runs, {constraints} constraints")
    });
    format!(
        "{}\n  {} cut at 40, 60 and 80 %, budget {} tokens; asked for: {}.\n  Mean share over conversations [95 % interval].\n",
        table.render(),
        plural(report.conversations, "conversation"),
        grouped(report.budget.0),
        asked.unwrap_or_default(),
    )
}

fn cell(column: Column) -> String {
    match column.interval {
        Some(Interval { mean, low, high, .. }) => format!("{mean:.2} [{low:.2}–{high:.2}]"),
        None => "–".to_owned(),
    }
}
