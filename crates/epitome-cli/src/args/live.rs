//! What the commands take that change a session, or show what would be sent of it.

use clap::Args;
use epitome_core::Tokens;
use epitome_core::knowledge::Kind;
use epitome_ledger::model::FindingId;

use super::{Database, Messages, Paged, parse_tokens};

/// Which session, and in which ledger.
#[derive(Args)]
pub(crate) struct Which {
    /// The session: its id, the first digits of that, or its name.
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    #[command(flatten)]
    pub(crate) database: Database,
    /// The model whose window, prices and tokens count [default: the one that answered last].
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show what would be sent of a session now.
///
/// Without --max-tokens nothing is changed: where a compaction is due before the next call, stderr says what that will do. With it
/// the session is compacted to fit, which is recorded like every compaction; where it cannot be, the command exits with 1. --json
/// prints {"messages":[…]} as the session's dialect writes it, {"input":[…]} for Responses; where a summary stands among the
/// operator's instructions and those stand beside the messages, {"system":…,"messages":[…]}, to be added to them.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome context 0198c2f1
  epitome context 0198c2f1 --max-tokens 32k --json | jq '.messages | length'
  epitome context 0198c2f1 --recall \"which database\" --max-tokens 500")]
pub(crate) struct ShowContext {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many tokens it may have, with --model in tokens of that model if it is known, else in o200k tokens; more are
    /// compacted first. With --recall: how many that may have [default: 2000].
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub(crate) max_tokens: Option<Tokens>,
    /// Only tell what would be compacted before it is sent, if anything.
    #[arg(long, conflicts_with = "recall")]
    pub(crate) dry_run: bool,
    /// Show instead what would be recalled of this: what was learnt and said of it, but for what the context holds.
    #[arg(long, value_name = "WORDS")]
    pub(crate) recall: Option<String>,
}

/// Show what was learnt from compacted messages: facts, decisions, preferences; confirm or reject it.
///
/// What is no longer the case is left out; --all shows it, too. A preference counts as unconfirmed until somebody confirms it. What
/// is rejected is neither recalled nor learnt again.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome knowledge --kind decision
  epitome knowledge --session 0198c2f1 --json
  epitome knowledge --confirm 01a1e3d3-3e32-71da-8025-604addd244ff")]
pub(crate) struct Knowledge {
    #[command(flatten)]
    pub(crate) database: Database,
    /// Only what counts on the path of this session.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only what this agent learnt.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only of this kind: fact, decision or preference.
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub(crate) kind: Option<Kind>,
    /// Also what was rejected or replaced.
    #[arg(long)]
    pub(crate) all: bool,
    /// Say that this one is right.
    #[arg(long, value_name = "ID", conflicts_with_all = ["reject", "session", "agent", "kind", "all"])]
    pub(crate) confirm: Option<FindingId>,
    /// Say that this one is wrong.
    #[arg(long, value_name = "ID", conflicts_with_all = ["session", "agent", "kind", "all"])]
    pub(crate) reject: Option<FindingId>,
    /// Show what is confirmed or rejected, and leave it as it is.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) paged: Paged,
    /// Print JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_kind(name: &str) -> Result<Kind, String> {
    Kind::parse(name).ok_or_else(|| "it is fact, decision or preference".to_owned())
}

/// Start a new session on a turn of another one, also one that was summarised since.
///
/// What was said up to that turn is shared, not copied. Where the turn was summarised since, the fork begins with a summary of what
/// lies before it; --as-seen gives it what the model saw then, --whole every message as it was.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome fork 0198c2f1 --turn 12 --label \"another way\"
  epitome fork 0198c2f1 --turn 12 --whole")]
pub(crate) struct ForkSession {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The turn, by its number [default: the last one]. epitome history prints them.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) turn: Option<u64>,
    /// Begin with what the model saw at that turn.
    #[arg(long, conflicts_with = "whole")]
    pub(crate) as_seen: bool,
    /// Begin with every message as it was.
    #[arg(long)]
    pub(crate) whole: bool,
    /// What to call it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Show again what was compacted: the last compaction, some messages, or everything.
///
/// Nothing is taken back: the undo is recorded as a turn of its own, and the context grows.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome undo 0198c2f1                    as it was before the last compaction
  epitome undo 0198c2f1 --messages 10-14
  epitome undo 0198c2f1 --all --dry-run")]
pub(crate) struct UndoCompaction {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Only these messages, beside the summary that they were part of.
    #[arg(long, value_name = "N[-M]", conflicts_with = "all")]
    pub(crate) messages: Option<Messages>,
    /// Everything that is hidden.
    #[arg(long)]
    pub(crate) all: bool,
    /// Change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Close the current topic of a session.
///
/// Everything said since the last seal is one topic from now on, which the tiered strategy summarises as such.
#[derive(Args)]
pub(crate) struct SealTopic {
    #[command(flatten)]
    pub(crate) which: Which,
    /// What the topic was.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Keep messages as they are, whatever is compacted; without messages: list what is kept.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome pin 0198c2f1 0            the first message
  epitome pin 0198c2f1 10-12 --why \"the contract\"
  epitome pin 0198c2f1 10-12 --remove
  epitome pin 0198c2f1")]
pub(crate) struct PinMessages {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The messages, by their numbers.
    #[arg(value_name = "N[-M]")]
    pub(crate) messages: Option<Messages>,
    /// Let them go again.
    #[arg(long, requires = "messages")]
    pub(crate) remove: bool,
    /// Why they are kept.
    #[arg(long, value_name = "TEXT", conflicts_with = "remove")]
    pub(crate) why: Option<String>,
    /// Change nothing.
    #[arg(long, requires = "messages")]
    pub(crate) dry_run: bool,
}

/// Say what every summary of a session is to mind; without a text: show what was said.
///
/// It is kept with the session, and handed down to its forks. The models that write summaries are told it with every compaction;
/// summaries that code picks mind nothing of it. epitome compact --instructions says something of one compaction alone.
#[derive(Args)]
#[command(after_help = "Examples:
  epitome instruct 0198c2f1 \"Keep every figure of the budget, with its source.\"
  epitome instruct 0198c2f1
  epitome instruct 0198c2f1 --clear")]
pub(crate) struct InstructSession {
    #[command(flatten)]
    pub(crate) which: Which,
    /// What to mind, in your words.
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Take back what was said.
    #[arg(long, conflicts_with = "text")]
    pub(crate) clear: bool,
    /// Change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Follow a session: a line for each turn as it is recorded, with how full the window is.
///
/// It shows the last turns and goes on until it is interrupted, or has shown so many.
#[derive(Args)]
pub(crate) struct WatchSession {
    #[command(flatten)]
    pub(crate) which: Which,
    /// How many of the last turns are shown first.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(crate) last: u64,
    /// Stop after so many turns.
    #[arg(long, value_name = "COUNT")]
    pub(crate) turns: Option<u64>,
}
