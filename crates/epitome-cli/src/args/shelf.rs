//! What the commands of the ledger take.

use clap::{Args, Subcommand};
use epitome_core::Time;
use epitome_ledger::model::TenantId;
use epitome_wire::files::Format;

use super::moment::parse_time;
use super::{Input, Messages, format_names};
use clap::builder::TypedValueParser;

/// Which ledger, and whose part of it.
#[derive(Args, Clone)]
pub(crate) struct Database {
    /// The ledger: sqlite:PATH or postgres://… [default: ledger.db in the platform's data folder].
    #[arg(long, value_name = "DATABASE", env = "EPITOME_DB", hide_env_values = true)]
    pub(crate) db: Option<String>,
    /// Whose sessions: an id, or any name. Tenants never see each other.
    #[arg(long, value_name = "TENANT", env = "EPITOME_TENANT", value_parser = parse_tenant)]
    pub(crate) tenant: Option<TenantId>,
}

/// Which page of a list.
#[derive(Args)]
pub(crate) struct Paged {
    /// How many at most.
    #[arg(long, value_name = "COUNT", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) limit: u16,
    /// Go on where a page ended: the cursor that it printed.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

/// Record sessions of other tools, request bodies and lists of messages in the ledger.
///
/// Importing again adds only what is new: a file that grew grows its session, one that was edited becomes a fork, branches
/// and sub-agents become sessions of their own, and compactions that the tool did become compaction turns. Messages are kept
/// byte for byte. An import that was interrupted is finished by the next one. Of session files that changed within the last
/// quarter of an hour, what has no whole answer yet is left for the next import.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome import ~/.claude/projects             every Claude Code session
  epitome import session.jsonl --agent reviewer
  epitome import logs/ --lenient --json")]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) database: Database,
    /// The agent whose sessions they are [default: the tool or format that wrote them].
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Also record what may not be whole yet at the end of files that are being written.
    #[arg(long)]
    pub(crate) whole: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the sessions of the ledger, the latest recorded first.
#[derive(Args)]
pub(crate) struct Sessions {
    #[command(flatten)]
    pub(crate) database: Database,
    /// Only of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only those with this in their label.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// List what was purged instead: when, why, and how much.
    #[arg(long, conflicts_with_all = ["agent", "label", "platform", "limit", "after"])]
    pub(crate) purged: bool,
    /// Only of this platform; what was imported is of the platform "import".
    #[arg(long, value_name = "NAME")]
    pub(crate) platform: Option<String>,
    #[command(flatten)]
    pub(crate) paged: Paged,
    /// Print JSON, one session a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show a session: where it comes from, its compactions, and what was forked from it.
#[derive(Args)]
pub(crate) struct ShowSession {
    /// The session: its id, the first digits of that, or its name.
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print what was said in a session: all of it, a turn, what a compaction summarised, or what the model saw.
///
/// Turns are numbered from 0 along the session's path, as `show` numbers them.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome history 3f2a                  all of it
  epitome history 3f2a --turn 12        one turn
  epitome history 3f2a --summarized 30  what the compaction at turn 30 summarised
  epitome history 3f2a --view           what the model sees next
  epitome history 3f2a --view 12        what it saw when it answered turn 12")]
pub(crate) struct History {
    /// The session: its id, the first digits of that, or its name.
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) part: HistoryPart,
    /// Print JSON, one message a line, bodies as they were recorded.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which part of a history.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct HistoryPart {
    /// Only this turn.
    #[arg(long, value_name = "TURN")]
    pub(crate) turn: Option<u64>,
    /// Only this message, or these: 12, 12-15. A hit of a search names its message.
    #[arg(long, value_name = "MESSAGE")]
    pub(crate) message: Option<Messages>,
    /// Only what this compaction summarised.
    #[arg(long, value_name = "TURN")]
    pub(crate) summarized: Option<u64>,
    /// What the model saw at this turn; without a turn, what it sees next.
    #[arg(long, value_name = "TURN")]
    pub(crate) view: Option<Option<u64>>,
}

/// Search messages, summaries and events.
///
/// Words, "phrases", prefixes (compac*), identifiers and paths as they are written. Case and accents do not matter.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome search E0382 borrow
  epitome search src/main.rs --newest
  epitome search '\"connection reset\"' --session 3f2a")]
pub(crate) struct Search {
    /// What to look for.
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Only on the path of this session.
    #[arg(long, value_name = "SESSION", conflicts_with = "agent")]
    pub(crate) session: Option<String>,
    /// Only in sessions of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The newest first, instead of the best.
    #[arg(long)]
    pub(crate) newest: bool,
    #[command(flatten)]
    pub(crate) paged: Paged,
    /// Print JSON, one hit a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the text that a marker stands for, byte for byte.
///
/// Where a tool result was cleared or cut short, the marker ends in `recall` and twelve digits; that is the id.
#[derive(Args)]
pub(crate) struct Recall {
    /// The id, as the marker shows it; the word `recall` before it does no harm.
    #[arg(required = true, value_name = "ID")]
    pub(crate) id: Vec<String>,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Print JSON: the text, and the message that holds it.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Record and list what happened on channels outside. Events are never compacted.
#[derive(Subcommand)]
pub(crate) enum Events {
    Append(AppendEvent),
    List(ListEvents),
}

/// Record an event; its payload is an argument, or stdin.
#[derive(Args)]
pub(crate) struct AppendEvent {
    /// What happened; - or nothing reads it from stdin.
    #[arg(value_name = "PAYLOAD")]
    pub(crate) payload: Option<String>,
    /// Where it happened.
    #[arg(long, value_name = "NAME")]
    pub(crate) platform: String,
    /// Where on the platform.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) channel: String,
    /// The platform's own id; what is handed in twice is recorded once, what is told otherwise is another version of it
    /// [default: made of the payload].
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// When: 2026-02-03 or 2026-02-03T06:17:55Z [default: now].
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<Time>,
    /// Say whether it is new, and record nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// List events, the latest recorded first.
#[derive(Args)]
pub(crate) struct ListEvents {
    #[command(flatten)]
    pub(crate) database: Database,
    /// Only of this platform.
    #[arg(long, value_name = "NAME")]
    pub(crate) platform: Option<String>,
    /// Only of this channel.
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// Only with this id of the platform.
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Also what was told before it was told otherwise.
    #[arg(long)]
    pub(crate) all_versions: bool,
    #[command(flatten)]
    pub(crate) paged: Paged,
    /// Print JSON, one event a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Take sessions out of the ledger for good. This is the one thing that cannot be undone.
///
/// What forks of a purged session stand on is kept until they are purged, too. A tombstone says what went, when and why.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome purge 3f2a --reason 'asked to be forgotten'
  epitome purge --older-than 2025-01-01
  epitome purge --all --tenant acme --yes")]
pub(crate) struct PurgeSessions {
    #[command(flatten)]
    pub(crate) what: PurgeWhat,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Why; it is recorded.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Say what would go, and leave it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the tombstone as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to purge.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PurgeWhat {
    /// The session: its id, the first digits of that, or its name.
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Sessions in which nothing was said since, and events from before.
    #[arg(long, value_name = "DATE", value_parser = parse_time)]
    pub(crate) older_than: Option<Time>,
    /// All sessions and events of the tenant.
    #[arg(long)]
    pub(crate) all: bool,
}

/// Write a session out again, in the format that it came in or in another.
///
/// In its own format every message is byte for byte what was imported. Into another dialect (anthropic, chat, responses, and
/// lists of messages) it is converted, and what that cannot express is named on stderr.
#[derive(Args)]
pub(crate) struct Export {
    /// The session: its id, the first digits of that, or its name.
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    #[command(flatten)]
    pub(crate) database: Database,
    /// The format [default: the one it came in].
    #[arg(long, value_name = "FORMAT", value_parser = format_names().try_map(|name| name.parse::<Format>()))]
    pub(crate) format: Option<Format>,
    /// Write to this file instead of stdout, which is -.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<std::path::PathBuf>,
}

/// Check everything that must hold in the ledger. It repairs nothing; exit 1 where something is wrong.
///
/// With --upstream, check in its place what epitome serve needs: its address, the database, turns that wait to be recorded, and
/// whether each upstream can be reached and answers; the providers' own are shown the keys of ANTHROPIC_API_KEY and OPENAI_API_KEY, if any.
#[derive(Args)]
pub(crate) struct Doctor {
    /// Check the set-up of epitome serve.
    #[arg(long)]
    pub(crate) upstream: bool,
    #[command(flatten)]
    pub(crate) database: Database,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

// A name is as good as an id: the same name is the same tenant everywhere.
fn parse_tenant(text: &str) -> Result<TenantId, String> {
    if text.trim().is_empty() {
        return Err("a tenant has a name".to_owned());
    }
    text.parse().or_else(|_| {
        let digits = epitome_core::ContentHash::of(text.as_bytes()).to_string();
        digits[..32].parse().map_err(|_| format!("no name of a tenant: {text:?}"))
    })
}
