//! `epitome compact SESSION`: a session of the ledger, compacted where it is.

use epitome::Compact as Ask;

use super::live::{Live, print_outcome};
use super::{Shelf, writing};
use crate::args::{Compact, Strategy, Which};
use crate::fail::misuse;
use crate::settings::Settings;

/// The session that is meant where no file is; files come first.
pub(crate) fn named(arguments: &Compact) -> Option<String> {
    let [only] = arguments.input.files.as_slice() else { return None };
    let name = only.to_str().filter(|name| name.len() >= 4 && name.len() <= 36)?;
    let is_id = name.chars().all(|digit| digit.is_ascii_hexdigit() || digit == '-') && name != "-";
    (is_id && !only.exists()).then(|| name.to_owned())
}

/// Runs the command.
pub(crate) fn run(session: &str, arguments: &Compact, settings: &Settings) -> anyhow::Result<()> {
    let of_files = [
        ("--output", arguments.output.is_some()),
        ("--pin", !arguments.pin.is_empty()),
        ("--seal", !arguments.seal.is_empty()),
        ("--expand", !arguments.expand.is_empty()),
        ("--show", arguments.show.is_some()),
        ("--max-bytes", arguments.max_bytes.is_some()),
    ];
    if let Some((flag, _)) = of_files.iter().find(|(_, given)| *given) {
        return Err(misuse(
            format!("{flag} is for files, and {session} is a session of the ledger"),
            "epitome pin, seal, undo, context and export do that for sessions",
        ));
    }
    let which = Which {
        session: session.to_owned(),
        database: arguments.database.clone(),
        model: arguments.model.clone(),
        json: arguments.json,
    };
    writing(&arguments.database, |shelf| compact(&which, arguments, shelf, settings))
}

fn compact(which: &Which, arguments: &Compact, shelf: &Shelf, settings: &Settings) -> anyhow::Result<()> {
    let live = Live::open(which, shelf, settings)?;
    let mut ask = Ask::now();
    if let Some(budget) = arguments.budget {
        ask = ask.within(budget);
    }
    if let Some(strategy) = arguments.strategy.map(Strategy::name) {
        ask = ask.by(strategy);
    }
    let outcome = shelf.live(async {
        match arguments.dry_run {
            true => live.session.compact_dry_run(ask).await,
            false => live.session.compact(ask).await,
        }
    })?;
    print_outcome(&outcome, arguments.json, arguments.dry_run)
}
