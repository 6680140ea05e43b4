//! Models over HTTP: what can go wrong with a call, told apart by what to do about it.
//!
//! ```
//! use epitome_core::Tokens;
//! use epitome_llm::{Failure, Kind};
//!
//! let body = br#"{"error":{"message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#;
//! let failure = Failure::of_reply(400, body).unwrap();
//! assert_eq!(failure.kind, Kind::Overflow { limit: Some(Tokens(200_000)), requested: Some(Tokens(200_251)) });
//! ```

mod failure;

pub use failure::{Advice, Failure, Kind, window_of_truncation};
