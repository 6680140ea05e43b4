//! What `epitome serve` takes.

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::serve::CLIENTS;

/// Stand between agents and their providers.
///
/// Requests in Anthropic's and OpenAI's APIs go to the provider, or to whatever upstream is named, and answers come back as they
/// are. Every conversation is recorded in the ledger and found again by what was said in it; before it outgrows the model's
/// window, tool results are pruned and old history gives way to a summary. Keys are the clients' own: they are passed on, never stored
/// or logged. On this machine alone all sessions are yours; where others can reach it, each key has its own (--tenants). --print-env prints what a client needs to be told.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome serve
  epitome serve --listen 127.0.0.1:9000 --openai-upstream http://127.0.0.1:11434
  epitome serve --mode observe
  epitome serve --print-env claude-code

Answers carry x-epitome-session, x-epitome-turn, x-epitome-tokens-before and -after, x-epitome-compaction, and x-epitome-error where
a call went up without its session.")]
pub(crate) struct Serve {
    /// The ledger: sqlite:PATH or postgres://… [default: ledger.db in the platform's data folder].
    #[arg(long, value_name = "DATABASE", env = "EPITOME_DB", hide_env_values = true)]
    pub(crate) db: Option<String>,
    /// What is done to calls: compact, prune, observe (record only) or off [default: compact; EPITOME_MODE].
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// Whose sessions they are: one (all are yours) or key (each key has its own) [default: one on this machine alone, else key;
    /// EPITOME_TENANTS].
    #[arg(long, value_name = "WHOSE")]
    pub(crate) tenants: Option<String>,
    /// Where to listen; port 0 is any that is free [default: 127.0.0.1:8484; EPITOME_LISTEN].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Where requests in Anthropic's API go, without /v1 [default: the provider's own; EPITOME_ANTHROPIC_UPSTREAM].
    #[arg(long, value_name = "URL")]
    pub(crate) anthropic_upstream: Option<String>,
    /// Where requests in OpenAI's APIs go, without /v1 [default: the provider's own; EPITOME_OPENAI_UPSTREAM].
    #[arg(long, value_name = "URL")]
    pub(crate) openai_upstream: Option<String>,
    /// Serve nothing, but print the lines that point this client at the proxy.
    #[arg(long, value_name = "CLIENT", value_parser = client_names())]
    pub(crate) print_env: Option<String>,
}

impl Serve {
    /// What was given, as settings.
    pub(super) fn flags(&self) -> Vec<(&'static str, &str)> {
        [
            ("listen", &self.listen),
            ("anthropic_upstream", &self.anthropic_upstream),
            ("openai_upstream", &self.openai_upstream),
            ("mode", &self.mode),
            ("tenants", &self.tenants),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)))
        .collect()
    }
}

fn client_names() -> PossibleValuesParser {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
}
