//! Keeps an agent inside its context window and loses nothing.
//!
//! An [`Engine`] opens [`Session`]s. What is said in a session is recorded before anything else happens; what to send is asked
//! for before each call, and is inside the window, valid, and the same bytes as last time as far as it can be.
//!
//! ```
//! use epitome::{Compact, Engine, Order, Paging, Reply, Run, Tokens, Undo};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("agent.db");
//! let engine = Engine::builder().file(path).agent("helper").window(Tokens(32_000)).build().await?;
//! // The same name gives the same session, also after a restart.
//! let session = engine.session("ticket 4711").await?;
//!
//! session.append("The lighthouse opens at nine. When may I come?").await?;
//! let context = session.context().await?;
//! assert_eq!(context.to_json(), r#"[{"role":"user","content":"The lighthouse opens at nine. When may I come?"}]"#);
//! // … call the model with context.to_json() and record what it says …
//! session.reply(Reply::text("From nine on.")).await?;
//! # for day in 0..20 {
//! #     session.append(format!("Day {day}: {}", "the sea was calm and grey. ".repeat(20))).await?;
//! #     session.reply(Reply::text("Noted.")).await?;
//! # }
//!
//! // context() compacts when that is due; anybody may ask for it earlier.
//! let outcome = session.compact(Compact::now().within(Tokens(800))).await?;
//! assert!(outcome.is_done() && session.peek().await?.tokens() <= Tokens(800));
//!
//! // What is hidden is found, and can be shown again.
//! let hits = session.search("lighthouse", Order::Best, Paging::first(5)).await?;
//! assert!(!hits.items.is_empty());
//! session.undo(Undo::Last, Run::Real).await?;
//! assert!(session.peek().await?.to_json().contains("When may I come?"));
//! engine.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # The loop of an agent
//!
//! Before each call: [`Session::append`] what the user or a tool said, send what [`Session::context`] gives, [`Session::reply`] with what
//! came back and with what it was billed ([`Reply::billed`]), from which estimates learn. When the provider refuses a request as too
//! long, [`Session::context_after`] gives a smaller one, each time by more. [`Session::beside`] says what else is sent: instructions, tools.
//!
//! # What else there is
//!
//! | | |
//! |---|---|
//! | another session on a turn of this one, or from its compressed history | [`Session::fork`], [`Session::continued`], [`Engine::continue_on`] |
//! | what must stay, and where a topic ends | [`Session::pin`], [`Session::seal`] |
//! | what was said and seen | [`Session::history`], [`Session::view`], [`Session::export`], [`Session::recall`] |
//! | what was learnt | [`Session::recall_about`], [`Engine::knowledge`], [`Engine::confirm`], [`Engine::reject`] |
//! | what happened on the channels outside | [`Engine::append_event`], [`Engine::events`] |
//! | being asked before a compaction and told afterwards | [`Hook`] |
//! | a model that writes summaries | [`Builder::summaries_by`] |
//! | strategies, summarisers and extractors of your own | [`Builder::strategy`], [`Builder::summarizer`], [`Builder::extractor`] |
//! | settings from a file, the environment and flags | [`Layers`] |
//!
//! A future of this crate may be dropped at any await: what was recorded stays, nothing else happened.

/// The README's lines, compiled as they stand.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod arrival;
mod billing;
mod builder;
mod compaction;
mod engine;
mod errands;
mod error;
mod events;
mod hooks;
mod knowledge;
mod layers;
mod scribe;
mod session;
mod summarizer;
mod windows;

pub use arrival::{Arrival, Arrived, Course, Sought};
pub use builder::Builder;
pub use compaction::{Compact, Outcome, Saves};
pub use engine::{Engine, Opening};
pub use error::{Error, Result};
pub use hooks::{Answer, Compacted, Compacting, Hook, HookError, Told};
pub use knowledge::{Extractor, Memory, Offline, Recall, Source, What};
pub use layers::{
    Configured, FILE, LayerError, Layers, ModeRoute, ModelUpstream, Origin, SERVING, Serving, ServingSetting,
};
pub use scribe::{Keys, Scribe, ScribeError, summaries_json};
pub use session::{
    Beginning, BilledFor, Context, ContextMessage, Input, Reply, Run, Said, Session, Sight, ToSend, Undo,
    instructions,
};

pub use epitome_core as core;
pub use epitome_core::compact::{Strategy, StrategyName, Summarizer, SummaryError, SummaryRequest};
pub use epitome_core::settings::Settings;
pub use epitome_core::{Block, Message, Role, Time, Tokens, Usage};
pub use epitome_ledger as ledger;
pub use epitome_ledger::model::{Order, SessionFilter, SessionId, TenantId, TurnId};
pub use epitome_ledger::{Ledger, Page, Paging};
pub use epitome_llm as llm;
pub use epitome_wire as wire;
pub use epitome_wire::Dialect;
