//! What `epitome eval` takes.

use clap::{Args, Subcommand};
use epitome_core::Tokens;

use super::{Input, parse_tokens};

/// What can be measured.
#[derive(Subcommand)]
pub(crate) enum Eval {
    Tokens(EvalTokens),
    Fidelity(EvalFidelity),
    Repeat(EvalRepeat),
    Cost(EvalCost),
}

/// Measure what a compacted context still holds when the agent comes to need it.
///
/// Each conversation is cut at 40, 60 and 80 % of its messages, and the part before the cut is
/// compacted to the budget. Asked for is what the agent itself goes on to write behind the cut,
/// although nothing behind the cut gave it back first:
///
///   items        paths, identifiers, ids, numbers, dates, URLs that it uses
///   pairs        two of them used together, still within three lines of each other
///   runs         eight tokens in a row that it types again in tool calls
///   constraints  sentences in which the user said what must or must not be done (all of them)
///
/// A figure is the mean over conversations of the share that was still there, with its 95 %
/// interval. All four count at once: a bag of words keeps every item and no run.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EvalFidelity {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Tokens the part before the cut should fit in, leading system messages not counted.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub(crate) budget: Tokens,
    /// What to compare: strategies and presets of compact, and the baselines keep-last, mask, head-tail, random, index and
    /// words (a control: every word once, whatever the budget) [default: auto and all baselines].
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) strategies: Vec<String>,
    /// Also list what each strategy lost, cut by cut.
    #[arg(long)]
    pub(crate) lost: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Replay sessions that carry real usage and compare the token estimates with it.
#[derive(Args)]
pub(crate) struct EvalTokens {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compact growing sessions ten times in a row and measure what is left each time.
///
/// Each compaction starts from the one before and the messages since, as in a session that goes
/// on. Per round, as means over conversations:
///
///   tokens, summary  of what is shown, and of the summaries in it
///   constraints      sentences of the user with a must or a must not, still there word for word
///   goal             the sentences that open the conversation, still there word for word
///   items            what the agent goes on to use, as in eval fidelity
///   of first         items relative to the first round
///   lasting          items of the first part that the agent uses after the tenth compaction: the
///                    same question each time
///   held             all items of the first part that the first compaction held
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EvalRepeat {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Tokens each compaction should fit in, leading system messages not counted.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub(crate) budget: Tokens,
    /// A strategy or preset of compact.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) strategy: String,
    /// Let each compaction know nothing but the messages that the one before left, as a program that pipes them through
    /// epitome compact each time; otherwise it knows the record of it.
    #[arg(long)]
    pub(crate) piped: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Replay sessions call by call and add up what they cost, with and without compaction.
///
/// Every answer of the model in the main thread is a call: what was said before it is what was sent.
/// A provider's cache is simulated: a prefix that was sent byte for byte within the last minutes is
/// read from it, the rest is written to it, at the prices of the model (Anthropic: reads at 0.1 of
/// the price of input, writes at 1.25, kept for 5 minutes). Side by side:
///
///   full            everything is sent, as if the window were endless
///   mask each turn  old tool results are trimmed and cleared before every call
///   batch mask      the same, many at a time
///   threshold       a checkpoint is written whenever the threshold is reached
///   auto            what Epitome does where nothing else is said: prune or compact when it is due
///                   and when it pays
///
/// At the end, goals and whether they are met: no call beyond the window, compactions that take less
/// than a second, half the cost of sending everything in sessions beyond 50,000 tokens, and no
/// session that costs more than sending everything. Fails if a call goes beyond the window.
///
/// Summaries that the session's own tool wrote are left out. Where a session names no model whose
/// prices are known, those of claude-sonnet-4.5 are taken.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EvalCost {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Compact when everything that is sent exceeds this many of the model's tokens.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens, default_value = "32k")]
    pub(crate) threshold: Tokens,
    /// The model's window, where it is another than the table of models says.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub(crate) window: Option<Tokens>,
    /// The model that is called, with its prices and its window; found in the file where it names one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Seconds between an answer and the next call, where the file does not say when they were.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    pub(crate) gap: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
