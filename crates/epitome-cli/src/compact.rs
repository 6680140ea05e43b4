//! `epitome compact`: the same session, smaller.

mod output;
mod report;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use epitome_core::prune::Budget;
use epitome_core::{Tokens, events, trim};
use epitome_wire::files::{Transcript, read_all};
use epitome_wire::json;

use self::output::Output;
use self::report::Report;
use crate::args::{Compact, Strategy};
use crate::fail::{failure, misuse};
use crate::input::{self, Item};
use crate::session::{Changes, Session};
use crate::settings::Settings;

/// A session that was made smaller.
struct Compacted {
    text: String,
    report: Report,
}

/// Runs the command.
pub(crate) fn run(arguments: &Compact, settings: &Settings) -> anyhow::Result<()> {
    let files = input::files(&arguments.input)?;
    let to_stdout = arguments.report.as_deref().is_some_and(input::is_stdin) || arguments.json;
    if to_stdout && arguments.report.is_some() && arguments.output.is_none() && !arguments.json {
        return Err(misuse(
            "both the session and the report would go to stdout",
            "write the session to a file with -o",
        ));
    }
    if files.len() > 1 && !arguments.json && !arguments.output.as_deref().is_some_and(Path::is_dir) {
        let hint = "name an existing folder with -o, or compact one file at a time";
        return Err(misuse(format!("{} files cannot be written to one place", files.len()), hint));
    }
    if let [only] = files.as_slice()
        && input::is_stdin(only)
    {
        return from_stdin(arguments, settings);
    }
    let mut output = Output::new(arguments);
    let mut reports = Vec::new();
    let work = |path: &Path, transcript| compact(path, transcript, arguments, settings, None);
    let outcome = input::each_session(&arguments.input, work, |path, item| match item {
        Item::Session(Compacted { text, report }) => {
            report.print()?;
            reports.push(report);
            output.write(path, &text)
        }
        Item::Done => output.finish(path),
        Item::Failed => output.discard(path),
    });
    write_reports(arguments, &reports)?;
    outcome
}

fn compact(
    path: &Path,
    transcript: Transcript,
    arguments: &Compact,
    settings: &Settings,
    budget: Option<Tokens>,
) -> anyhow::Result<Compacted> {
    let session = Session::new(path, transcript, arguments.model.as_deref(), settings);
    let budget =
        Budget { tokens: arguments.budget.or(budget), bytes: arguments.max_bytes, fixed: session.fixed };
    let mut report = Report::new(&session, arguments.strategy, budget);
    let mut changes = Changes::default();
    for thread in &session.transcript.threads {
        let (path, messages) = (session.path(thread), session.messages(thread));
        match arguments.strategy {
            Strategy::Prune => {
                let plan = session.plan(&path, &messages, settings, budget);
                events::sending(&plan, settings.values.prune.warn_tokens);
                changes.prune(&session, thread, &plan, &path, &messages);
                report.pruned(thread, &plan, settings);
            }
            Strategy::None => {
                let dropped = trim::oldest_beyond(&path, settings.values.max_conversation_messages);
                let numbers = session.transcript.path(thread);
                changes.remove(numbers.get(dropped.clone()).unwrap_or_default().iter().copied());
                report.trimmed(thread, &path, dropped, settings);
            }
        }
    }
    let text = session.rewrite(&changes).with_context(|| format!("cannot rewrite {}", session.name))?;
    report.measure(&session, &text, arguments, settings)?;
    Ok(Compacted { text, report })
}

// A program that pipes {"messages":[…]} gets {"messages":[…],"report":{…}} back; a person who pipes a file gets the file.
fn from_stdin(arguments: &Compact, settings: &Settings) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
    let envelope = std::str::from_utf8(&bytes).ok().and_then(Envelope::read);
    let path = PathBuf::from("-");
    let options = input::options(&arguments.input);
    let transcripts =
        read_all(&bytes, options).map_err(|error| input::named(error.into(), Path::new("stdin")))?;
    let mut output = Output::new(arguments);
    let mut reports = Vec::new();
    for transcript in transcripts {
        let Compacted { text, report } = compact(
            &path,
            transcript,
            arguments,
            settings,
            envelope.as_ref().and_then(|envelope| envelope.budget),
        )?;
        report.print()?;
        match &envelope {
            Some(_) => output.write(&path, &answer(&text, &report)?)?,
            None => output.write(&path, &text)?,
        }
        reports.push(report);
    }
    output.finish(&path)?;
    write_reports(arguments, &reports)
}

/// What a program sends beside its messages.
struct Envelope {
    budget: Option<Tokens>,
}

impl Envelope {
    fn read(text: &str) -> Option<Self> {
        let span = json::value(text).ok()?;
        let mut budget = None;
        let mut has_messages = false;
        for member in json::members(text, span) {
            let (key, value) = member.ok()?;
            match key.as_ref() {
                "messages" => has_messages = true,
                "budget" => budget = value.of(text).parse().ok().map(Tokens),
                _ => {}
            }
        }
        has_messages.then_some(Self { budget })
    }
}

fn answer(text: &str, report: &Report) -> anyhow::Result<String> {
    let span = json::value(text)?;
    let messages = json::members(text, span).flatten().find(|(key, _)| key == "messages");
    let (_, messages) = messages.ok_or_else(|| failure("the messages are gone", ""))?;
    Ok(format!("{{\"messages\":{},\"report\":{}}}\n", messages.of(text), serde_json::to_string(report)?))
}

fn write_reports(arguments: &Compact, reports: &[Report]) -> anyhow::Result<()> {
    let json = match reports {
        [only] => serde_json::to_string_pretty(only)?,
        several => serde_json::to_string_pretty(several)?,
    };
    if arguments.json {
        writeln!(io::stdout().lock(), "{json}")?;
    }
    match arguments.report.as_deref() {
        None => Ok(()),
        Some(path) if input::is_stdin(path) => Ok(writeln!(io::stdout().lock(), "{json}")?),
        Some(path) => output::write_file(path, format!("{json}\n").as_bytes()),
    }
}
