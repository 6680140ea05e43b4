//! What can be wrong with the server itself. Failures of single requests are answers (`refusal.rs`), not errors.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// The server cannot be started or has to end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// An upstream's address cannot be used.
    #[error("upstream {url}: {why}")]
    BadUpstream {
        /// What was written, without credentials.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The TLS library refuses its set-up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The sessions cannot be kept.
    #[error(transparent)]
    Engine(#[from] epitome::Error),
    /// The ledger cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] epitome::ledger::LedgerError),
}
