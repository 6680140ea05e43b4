//! `epitome eval fidelity`: what a compacted context still holds when the agent comes to need it.

use std::io::Write;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use epitome_core::Tokens;
use epitome_core::fidelity::{Interval, Lost, Reading, SHARES, Scores, Tally, conversation_tokens, cuts};
use serde::Serialize;

use super::contender::{Contender, Made, Part};
use crate::args::EvalFidelity;
use crate::fail::failure;
use crate::input::{self, Item};
use crate::print::{Align, Table, grouped, plural, say_damage};
use crate::progress::Progress;
use crate::session::Session;
use crate::settings::Settings;
use crate::writers::{Account, Desk, Writers};

/// What one contender made of the part before one cut.
struct Answer {
    scores: Scores,
    tokens: Tokens,
    lost: Option<Lost>,
    summaries: Account,
}

/// What was found out about one conversation.
struct Examined {
    session: String,
    /// The cuts whose part before them exceeds the budget, each with the answers of all contenders.
    cuts: Vec<(usize, Vec<Answer>)>,
}

#[derive(Serialize)]
struct Report {
    budget: Tokens,
    conversations: usize,
    cuts: [f64; 3],
    strategies: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost: Vec<LostAt>,
    /// What became of the summaries that a model was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    summaries: Vec<WrittenAt>,
}

#[derive(Serialize)]
struct Row {
    strategy: String,
    /// Tokens of a context, on average.
    tokens: u64,
    /// Tokens of the largest context.
    most_tokens: u64,
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

/// What a strategy lost at one cut.
#[derive(Serialize)]
struct LostAt {
    session: String,
    message: usize,
    strategy: String,
    #[serde(flatten)]
    lost: Lost,
}

/// What became of the summaries of a strategy at one cut.
#[derive(Serialize)]
struct WrittenAt {
    session: String,
    message: usize,
    strategy: String,
    #[serde(flatten)]
    summaries: Account,
}

/// Runs the command.
pub(crate) fn run(arguments: &EvalFidelity, settings: &Settings) -> anyhow::Result<()> {
    let contenders = Contender::all(&arguments.strategies, settings)?;
    let sources = input::sources(&arguments.input)?;
    let writers = Writers::of(settings)?;
    let work = |path: &Path, transcript, progress: &Progress| {
        let session = Session::new(path, transcript, None, settings);
        let desk = writers.as_ref().map(|writers| writers.beside(progress));
        Ok((examined(&session, &contenders, arguments, desk), session.damaged()))
    };
    let mut all: Vec<Examined> = Vec::new();
    let options = input::options(&arguments.input);
    let outcome = input::each_shown(&options, &sources, work, |_, item, progress| {
        if let Item::Session((examined, damaged)) = item {
            progress.suspended(|| say_damage(&examined.session, &damaged));
            all.push(examined);
        }
        Ok(())
    });
    all.retain(|examined| !examined.cuts.is_empty());
    if all.is_empty() {
        outcome?;
        return Err(failure("no conversation has a part that exceeds the budget", "try a smaller --budget"));
    }
    let report = report(&contenders, all, arguments.budget);
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", printed(&report))?;
    }
    outcome
}

