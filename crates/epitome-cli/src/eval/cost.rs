//! `epitome eval cost`: what sessions cost call by call, with and without compaction, and whether the goals are met.

mod contender;
mod goals;
mod replay;
mod report;
mod script;
mod table;

use std::io::Write;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use epitome_wire::files::{ReadOptions, Summaries};

use self::contender::Contender;
use self::replay::{Replayed, replay};
use self::report::{Report, Row};
use self::script::Script;
use crate::args::EvalCost;
use crate::fail::failure;
use crate::input::{self, Item};
use crate::print::say_damage;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(arguments: &EvalCost, settings: &Settings) -> anyhow::Result<()> {
    let sources = input::sources(&arguments.input)?;
    let work = |path: &Path, transcript| {
        let script = Script::of(path, transcript, arguments, settings)?;
        let played = played(&script, arguments, settings)?;
        Ok((script, played))
    };
    let mut report = Report::new(arguments.threshold);
    let options = ReadOptions { summaries: Summaries::Apart, ..input::options(&arguments.input) };
    let outcome = input::each_session(&options, &sources, work, |_, item| {
        if let Item::Session((script, played)) = item {
            say_damage(&script.name, &script.damaged);
            if !script.calls.is_empty() {
                report.add(Row::of(&script, &played), &played);
            }
        }
        Ok(())
    });
    if report.sessions.is_empty() {
        outcome?;
        let hint = "a call is an answer of the model to something that was said before; epitome inspect shows what a file holds";
        return Err(failure("no session holds a call of a model", hint));
    }
    let report = report.judged();
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", table::printed(&report))?;
    }
    outcome?;
    match report.overflows {
        0 => Ok(()),
        calls => Err(failure(
            format!("{calls} of the calls exceed the window of their model"),
            "what must be kept is too large: shorten the instructions, or name a larger --window",
        )),
    }
}

// A file may hold all conversations, and files are what is worked on at once; so contenders are, too.
fn played(script: &Script, arguments: &EvalCost, settings: &Settings) -> anyhow::Result<Vec<Replayed>> {
    if script.calls.is_empty() {
        return Ok(Vec::new());
    }
    thread::scope(|scope| {
        let begin =
            |contender: Contender| scope.spawn(move || replay(script, contender, arguments, settings));
        let begun = Contender::ALL.map(begin);
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
