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
