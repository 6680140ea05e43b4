//! The proxy of Epitome over HTTP: requests go up as they came, answers come back as they are, a keeper looks on.
//!
//! A [`Keeper`] is shown the calls that generate or count, may send another body in place of the client's, and is told how each
//! ended. What it is not shown passes through in both directions without being collected. [`Sessions`] is the keeper that the
//! proxy is for: it finds the session of each call, records it, and has sent what the engine makes of it.
//!
//! ```
//! use epitome_server::{Config, Server};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let mut config = Config::default();
//! config.listen = ([127, 0, 0, 1], 0).into();
//! config.upstreams.openai = "http://127.0.0.1:11434".parse()?;
//! let server = Server::bind(config, None).await?;
//! println!("listening on {}", server.addr());
//! server.serve(async {}).await;
//! # Ok::<(), epitome_server::ServerError>(()) }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod checkup;
mod client;
mod config;
mod drain;
mod encoding;
mod error;
mod headers;
mod held;
mod keep;
mod keeper;
mod line;
mod message;
mod metrics;
mod pace;
mod pipe;
mod refusal;
mod route;
mod server;
mod tap;
mod tunnel;
mod upload;
mod upstream;

pub use checkup::{Checked, Checkup, Finding, State};
pub use config::{Config, Limits, PORT};
pub use encoding::Decoded;
pub use error::ServerError;
pub use keep::{Keeping, Mode, ModeRule, Modes, Sessions, Source, Tenants};
pub use keeper::{Call, CallKind, End, Errand, Keeper, Retry, Seen, Watch};
pub use line::{Line, Listener, Slip};
pub use route::Provider;
pub use server::Server;
pub use upstream::{ForModels, Upstream, Upstreams};

/// What headers are kept in, and what a keeper's futures are.
pub use bytes::Bytes;
pub use futures_util::future::BoxFuture;
pub use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
