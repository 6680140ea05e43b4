//! `epitome compact`: the same session, smaller.

mod bytes;
mod envelope;
pub(crate) mod history;
mod job;
mod output;
mod report;
mod show;
mod sides;
mod target;
mod usage;

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use epitome_wire::files::read_all;

use self::envelope::Envelope;
use self::job::{Compacted, Means, compact};
use self::output::Output;
use self::report::{Detail, Report, Stream, check_budgets, print_total};
use self::target::{Target, Targets};
use crate::args::{Compact, Strategy};
use crate::input::{self, Item};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::shelf::squeeze;
use crate::writers::Writers;

/// Runs the command.
pub(crate) fn run(arguments: &Compact, settings: &Settings) -> anyhow::Result<()> {
    if let Some(session) = squeeze::named(arguments) {
        return squeeze::run(&session, arguments, settings);
    }
    let sources = input::sources(&arguments.input)?;
    let targets = Targets::settle(arguments, &sources)?;
    let writers = writers(arguments, settings)?;
    let mut output = Output::new(&targets);
    if let [only] = sources.as_slice()
        && input::is_stdin(&only.path)
    {
        let reports = from_stdin(&only.path, (arguments, settings, writers.as_ref()), &mut output)?;
        print(arguments, &targets.report, &reports, reports.len())?;
        write_reports(arguments, &targets.report, &reports)?;
        return check_budgets(&reports);
    }
    // A report tells what was written, so it waits until it is.
    let (mut reports, mut waiting) = (Vec::new(), Vec::new());
    let work = |path: &Path, transcript, progress: &Progress| {
        let desk = writers.as_ref().map(|writers| writers.beside(progress));
        compact(path, transcript, &Means { arguments, settings, desk }, None)
    };
    let mut sink = |path: &Path, item| match item {
        Item::Session(Compacted { text, report }) => {
            waiting.push(report);
            if arguments.dry_run { Ok(()) } else { output.write(path, &text) }
        }
        Item::Done => {
            output.finish(path)?;
            print(arguments, &targets.report, &waiting, sources.len().max(waiting.len()))?;
            reports.append(&mut waiting);
            Ok(())
        }
        Item::Failed => {
            waiting.clear();
            output.discard();
            Ok(())
        }
    };
    let options = input::options(&arguments.input);
    let outcome = input::each_shown(&options, &sources, work, |path, item, progress| {
        progress.suspended(|| sink(path, item))
    });
    if reports.len() > 1 {
        print_total(&reports, stream(arguments, &targets.report))?;
    }
    write_reports(arguments, &targets.report, &reports)?;
    outcome?;
    check_budgets(&reports)
}

// A rehearsal asks nobody, and strategies that only prune have nothing to ask; what could not be asked is refused all the same.
fn writers(arguments: &Compact, settings: &Settings) -> anyhow::Result<Option<Writers>> {
    let strategy = arguments.strategy.map_or(settings.values.compact.strategy, Strategy::name);
    let writers = if strategy.meets_budgets() { Writers::of(settings)? } else { None };
    Ok(writers.filter(|_| !arguments.dry_run))
}

fn print(arguments: &Compact, target: &Target, reports: &[Report], sessions: usize) -> anyhow::Result<()> {
    let (detail, stream) = (detail(arguments, sessions), stream(arguments, target));
    reports.iter().try_for_each(|report| report.print(detail, stream))
}

// The plan of a dry run is what was asked for; all other reports are talk beside the session.
fn stream(arguments: &Compact, target: &Target) -> Stream {
    match target {
        Target::Stdout => Stream::Talk,
        _ if arguments.dry_run && !arguments.json => Stream::Data,
        _ => Stream::Talk,
    }
}

// Of many sessions each gets a line; of one that somebody looks at closely all is told.
fn detail(arguments: &Compact, sessions: usize) -> Detail {
    match sessions {
        _ if sessions > 1 => Detail::Line,
        _ if arguments.dry_run || arguments.report.is_some() => Detail::Components,
        _ => Detail::Sides,
    }
}

// A program that pipes an object with messages gets an object with messages back; a person who pipes a file gets the file.
fn from_stdin(
    path: &Path,
    (arguments, settings, writers): (&Compact, &Settings, Option<&Writers>),
    output: &mut Output<'_>,
) -> anyhow::Result<Vec<Report>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
    let envelope = std::str::from_utf8(&bytes).map_or(Ok(None), Envelope::read)?;
    let mut options = input::options(&arguments.input);
    options.format = options.format.or(envelope.as_ref().and_then(Envelope::format));
    let transcripts =
        read_all(&bytes, options).map_err(|error| input::named(error.into(), Path::new("stdin")))?;
    let progress = Progress::new(0);
    let means = Means { arguments, settings, desk: writers.map(|writers| writers.beside(&progress)) };
    let mut reports = Vec::new();
    for transcript in transcripts {
        let budget = envelope.as_ref().and_then(|envelope| envelope.budget);
        let Compacted { text, report } = compact(path, transcript, &means, budget)?;
        let is_session = arguments.show.is_none() && !arguments.dry_run;
        let envelope = envelope.as_ref().filter(|_| is_session);
        let answer = envelope.map(|envelope| envelope.answer(&text, &report)).transpose()?;
        if !arguments.dry_run {
            output.write(path, answer.as_deref().unwrap_or(&text))?;
        }
        reports.push(report);
    }
    progress.finish();
    output.finish(path)?;
    Ok(reports)
}

/// Writes what was reported of a session of the ledger where `--report` says.
pub(crate) fn write_report(path: &Path, json: &str) -> anyhow::Result<()> {
    output::write(&target::settle(path, target::Folders::Exist)?, format!("{json}\n").as_bytes())
}

fn write_reports(arguments: &Compact, target: &Target, reports: &[Report]) -> anyhow::Result<()> {
    let json = match reports {
        [] => return Ok(()),
        [only] => serde_json::to_string_pretty(only)?,
        several => serde_json::to_string_pretty(several)?,
    };
    if arguments.json {
        writeln!(io::stdout().lock(), "{json}")?;
    }
    match target {
        Target::Stdout if arguments.json => Ok(()),
        target => output::write(target, format!("{json}\n").as_bytes()),
    }
}
