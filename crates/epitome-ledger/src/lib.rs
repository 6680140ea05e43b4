//! The lossless record of conversations, on SQLite (one machine) and on PostgreSQL (any number of processes).
//!
//! A session is a path of turns that grows at its head. A turn is a model call, recorded in two steps (what went in, what came
//! out), or a compaction, which says what of the path before it is shown. Nothing that was recorded is changed or
//! deleted; undoing is an append, too. The one exception is [`Ledger::purge`].
//!
//! What a model sees at a turn is read at the price of what it sees: the nearest compaction is known at every turn, and any
//! stretch of a path is a few range scans, however many forks lie behind it.
//!
//! When a write returns, it is durable: on SQLite after an fsync that all waiting writers share, on PostgreSQL after the
//! server's commit. A write names the turn that the writer takes for the head, so that two writers never overwrite each
//! other; with a lease it also carries a fence. Turns carry ids, so that asking twice records once.
//!
//! ```
//! use epitome_core::Role;
//! use epitome_ledger::model::{Expect, NewMessage, NewReply, NewSession, NewTurn, TenantId, Until};
//! use epitome_ledger::{Ledger, Options};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let folder = tempfile::tempdir()?;
//! let address = format!("sqlite:{}", folder.path().join("ledger.db").display());
//! let ledger = Ledger::open(&address, Options::default()).await?;
//! let me = TenantId::LOCAL;
//!
//! let session = ledger.create_session(me, NewSession::of("my agent")).await?;
//! let ask = NewTurn::of(vec![NewMessage::new(Role::User, r#"{"role":"user","content":"hello"}"#)]);
//! let here = Expect { session: session.id, head: session.head, fence: None };
//! let receipt = ledger.append(me, here, vec![ask]).await?;
//!
//! let answer = NewMessage::new(Role::Assistant, r#"{"role":"assistant","content":"hi"}"#);
//! let reply = NewReply { messages: vec![answer], ..NewReply::default() };
//! ledger.reply(me, Expect { head: receipt.head, ..here }, reply).await?;
//!
//! let turn = receipt.head.expect("a turn was appended");
//! let view = ledger.view(me, turn, Until::Reply).await?;
//! assert_eq!(view.messages[1].body, br#"{"role":"assistant","content":"hi"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! The crate refuses policy: it does not know what to compact or when, what a body means, or who an owner is.

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
