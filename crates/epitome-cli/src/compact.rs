//! `epitome compact`: the same session, smaller.

mod envelope;
pub(crate) mod history;
mod output;
mod report;
mod sides;
mod target;

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Context;
use epitome_core::compact::StrategyName;
use epitome_core::prune::Budget;
use epitome_core::{Tokens, events};
use epitome_wire::files::{Transcript, read_all};

use self::envelope::Envelope;
use self::output::Output;
use self::report::{Detail, Report, print_total};
use self::target::{Target, Targets};
use crate::args::{Compact, Messages, Strategy};
use crate::changes::{Changes, ThreadChange, drop_oldest, strip_bound_thinking};
use crate::fail::misuse;
use crate::input::{self, Item};
use crate::session::Session;
use crate::settings::Settings;

/// A session that was made smaller.
struct Compacted {
    text: String,
    report: Report,
}

/// Runs the command.
pub(crate) fn run(arguments: &Compact, settings: &Settings) -> anyhow::Result<()> {
    let sources = input::sources(&arguments.input)?;
    let targets = Targets::settle(arguments, &sources)?;
    let mut output = Output::new(&targets);
    if let [only] = sources.as_slice()
        && input::is_stdin(&only.path)
    {
        let reports = from_stdin(&only.path, arguments, settings, &mut output)?;
        return write_reports(arguments, &targets.report, &reports);
    }
    // A report tells what was written, so it waits until it is.
    let (mut reports, mut waiting) = (Vec::new(), Vec::new());
    let work = |path: &Path, transcript| compact(path, transcript, arguments, settings, None);
    let outcome = input::each_session(&arguments.input, &sources, work, |path, item| match item {
        Item::Session(Compacted { text, report }) => {
            waiting.push(report);
            if arguments.dry_run { Ok(()) } else { output.write(path, &text) }
        }
        Item::Done => {
            output.finish(path)?;
            let detail = detail(arguments, sources.len().max(waiting.len()));
            waiting.iter().for_each(|report| report.print(detail));
            reports.append(&mut waiting);
            Ok(())
        }
        Item::Failed => {
            waiting.clear();
            output.discard();
            Ok(())
        }
    });
    if reports.len() > 1 {
        print_total(&reports);
    }
    write_reports(arguments, &targets.report, &reports)?;
    outcome
}

// Of many sessions each gets a line; of one that somebody looks at closely all is told.
fn detail(arguments: &Compact, sessions: usize) -> Detail {
    match sessions {
        _ if sessions > 1 => Detail::Line,
        _ if arguments.dry_run || arguments.report.is_some() => Detail::Components,
        _ => Detail::Sides,
    }
}

fn compact(
    path: &Path,
    transcript: Transcript,
    arguments: &Compact,
    settings: &Settings,
    budget: Option<Tokens>,
) -> anyhow::Result<Compacted> {
    let session = Session::new(path, transcript, arguments.model.as_deref(), settings);
    let asked = arguments.budget.or(budget);
    let tokens = asked.map(|asked| session.budget(asked));
    let budget = Budget { tokens, bytes: arguments.max_bytes, fixed: session.fixed };
    let strategy = arguments.strategy.map_or(settings.values.compact.strategy, Strategy::name);
    check_use(&session, arguments, strategy)?;
    let mut report = Report::new(&session, arguments, strategy, asked);
    // An agent's first call has nothing to compact yet.
    if session.transcript.messages.is_empty() {
        report.of_nothing();
        return Ok(Compacted { text: session.transcript.text.clone(), report });
    }
    let job = Job { session: &session, arguments, settings, strategy, asked };
    match strategy {
        StrategyName::Prune | StrategyName::None => job.prune(report, budget),
        _ => job.summarise(budget),
    }
}

/// How often a result that has too many bytes is made smaller.
const MOST_ATTEMPTS: usize = 8;

/// A session and what is to be done with it.
struct Job<'a> {
    session: &'a Session,
    arguments: &'a Compact,
    settings: &'a Settings,
    strategy: StrategyName,
    asked: Option<Tokens>,
}

