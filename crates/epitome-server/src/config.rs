//! What a server is told: where it listens, where requests go, and how long and how much is borne.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::upstream::Upstreams;

/// The port of Epitome.
pub const PORT: u16 = 8484;

/// How long and how much is borne.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The bytes of a request's body, as they come.
    pub body: u64,
    /// The bytes of an answer that are kept to be looked at when it is over; what goes beyond is forwarded all the same. The longest
    /// answers of models, each token in an event of its own, have a few megabytes, while a server that never ends would fill the memory.
    pub answer: usize,
    /// Connections of clients at once; more wait.
    pub connections: usize,
    /// Until the head of a request is there, also of the next one on a connection that is kept.
    pub head: Duration,
    /// Between two pieces of a request's body.
    pub upload: Duration,
    /// To connect to an upstream.
    pub connect: Duration,
    /// Until an upstream begins to answer, and between two pieces of its answer. Models think for minutes.
    pub idle: Duration,
    /// After which an upstream is asked whether its connection is alive, and within which it has to say so. That is no limit for
    /// models: connections answer while they think.
    pub ping: Duration,
    /// For which the beginning of a good answer is held back until it is known whether it is one.
    pub held: Duration,
    /// For which a client may leave unread what is sent to it.
    pub drain: Duration,
    /// For which a connection to an upstream is kept without use.
    pub kept: Duration,
    /// For which a keeper may think, about a call or a refusal.
    pub keeper: Duration,
    /// For what is under way when the server is told to end.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            answer: 32 << 20,
            connections: 4096,
            head: Duration::from_secs(120),
            upload: Duration::from_secs(60),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(15 * 60),
            ping: Duration::from_secs(20),
            held: Duration::from_secs(1),
            drain: Duration::from_secs(5 * 60),
            kept: Duration::from_secs(60),
            keeper: Duration::from_secs(30),
            shutdown: Duration::from_secs(30),
        }
    }
}

/// How a server is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where it listens; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// What is borne.
    pub limits: Limits,
    /// Certificates, in DER, that are trusted beside those of the system.
    pub trusted: Vec<Vec<u8>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)),
            upstreams: Upstreams::default(),
            limits: Limits::default(),
            trusted: Vec::new(),
        }
    }
}