fn examined(
    session: &Session,
    contenders: &[Contender],
    arguments: &EvalFidelity,
    desk: Option<Desk<'_>>,
) -> Examined {
    let name = session.name.clone();
    let Some(main) = session.main() else { return Examined { session: name, cuts: Vec::new() } };
    let (path, messages) = (session.path(main), session.messages(main));
    let reading = Reading::of(session.transcript.system.as_ref(), &messages);
    let part = |cut: usize| Part {
        session,
        path: path.get(..cut).unwrap_or_default(),
        messages: messages.get(..cut).unwrap_or_default(),
        budget: arguments.budget,
        desk,
    };
    let mut cuts = cuts(&path);
    // Of a part that fits nothing is lost, whoever compacts it.
    cuts.retain(|cut| conversation_tokens(part(*cut).path) > arguments.budget);
    // A file may hold all conversations, and files are what is worked on at once; so cuts are, too.
    let answers = thread::scope(|scope| {
        let (reading, contenders) = (&reading, contenders);
        let begun: Vec<_> = cuts
            .into_iter()
            .map(|cut| {
                let part = part(cut);
                (cut, scope.spawn(move || answers(reading, (cut, part), contenders, arguments)))
            })
            .collect();
        let done = |(cut, thread): (usize, thread::ScopedJoinHandle<'_, Vec<Answer>>)| {
            (cut, thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        };
        begun.into_iter().map(done).collect()
    });
    Examined { session: name, cuts: answers }
}

fn answers(
    reading: &Reading,
    (cut, part): (usize, Part<'_>),
    contenders: &[Contender],
    arguments: &EvalFidelity,
) -> Vec<Answer> {
    let exam = reading.exam(cut);
    let answer = |contender: &Contender| {
        let Made { context, summaries } = contender.made(part);
        let lost = arguments.lost.then(|| exam.lost(&context));
        let summaries = Account::of(&summaries);
        Answer { scores: exam.score(&context), tokens: context.tokens, lost, summaries }
    };
    contenders.iter().map(answer).collect()
}

fn report(contenders: &[Contender], mut all: Vec<Examined>, budget: Tokens) -> Report {
    let strategies = contenders.iter().enumerate().map(|(at, contender)| row(contender, at, &all)).collect();
    let (mut lost, mut summaries) = (Vec::new(), Vec::new());
    for Examined { session, cuts } in &mut all {
        for (cut, answers) in cuts {
            for (answer, contender) in answers.iter_mut().zip(contenders) {
                let at = |lost| LostAt {
                    session: session.clone(),
                    message: *cut,
                    strategy: contender.name().to_owned(),
                    lost,
                };
                lost.extend(answer.lost.take().map(at));
                let written = std::mem::take(&mut answer.summaries);
                summaries.extend((!written.is_empty()).then(|| WrittenAt {
                    session: session.clone(),
                    message: *cut,
                    strategy: contender.name().to_owned(),
                    summaries: written,
                }));
            }
        }
    }
    Report { budget, conversations: all.len(), cuts: SHARES, strategies, lost, summaries }
}

fn row(contender: &Contender, at: usize, all: &[Examined]) -> Row {
    let answers =
        || all.iter().flat_map(|examined| &examined.cuts).filter_map(|(_, answers)| answers.get(at));
    let sizes: Vec<u64> = answers().map(|answer| answer.tokens.0).collect();
    let total = |examined: &Examined| {
        let mut scores = Scores::default();
        examined
            .cuts
            .iter()
            .filter_map(|(_, answers)| answers.get(at))
            .for_each(|answer| scores += answer.scores);
        scores
    };
    let scores: Vec<Scores> = all.iter().map(total).collect();
    let column = |number: usize| {
        let tallies = || scores.iter().filter_map(|scores| scores.columns().get(number).copied());
        let shares: Vec<f64> = tallies().filter_map(|tally| tally.share()).collect();
        let mut total = Tally::default();
        tallies().for_each(|tally| total += tally);
        Column { interval: Interval::of(&shares), total }
    };
    Row {
        strategy: contender.name().to_owned(),
        tokens: sizes.iter().sum::<u64>().checked_div(sizes.len() as u64).unwrap_or(0),
        most_tokens: sizes.iter().copied().max().unwrap_or(0),
        items: column(0),
        pairs: column(1),
        runs: column(2),
        constraints: column(3),
    }
}

fn printed(report: &Report) -> String {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[
        ("strategy", left),
        ("tokens", right),
        ("most", right),
        ("items", left),
        ("pairs", left),
        ("runs", left),
        ("constraints", left),
    ]);
    for row in &report.strategies {
        let sizes = [grouped(row.tokens), grouped(row.most_tokens)];
        let columns = [row.items, row.pairs, row.runs, row.constraints].map(cell);
        table.row([row.strategy.clone()].into_iter().chain(sizes).chain(columns));
    }
    let asked = report.strategies.first().map_or([0; 4], |row| {
        [row.items, row.pairs, row.runs, row.constraints].map(|column| column.total.asked as u64)
    });
    let [items, pairs, runs, constraints] = asked.map(grouped);
    let mut out = table.render();
    out.push_str(&format!(
        "\n  {} cut at 40, 60 and 80 %, where the part before the cut exceeds {} tokens.\n",
        plural(report.conversations, "conversation"),
        grouped(report.budget.0),
    ));
    out.push_str(&format!(
        "  Asked for: {items} items, {pairs} pairs, {runs} runs, {constraints} constraints. Mean share over conversations [95 % interval].\n"
    ));
    let mut summaries = Account::default();
    report.summaries.iter().for_each(|at| summaries.add(at.summaries.clone()));
    summaries.total().iter().for_each(|line| out.push_str(&format!("{line}\n")));
    report.lost.iter().for_each(|lost| out.push_str(&listed(lost)));
    out
}

fn cell(column: Column) -> String {
    match column.interval {
        Some(Interval { mean, low, high, .. }) => format!("{mean:.2} [{low:.2}–{high:.2}]"),
        None => "–".to_owned(),
    }
}

fn listed(at: &LostAt) -> String {
    let mut out = format!("\n  {} before message {}, lost by {}:\n", at.session, at.message, at.strategy);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let items = at.lost.items.iter().map(|item| format!("    item        {}\n", one_line(item)));
    let pairs = at.lost.pairs.iter().map(|(left, right)| format!("    pair        {left} · {right}\n"));
    let runs = at.lost.runs.iter().map(|run| format!("    run         {}\n", one_line(run)));
    let constraints = at.lost.constraints.iter().map(|sentence| format!("    constraint  {sentence}\n"));
    out.extend(items.chain(pairs).chain(runs).chain(constraints));
    out
}
