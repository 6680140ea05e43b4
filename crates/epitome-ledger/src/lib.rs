//! The lossless record of conversations.

mod body;
mod doctor;
mod error;
mod ledger;
mod migrations;
pub mod model;
mod options;
mod page;
mod postgres;
mod shared;
mod sql;
mod sqlite;
mod store;
mod words;

pub use error::{LedgerError, Result};
pub use ledger::Ledger;
pub use options::{Access, Options};
pub use page::{Cursor, Page, Paging};
pub use shared::Clock;
