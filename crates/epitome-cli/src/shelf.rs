//! The ledger at the command line: what was said is imported, listed, shown, found, recalled, written out, checked, purged.
//!
//! Each command is one file. This one opens the ledger and hands over.

mod context;
mod doctor;
mod events;
mod export;
mod fork;
mod history;
mod import;
mod instruct;
mod knowledge;
mod live;
mod more;
mod pick;
mod pin;
mod place;
mod purge;
mod recall;
mod search;
mod sessions;
mod show;
pub(crate) mod squeeze;
mod undo;
mod watch;

use std::path::PathBuf;

use epitome_ledger::model::TenantId;
use epitome_ledger::{Access, Ledger, Options};

pub(crate) use self::place::refused;
use crate::args::{Command, Database, Events};
use crate::settings::Settings;

/// Runs a command of the ledger.
pub(crate) fn run(command: &Command, settings: &Settings) -> anyhow::Result<()> {
    match command {
        Command::Import(arguments) => import::run(arguments, settings),
        Command::Sessions(arguments) => reading(&arguments.database, |shelf| sessions::run(arguments, shelf)),
        Command::Show(arguments) => reading(&arguments.database, |shelf| show::run(arguments, shelf)),
        Command::History(arguments) => {
            reading(&arguments.database, |shelf| history::run(arguments, shelf, settings))
        }
        Command::Search(arguments) => reading(&arguments.database, |shelf| search::run(arguments, shelf)),
        Command::Recall(arguments) => reading(&arguments.database, |shelf| recall::run(arguments, shelf)),
        Command::Export(arguments) => reading(&arguments.database, |shelf| export::run(arguments, shelf)),
        Command::Doctor(arguments) if arguments.upstream => crate::serve::check_up(arguments, settings),
        Command::Doctor(arguments) => reading(&arguments.database, |shelf| doctor::run(arguments, shelf)),
        Command::Events(Events::List(arguments)) => {
            reading(&arguments.database, |shelf| events::list(arguments, shelf))
        }
        Command::Events(Events::Append(arguments)) if arguments.dry_run => {
            reading(&arguments.database, |shelf| events::append(arguments, shelf))
        }
        Command::Events(Events::Append(arguments)) => {
            writing(&arguments.database, |shelf| events::append(arguments, shelf))
        }
        Command::Context(arguments) => {
            changing(&arguments.which.database, |shelf| context::run(arguments, shelf, settings))
        }
        Command::Fork(arguments) => {
            changing(&arguments.which.database, |shelf| fork::run(arguments, shelf, settings))
        }
        Command::Undo(arguments) => {
            changing(&arguments.which.database, |shelf| undo::run(arguments, shelf, settings))
        }
        Command::Seal(arguments) => {
            changing(&arguments.which.database, |shelf| pin::seal(arguments, shelf, settings))
        }
        Command::Pin(arguments) => {
            changing(&arguments.which.database, |shelf| pin::run(arguments, shelf, settings))
        }
        Command::Instruct(arguments) => {
            changing(&arguments.which.database, |shelf| instruct::run(arguments, shelf, settings))
        }
        Command::Watch(arguments) => {
            reading(&arguments.which.database, |shelf| watch::run(arguments, shelf, settings))
        }
        Command::Knowledge(arguments) if arguments.confirm.is_some() || arguments.reject.is_some() => {
            let judge = |shelf: &Shelf| knowledge::judge(arguments, shelf);
            if arguments.dry_run {
                reading(&arguments.database, judge)
            } else {
                changing(&arguments.database, judge)
            }
        }
        Command::Knowledge(arguments) => {
            reading(&arguments.database, |shelf| knowledge::list(arguments, shelf))
        }
        Command::Purge(arguments) => changing(&arguments.database, |shelf| purge::run(arguments, shelf)),
        Command::Inspect(_)
        | Command::Compact(_)
        | Command::Count(_)
        | Command::Serve(_)
        | Command::Config(_)
        | Command::Eval(_) => Ok(()),
    }
}

/// An open ledger, and whose part of it is meant.
pub(super) struct Shelf {
    /// The ledger.
    pub(super) ledger: Ledger,
    /// The tenant.
    pub(super) tenant: TenantId,
    /// Where it is, without a password.
    pub(super) name: String,
    runtime: tokio::runtime::Runtime,
}

impl Shelf {
    /// Opens the ledger that the arguments name.
    pub(super) fn open(database: &Database, access: Access) -> anyhow::Result<Self> {
        let address = place::address(database.db.as_deref())?;
        let name = place::shown(&address);
        match access {
            Access::ReadOnly => place::require(&address)?,
            Access::ReadWrite => place::prepare(&address)?,
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ledger = runtime
            .block_on(Ledger::open(&address, Options { access, ..Options::default() }))
            .map_err(|error| place::refused(&error, &name))?;
        Ok(Self { ledger, tenant: database.tenant.unwrap_or(TenantId::LOCAL), name, runtime })
    }

    /// Waits for work on the ledger.
    pub(super) fn wait<T>(&self, work: impl Future<Output = epitome_ledger::Result<T>>) -> anyhow::Result<T> {
        self.runtime.block_on(work).map_err(|error| place::refused(&error, &self.name))
    }

    /// Waits for work that fails in its own words.
    pub(super) fn wait_any<T>(&self, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        self.runtime.block_on(work).map_err(|error| match error.downcast::<epitome_ledger::LedgerError>() {
            Ok(error) => place::refused(&error, &self.name),
            Err(error) => error,
        })
    }

    /// Ends all work on the ledger.
    pub(super) fn close(&self) {
        self.runtime.block_on(self.ledger.close());
    }
}

/// Where a server keeps its sessions.
pub(super) struct ForServer {
    /// The address of the ledger.
    pub(super) address: String,
    /// The same without a password.
    pub(super) name: String,
    /// A folder for what it cannot take just now.
    pub(super) spool: PathBuf,
}

/// Where a server keeps its sessions; a file that is not there yet is made.
pub(super) fn for_server(named: Option<&str>) -> anyhow::Result<ForServer> {
    let place = of_server(named)?;
    place::prepare(&place.address)?;
    Ok(place)
}

/// The same, and nothing is made.
pub(super) fn of_server(named: Option<&str>) -> anyhow::Result<ForServer> {
    let address = place::address(named)?;
    let (name, spool) = (place::shown(&address), place::spool(&address)?);
    Ok(ForServer { address, name, spool })
}

fn reading(database: &Database, work: impl FnOnce(&Shelf) -> anyhow::Result<()>) -> anyhow::Result<()> {
    with(Shelf::open(database, Access::ReadOnly)?, work)
}

fn writing(database: &Database, work: impl FnOnce(&Shelf) -> anyhow::Result<()>) -> anyhow::Result<()> {
    with(Shelf::open(database, Access::ReadWrite)?, work)
}

// What is there is changed; a ledger that nobody began yet holds nothing to change.
fn changing(database: &Database, work: impl FnOnce(&Shelf) -> anyhow::Result<()>) -> anyhow::Result<()> {
    place::require(&place::address(database.db.as_deref())?)?;
    writing(database, work)
}

fn with(shelf: Shelf, work: impl FnOnce(&Shelf) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let outcome = work(&shelf);
    shelf.close();
    outcome
}
