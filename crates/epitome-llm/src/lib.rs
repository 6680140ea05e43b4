//! Models over HTTP: one question to any of three APIs, and what to do when it is not answered.
//!
//! An [`Endpoint`] says which model and where, a [`Client`] asks it once, [`Models`] asks several in order, again where that
//! may help. Whatever goes wrong is a [`Failure`], told apart by what can be done about it; who has bytes of a reply and
//! no client can ask for it, too. A [`summary`] is asked for, checked and mended on top of that, and so is
//! [`knowledge`]. Nothing here stores anything.
//!
//! ```
//! use epitome_core::Tokens;
//! use epitome_llm::{Call, Client, Endpoint, Failure, Kind, Limits, Models};
//!
//! let body = br#"{"error":{"message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#;
//! let failure = Failure::of_reply(400, body).unwrap();
//! assert_eq!(failure.kind, Kind::Overflow { limit: Some(Tokens(200_000)), requested: Some(Tokens(200_251)) });
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint: Endpoint = "openai:qwen3:4b@http://127.0.0.1:11434/v1".parse()?;
//! let key = endpoint.key_of(|name| std::env::var(name).ok());
//! let models = Models::new(vec![Client::new(endpoint, key, Limits::default())?]);
//! let answered = models.ask(&Call::new("Be brief.", "What is a ledger?", Tokens(200))).await?;
//! println!("{}", answered.answer.text);
//! # Ok(())
//! # }
//! ```

mod answer;
mod backoff;
mod breaker;
mod call;
mod client;
mod clock;
mod endpoint;
mod failure;
pub mod knowledge;
mod manners;
mod models;
mod receive;
mod request;
mod secret;
pub mod summary;
mod window;
mod windows;

pub use backoff::{Backoff, Chance};
pub use breaker::{Breaker, Patience, Permit};
pub use call::{Answer, Call, Delivery, Ending, Prefix};
pub use client::{Client, ClientError, Limits};
pub use clock::{Clock, MachineClock, Wait};
pub use endpoint::{Endpoint, EndpointError};
pub use failure::{Advice, Failure, Kind, window_of_truncation};
pub use models::{Answered, Models, NoAnswer, Tried};
pub use secret::Secret;
pub use window::Window;
pub use windows::Windows;
