//! The ledger at the command line.

mod export;
mod find;
mod growing;
mod import;
mod killed;
mod live;
mod read;
mod refusals;
mod rehearsed;
mod summaries;
mod upkeep;

/// PostgreSQL servers, as the ledger's own tests have them.
#[path = "../../../epitome-ledger/tests/all/server.rs"]
#[allow(dead_code)]
pub(crate) mod server;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{Ran, epitome, epitome_with};

/// A ledger of a test's own.
pub(crate) struct Desk {
    pub(crate) folder: TempDir,
    address: String,
}

impl Desk {
    /// On SQLite, in a folder that is not there yet.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("data/ledger.db").display());
        Self { folder, address }
    }

    /// On PostgreSQL, in a database of its own.
    pub(crate) fn on_postgres() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), address: server::shared() }
    }

    /// The address of the ledger.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Runs a command on the ledger.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        epitome(&[arguments, &["--db", &self.address]].concat())
    }

    /// Runs a command on the ledger with this on its standard input.
    pub(crate) fn run_with(&self, input: &[u8], arguments: &[&str]) -> Ran {
        epitome_with(input, &[arguments, &["--db", &self.address]].concat())
    }

    /// Imports files, however new they are, which must go well, and returns the summary.
    pub(crate) fn import(&self, files: &[&str]) -> Value {
        self.run(&[&["import", "--json", "--whole"], files].concat()).json()
    }

    /// Imports what a file says.
    pub(crate) fn import_text(&self, text: &str) -> Value {
        self.run_with(text.as_bytes(), &["import", "--json", "-"]).json()
    }

    /// All sessions, the latest recorded first.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        self.run(&["sessions", "--json", "--limit", "10000"]).json_lines()
    }

    /// Fails where the doctor finds something.
    pub(crate) fn is_sound(&self) {
        let checkup = self.run(&["doctor", "--json"]).json();
        assert_eq!(checkup["findings"], serde_json::json!([]));
    }
}

/// The figures of a summary: sessions new, forked, grown, unchanged, and messages.
pub(crate) fn figures(summary: &Value) -> [u64; 5] {
    ["new", "forked", "grown", "unchanged", "messages"].map(|key| summary[key].as_u64().unwrap())
}

/// Makes each function that takes a desk a test on SQLite and one on PostgreSQL.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::shelf::Desk::new()); })*
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&crate::shelf::Desk::on_postgres()); })*
        }
    };
}
pub(crate) use on_both;
