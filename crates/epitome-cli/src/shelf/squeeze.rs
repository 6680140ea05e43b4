//! `epitome compact SESSION`: a session of the ledger, compacted where it is.

use epitome::Compact as Ask;
use epitome_ledger::Access;

use super::live::{Live, Summaries, check_budget, in_our_tokens, print_outcome};
use super::{Shelf, changing, pick};
use crate::args::{Compact, Database, Strategy, Which};
use crate::compact::write_report;
use crate::fail::misuse;
use crate::progress::Progress;
use crate::settings::Settings;

/// The session that is meant where no file is; files come first.
pub(crate) fn named(arguments: &Compact) -> Option<String> {
    let [only] = arguments.input.files.as_slice() else { return None };
    let name = only.to_str().filter(|name| *name != "-" && !only.exists())?;
    let is_id = (4..=36).contains(&name.len()) && pick::is_id(name);
    (is_id || is_name(name, &arguments.database)).then(|| name.to_owned())
}

// Most likely it is a file that is not there; then the ledger has no say in it, whatever is the matter with it.
fn is_name(name: &str, database: &Database) -> bool {
    let Ok(shelf) = Shelf::open(database, Access::ReadOnly) else { return false };
    let found = pick::by_name(&shelf, name);
    shelf.close();
    found.is_ok_and(|found| !found.is_empty())
}

/// Runs the command.
pub(crate) fn run(session: &str, arguments: &Compact, settings: &Settings) -> anyhow::Result<()> {
    let of_files = [
        (
            "--output",
            arguments.output.is_some(),
            "epitome context SESSION --json prints what is sent of it then",
        ),
        ("--pin", !arguments.pin.is_empty(), "epitome pin SESSION keeps messages"),
        ("--seal", !arguments.seal.is_empty(), "epitome seal SESSION closes a topic"),
        ("--expand", !arguments.expand.is_empty(), "epitome undo SESSION --messages N-M shows some again"),
        (
            "--show",
            arguments.show.is_some(),
            "epitome context SESSION shows what is sent; --json has the loss",
        ),
        ("--max-bytes", arguments.max_bytes.is_some(), "--budget says how many tokens it may have"),
        ("--turns", arguments.turns.is_some(), "what to expect is reckoned from the session itself"),
        ("--cache", arguments.cache.is_some(), "what the provider still has is known from its last call"),
        ("--lenient", arguments.input.lenient, "what is in the ledger was read already"),
        ("--format", arguments.input.format.is_some(), "what is in the ledger was read already"),
    ];
    if let Some((flag, _, hint)) = of_files.iter().find(|(_, given, _)| *given) {
        return Err(misuse(format!("{flag} is for files, and {session} is a session of the ledger"), hint));
    }
    if arguments.json && arguments.report.as_deref().is_some_and(crate::input::is_stdin) {
        return Err(misuse(
            "--json and --report - print the same to the same place",
            "leave one of them away",
        ));
    }
    let which = Which {
        session: session.to_owned(),
        database: arguments.database.clone(),
        model: arguments.model.clone(),
        json: arguments.json,
    };
    changing(&arguments.database, |shelf| compact(&which, arguments, shelf, settings))
}

fn compact(which: &Which, arguments: &Compact, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(which, shelf, settings, Summaries::AsSet)?;
    let mut ask = Ask::now();
    let budget = arguments.budget.map(|budget| in_our_tokens(budget, arguments.model.as_deref(), settings));
    if let Some(budget) = budget {
        ask = ask.within(budget);
    }
    if let Some(strategy) = arguments.strategy.map(Strategy::name) {
        ask = ask.by(strategy);
    }
    if let Some(instructions) = &arguments.instructions {
        ask = ask.minding(instructions);
    }
    let progress = Progress::new(0);
    let summarizer = &settings.values.summary.summarizer;
    if !summarizer.is_offline() && !arguments.dry_run {
        progress.line().say(format!("waiting for {}", summarizer.0.join(", ")));
    }
    let outcome = shelf.live(async {
        if arguments.dry_run {
            return live.session.compact_dry_run(ask).await;
        }
        let outcome = live.session.compact(ask).await;
        live.engine.settled().await;
        outcome
    });
    progress.finish();
    let outcome = outcome?;
    match &arguments.report {
        Some(path) if crate::input::is_stdin(path) => print_outcome(&outcome, true, arguments.dry_run)?,
        Some(path) => {
            write_report(path, &serde_json::to_string_pretty(&outcome)?)?;
            print_outcome(&outcome, arguments.json, arguments.dry_run)?;
        }
        None => print_outcome(&outcome, arguments.json, arguments.dry_run)?,
    }
    budget.map_or(Ok(()), |asked| check_budget(&which.session, asked, &outcome))
}
