//! `epitome eval repeat`: what ten compactions in a row leave of a growing session.

use std::io::Write;
use std::path::Path;

use epitome_core::Tokens;
use epitome_core::fidelity::{Growing, Knows, ROUNDS, Reading, Round, Tally};
use serde::Serialize;

use super::contender::{Own, Part};
use crate::args::EvalRepeat;
use crate::compact::history;
use crate::fail::failure;
use crate::input::{self, Item};
use crate::print::{Align, Table, grouped, plural, say_damage};
use crate::progress::Progress;
use crate::session::Session;
use crate::settings::Settings;
use crate::writers::{Account, Desk, Writers};

#[derive(Serialize)]
struct Report {
    strategy: String,
    budget: Tokens,
    conversations: usize,
    /// Conversations that end before the tenth compaction is due.
    too_short: usize,
    rounds: Vec<Row>,
    /// Conversations that still hold every constraint after the last round.
    constraints_survive: usize,
    /// Conversations that still hold the goal after the last round.
    goal_survives: usize,
    largest_summary: Tokens,
    /// How many tokens that summary was allowed.
    cap: Tokens,
    /// What became of the summaries that a model was asked for.
    #[serde(skip_serializing_if = "Account::is_empty")]
    summaries: Account,
}

/// One round, averaged over conversations.
#[derive(Serialize)]
struct Row {
    round: usize,
    tokens: u64,
    summary_tokens: u64,
    constraints: Option<f64>,
    goal: Option<f64>,
    items: Option<f64>,
    /// Items relative to the first round.
    items_of_first: Option<f64>,
    lasting: Option<f64>,
    held: Option<f64>,
}

/// Runs the command.
pub(crate) fn run(arguments: &EvalRepeat, settings: &Settings) -> anyhow::Result<()> {
    let own = Own::named(&arguments.strategy, settings)?;
    let sources = input::sources(&arguments.input)?;
    let writers = Writers::of(settings)?;
    let work = |path: &Path, transcript, progress: &Progress| {
        let session = Session::new(path, transcript, None, settings);
        let desk = writers.as_ref().map(|writers| writers.beside(progress));
        Ok((rounds(&session, &own, arguments, desk), session.name.clone(), session.damaged()))
    };
    let (mut all, mut too_short, mut summaries) = (Vec::new(), 0, Account::default());
    let options = input::options(&arguments.input);
    let outcome = input::each_shown(&options, &sources, work, |_, item, progress| {
        if let Item::Session(((rounds, written), name, damaged)) = item {
            progress.suspended(|| say_damage(&name, &damaged));
            summaries.add(written);
            match rounds {
                Some(rounds) => all.push(rounds),
                None => too_short += 1,
            }
        }
        Ok(())
    });
    if all.is_empty() {
        outcome?;
        let hint = "ten compactions need a long session or a small --budget";
        return Err(failure("no session is compacted ten times", hint));
    }
    let report = Report { summaries, ..report(&own, &all, too_short, arguments.budget) };
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", printed(&report))?;
    }
    outcome
}

fn rounds(
    session: &Session,
    own: &Own,
    arguments: &EvalRepeat,
    desk: Option<Desk<'_>>,
) -> (Option<Vec<Round>>, Account) {
    let mut summaries = Account::default();
    let Some(main) = session.main() else { return (None, summaries) };
    let (path, messages) = (session.path(main), session.messages(main));
    let reading = Reading::of(session.transcript.system.as_ref(), &messages);
    let budget = arguments.budget;
    let growing = Growing {
        path: &path,
        messages: &messages,
        budget,
        place: history::place(session.transcript.dialect),
        counter: session.counter(),
        knows: if arguments.piped { Knows::Shown } else { Knows::Record },
    };
    let rounds = growing.rounds(&reading, &mut |path, messages, previous| {
        let part = Part { session, path, messages, budget, desk };
        let (compaction, written) = own.compaction(part, previous);
        summaries.add(Account::of(&written));
        compaction
    });
    (rounds, summaries)
}

fn report(own: &Own, all: &[Vec<Round>], too_short: usize, budget: Tokens) -> Report {
    let survive = |tally: fn(&Round) -> Tally| {
        let whole = |rounds: &&Vec<Round>| rounds.iter().all(|round| tally(round).kept == tally(round).asked);
        all.iter().filter(whole).count()
    };
    let mut rows: Vec<Row> = (0..ROUNDS).map(|number| row(all, number)).collect();
    let first = rows.first().and_then(|row| row.items);
    for row in &mut rows {
        row.items_of_first = row.items.zip(first).map(|(items, first)| items / first);
    }
    let largest = all.iter().flatten().max_by_key(|round| round.summary);
    Report {
        strategy: own.name.clone(),
        budget,
        conversations: all.len(),
        too_short,
        rounds: rows,
        constraints_survive: survive(|round| round.scores.constraints),
        goal_survives: survive(|round| round.goal),
        largest_summary: largest.map_or(Tokens::ZERO, |round| round.summary),
        cap: own.cap(largest.map_or(Tokens::ZERO, |round| round.covered)),
        summaries: Account::default(),
    }
}

fn row(all: &[Vec<Round>], number: usize) -> Row {
    let rounds: Vec<&Round> = all.iter().filter_map(|rounds| rounds.get(number)).collect();
    let share = |tally: fn(&Round) -> Tally| {
        let shares: Vec<f64> = rounds.iter().filter_map(|round| tally(round).share()).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    let size = |tokens: fn(&Round) -> Tokens| {
        let total: Tokens = rounds.iter().map(|round| tokens(round)).sum();
        total.0.checked_div(rounds.len() as u64).unwrap_or(0)
    };
    Row {
        round: number + 1,
        tokens: size(|round| round.tokens),
        summary_tokens: size(|round| round.summary),
        constraints: share(|round| round.scores.constraints),
        goal: share(|round| round.goal),
        items: share(|round| round.scores.items),
        items_of_first: None,
        lasting: share(|round| round.lasting),
        held: share(|round| round.held),
    }
}

fn printed(report: &Report) -> String {
    let right = Align::Right;
    let mut table = Table::new(&[
        ("round", right),
        ("tokens", right),
        ("summary", right),
        ("constraints", right),
        ("goal", right),
        ("items", right),
        ("of first", right),
        ("lasting", right),
        ("held", right),
    ]);
    let share = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{share:.2}"));
    for row in &report.rounds {
        let sizes = [row.round.to_string(), grouped(row.tokens), grouped(row.summary_tokens)];
        let shares =
            [row.constraints, row.goal, row.items, row.items_of_first, row.lasting, row.held].map(share);
        table.row(sizes.into_iter().chain(shares));
    }
    let mut out = format!(
        "{}\n  {} compacted ten times with {}, {} too short; budget {} tokens.\n  \
         All constraints survive in {}, the goal in {}. Largest summary: {} of {} tokens.\n",
        table.render(),
        plural(report.conversations, "conversation"),
        report.strategy,
        grouped(report.too_short as u64),
        grouped(report.budget.0),
        grouped(report.constraints_survive as u64),
        grouped(report.goal_survives as u64),
        grouped(report.largest_summary.0),
        grouped(report.cap.0),
    );
    report.summaries.total().iter().for_each(|line| out.push_str(&format!("{line}\n")));
    out
}
