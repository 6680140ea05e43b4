//! `epitome eval tokens`: estimates against what providers billed.

use std::io::Write;
use std::path::Path;

use epitome_core::Message;
use epitome_core::calibrate::{Errors, ReplayEvent, ReplayTable, replay};
use epitome_wire::files::Transcript;

use crate::args::EvalTokens;
use crate::fail::failure;
use crate::input::{self, Item};
use crate::print::{Align, Table, grouped, say_damage};
use crate::session::Session;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(arguments: &EvalTokens, settings: &Settings) -> anyhow::Result<()> {
    let mut table = ReplayTable::default();
    let work = |path: &Path, transcript| {
        let session = Session::new(path, transcript, None, settings);
        Ok((replayed(&session), session.name.clone(), session.damaged()))
    };
    let sources = input::sources(&arguments.input)?;
    let outcome = input::each_session(&input::options(&arguments.input), &sources, work, |_, item| {
        if let Item::Session((replayed, name, damaged)) = item {
            say_damage(&name, &damaged);
            table.merge(replayed);
        }
        Ok(())
    });
    let rows = table.rows();
    let mut out = anstream::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &rows)?;
        writeln!(out)?;
        return outcome;
    }
    if rows.is_empty() {
        outcome?;
        let hint = "only sessions whose replies carry the provider's usage can be replayed, as Claude Code and pi write them";
        return Err(failure("no session carries token usage", hint));
    }
    let (left, right) = (Align::Left, Align::Right);
    let mut printed = Table::new(&[
        ("model", left),
        ("calls", right),
        ("scored", right),
        ("next call p50", right),
        ("p95", right),
        ("whole context p50", right),
        ("p95", right),
        ("chars/4 p50", right),
        ("p95", right),
    ]);
    for row in &rows {
        let counts = [row.model.clone(), grouped(row.calls as u64), grouped(row.scored as u64)];
        let scored = row.scored > 0;
        let errors = [row.next_call, row.whole_context, row.chars_per_four]
            .into_iter()
            .flat_map(|errors| percents(errors, scored));
        printed.row(counts.into_iter().chain(errors));
    }
    write!(out, "{}", printed.render())?;
    writeln!(out, "\n  Errors against the provider's own count, after five calls of each session.")?;
    outcome
}

fn percents(errors: Errors, scored: bool) -> [String; 2] {
    [errors.median, errors.p95]
        .map(|error| if scored { format!("{:.2} %", error * 100.0) } else { "–".to_owned() })
}

fn replayed(session: &Session) -> ReplayTable {
    let transcript = &session.transcript;
    let Some(main) = session.main() else { return ReplayTable::default() };
    let path = transcript.path(main);
    let rewritten: Vec<Option<Vec<Message>>> =
        path.iter().enumerate().map(|(at, _)| rewritten(transcript, &path, at)).collect();
    let events = path.iter().zip(&rewritten).map(|(at, context)| match context {
        Some(context) => ReplayEvent::Rewritten(context),
        None => ReplayEvent::Message(&transcript.messages[*at]),
    });
    replay(events, session.counter())
}

// What the tool itself went on with where it compacted: its summary, and the messages it kept beside it.
fn rewritten(transcript: &Transcript, path: &[usize], at: usize) -> Option<Vec<Message>> {
    let compaction = transcript.compactions.iter().find(|compaction| compaction.position == path[at])?;
    let kept =
        compaction.first_kept.and_then(|first| path[..at].iter().position(|message| *message == first));
    let kept = kept.map(|from| &path[from..at]).unwrap_or_default();
    Some(
        [&path[at..=at], kept]
            .concat()
            .into_iter()
            .map(|message| transcript.messages[message].clone())
            .collect(),
    )
}
