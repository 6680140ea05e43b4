//! `epitome eval`: how good Epitome is on your own transcripts.

mod contender;
mod cost;
mod fidelity;
mod repeat;
mod tokens;

use crate::args::Eval;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(what: &Eval, settings: &Settings) -> anyhow::Result<()> {
    match what {
        Eval::Tokens(arguments) => tokens::run(arguments, settings),
        Eval::Fidelity(arguments) => fidelity::run(arguments, settings),
        Eval::Repeat(arguments) => repeat::run(arguments, settings),
        Eval::Cost(arguments) => cost::run(arguments, settings),
    }
}