impl Job<'_> {
    fn prune(&self, mut report: Report, budget: Budget) -> anyhow::Result<Compacted> {
        let Self { session, settings, .. } = *self;
        let mut threads = ThreadChange::all(session);
        if self.strategy == StrategyName::None {
            drop_oldest(&mut threads, settings.values.max_conversation_messages);
        } else {
            for change in &mut threads {
                change.prune(|path, messages| session.plan(path, messages, settings, budget));
                events::sending(&change.plan, settings.values.prune.warn_tokens);
            }
        }
        strip_bound_thinking(session, &mut threads);
        threads.iter().for_each(|change| report.take_in(change, settings));
        let text = Changes::of(&threads).rewrite(session).with_context(|| self.failed())?;
        report.measure(session, &text, self.arguments, settings, budget)?;
        Ok(Compacted { text, report })
    }

    // Summaries are planned in tokens; where the result still has too many bytes, with fewer of them.
    fn summarise(&self, budget: Budget) -> anyhow::Result<Compacted> {
        let Self { session, arguments, settings, strategy, asked } = *self;
        let mut tokens = budget.tokens;
        let mut attempts = 0;
        loop {
            let mut report = Report::new(session, arguments, strategy, asked);
            let text = history::compact(session, arguments, strategy, settings, tokens, &mut report);
            let text = text.with_context(|| self.failed())?;
            if arguments.dry_run || arguments.show.is_some() {
                report.as_decided();
                return Ok(Compacted { text, report });
            }
            report.measure(session, &text, arguments, settings, budget)?;
            attempts += 1;
            match report.tokens_for_bytes() {
                Some(fewer) if attempts < MOST_ATTEMPTS && tokens.is_none_or(|tokens| fewer < tokens) => {
                    tokens = Some(fewer);
                }
                _ => return Ok(Compacted { text, report }),
            }
        }
    }

    fn failed(&self) -> String {
        format!("cannot rewrite {}", self.session.name)
    }
}

// Flags that would do nothing are refused rather than ignored.
fn check_use(session: &Session, arguments: &Compact, strategy: StrategyName) -> anyhow::Result<()> {
    let Compact { pin, expand, seal, show, turns, cache, .. } = arguments;
    let summarises = !matches!(strategy, StrategyName::Prune | StrategyName::None);
    let given = [
        (!pin.is_empty(), "--pin"),
        (!expand.is_empty(), "--expand"),
        (show.is_some(), "--show"),
        (turns.is_some(), "--turns"),
        (cache.is_some(), "--cache"),
    ];
    if let Some((_, flag)) = given.iter().find(|(given, _)| *given && !summarises) {
        let what = format!("{flag} has no meaning for the strategy {}", strategy.as_str());
        return Err(misuse(what, "it belongs to strategies that summarise, such as auto or checkpoint"));
    }
    if !seal.is_empty() && strategy != StrategyName::Tiered {
        let what = format!("--seal has no meaning for the strategy {}", strategy.as_str());
        return Err(misuse(
            what,
            "topics are the tiered strategy's; add --strategy tiered or --preset friday",
        ));
    }
    let messages = session.main().map_or(0, |main| session.transcript.path(main).len());
    let named = |flag: &'static str, all: &[Messages]| {
        all.iter().map(|Messages(range)| (flag, *range.end())).collect::<Vec<_>>()
    };
    let seals = seal.iter().map(|seal| ("--seal", *seal)).collect();
    let named = [named("--pin", pin), named("--expand", expand), seals].concat();
    match named.iter().find(|(_, number)| *number >= messages) {
        Some((flag, number)) => {
            let what = format!("{flag} {number}: {} has {messages} messages, counted from 0", session.name);
            Err(misuse(what, "epitome inspect --json and --dry-run show the numbers"))
        }
        None => Ok(()),
    }
}

// A program that pipes an object with messages gets an object with messages back; a person who pipes a file gets the file.
fn from_stdin(
    path: &Path,
    arguments: &Compact,
    settings: &Settings,
    output: &mut Output<'_>,
) -> anyhow::Result<Vec<Report>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
    let envelope = std::str::from_utf8(&bytes).map_or(Ok(None), Envelope::read)?;
    let mut options = input::options(&arguments.input);
    options.format = options.format.or(envelope.as_ref().and_then(Envelope::format));
    let transcripts =
        read_all(&bytes, options).map_err(|error| input::named(error.into(), Path::new("stdin")))?;
    let mut reports = Vec::new();
    for transcript in transcripts {
        let budget = envelope.as_ref().and_then(|envelope| envelope.budget);
        let Compacted { text, report } = compact(path, transcript, arguments, settings, budget)?;
        let shown = arguments.show.is_some();
        let envelope = envelope.as_ref().filter(|_| !shown);
        let answer = envelope.map(|envelope| envelope.answer(&text, &report)).transpose()?;
        if !arguments.dry_run {
            output.write(path, answer.as_deref().unwrap_or(&text))?;
        }
        reports.push(report);
    }
    output.finish(path)?;
    let detail = detail(arguments, reports.len());
    reports.iter().for_each(|report| report.print(detail));
    Ok(reports)
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
