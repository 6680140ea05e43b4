//! The `epitome` command: reads arguments and files, calls the libraries, prints. It decides nothing itself.

mod args;
mod changes;
mod compact;
mod config;
mod count;
mod eval;
mod fail;
mod input;
mod inspect;
mod ordered;
mod print;
mod progress;
mod serve;
mod session;
mod settings;
mod shelf;
mod writers;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command, Log};

// A proxy that runs for months gives back what requests took: the system's allocator keeps it in as many heaps as there are threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log(cli.log);
    // What is still buffered must be on its way before we say that all went well.
    match run(&cli).and_then(|()| Ok(io::stdout().flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if reader_went_away(&error) => ExitCode::SUCCESS,
        Err(error) => {
            fail::print(&error);
            fail::exit_code(&error)
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<()> {
    let settings = settings::layered(cli)?;
    match &cli.command {
        Command::Inspect(arguments) => inspect::run(arguments, &settings),
        Command::Compact(arguments) => compact::run(arguments, &settings),
        Command::Count(arguments) => count::run(arguments, &settings),
        Command::Config(arguments) => config::run(arguments, &settings),
        Command::Serve(arguments) => serve::run(arguments, &settings),
        Command::Eval(what) => eval::run(what, &settings),
        shelf => shelf::run(shelf, &settings),
    }
}

fn start_log(how: Option<Log>) {
    let Some(how) = how else { return };
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_target(false);
    match how {
        Log::Text => log.init(),
        Log::Json => log.json().with_target(true).init(),
    }
}

// `epitome inspect … | head` closes the pipe early; that is the reader's choice, not a failure.
fn reader_went_away(error: &anyhow::Error) -> bool {
    let kind = match error.downcast_ref::<serde_json::Error>() {
        Some(error) => error.io_error_kind(),
        None => error.downcast_ref::<io::Error>().map(io::Error::kind),
    };
    kind == Some(ErrorKind::BrokenPipe)
}
