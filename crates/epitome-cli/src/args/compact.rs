//! What `epitome compact` can be told.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use epitome_core::Tokens;
use epitome_core::compact::{Preset, StrategyName};

use super::{Database, Input, parse_bytes, parse_tokens};

/// Make a session smaller, in the same format, still valid.
///
/// Reads a session file and writes the compacted one to stdout (or -o). The report goes to stderr.
///
/// Any program can pipe through it. With -, a JSON object that holds messages, be it a whole request body or
/// {"messages":[…],"budget":N}, gives {"messages":[…],"report":{…}}; a Responses body {"input":[…]} gives
/// {"input":[…],"report":{…}}. System prompt, tools and model are counted, and are the caller's to keep. The budget is a
/// number or "20k". Anything else on stdin is a file, and gives the file.
///
/// The first digits of a session's id, or its name, in place of a file, compact that session in the ledger; --json and --report
/// then tell what came of it, and what is only for files is refused.
#[derive(Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) database: Database,
    /// How to make it smaller [default: auto, or what the settings say].
    #[arg(long, value_enum, ignore_case = true)]
    pub(crate) strategy: Option<Strategy>,
    /// Take the strategy and the numbers of a known system; what is set beside it wins.
    #[arg(long, value_enum)]
    pub(crate) preset: Option<PresetName>,
    /// Show on stdout what would happen, before and after side by side, and write no session. With --report the plan is
    /// written as JSON, too; with --json it is printed as JSON.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep these messages as they are, whatever happens (numbers from 0, as --dry-run shows them): --pin 0,12-15. What
    /// must stay with them stays, too: the call of a tool's result; for the strategy none the whole exchange.
    #[arg(long, value_name = "MESSAGES", value_delimiter = ',')]
    pub(crate) pin: Vec<Messages>,
    /// Show these messages as they were again once all is compacted, beside their summary and even beyond the budget:
    /// --expand 10-14.
    #[arg(long, value_name = "MESSAGES", value_delimiter = ',')]
    pub(crate) expand: Vec<Messages>,
    /// End a topic before this message, for the strategy tiered: --seal 12,40. Inside an exchange it takes effect where the
    /// next one starts.
    #[arg(long, value_name = "MESSAGE", value_delimiter = ',')]
    pub(crate) seal: Vec<usize>,
    /// What the summary is to mind, in your words, where a model writes it. epitome instruct says it of every summary of a
    /// session, the setting summary_instructions of all.
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// How many more turns to expect, for whether it pays: a compaction that costs more now than it saves over these turns
    /// does not. Turns after the next compaction is due anyway do not count [default: as many as there were, at most 200].
    #[arg(long, value_name = "NUMBER", value_parser = parse_turns)]
    pub(crate) turns: Option<u64>,
    /// Whether the provider still has in its cache what was sent last, for whether it pays [default: cold for files, warm
    /// for what is piped in].
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) cache: Option<CacheAge>,
    /// Print this on stdout instead of the compacted session.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "dry_run")]
    pub(crate) show: Option<Show>,
    /// Tokens the conversation should fit in (20k, 1.5M, 20000), system messages, system prompt and tools not counted; with
    /// --model in tokens of that model if it is known, else in o200k tokens. Every strategy but none and prune meets any
    /// budget from 256 tokens on, plus what is pinned in full and 32 tokens for each pinned stretch; where one is missed,
    /// the result is written all the same and the command exits with 1. none and prune only report by how much.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens, allow_negative_numbers = true)]
    pub(crate) budget: Option<Tokens>,
    /// Bytes that all that is sent should fit in (30MB, 500k), system prompt and tools included.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, allow_negative_numbers = true)]
    pub(crate) max_bytes: Option<usize>,
    /// The model it is meant for: its tokens, and whether its thinking blocks are bound to what stands before them.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Write here instead of stdout: a file, or a folder, where each result gets the name of its input, in the same
    /// subfolder if a folder was compacted. An input is never overwritten.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Write the report as JSON to this file, of a dry run the plan; - is stdout, and needs -o or --dry-run.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the report as JSON on stdout instead of the compacted session; nothing is written but -o.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The ways to make a session smaller.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// Prune first, a checkpoint when that is not enough.
    Auto,
    /// Trim and clear old tool output.
    Prune,
    /// A structured checkpoint of the old, the recent tokens as they are.
    Checkpoint,
    /// A rolling summary of the old, the last few messages as they are.
    Rolling,
    /// The first request with a summary of the middle, the last few messages as they are.
    #[value(alias = "summarize")]
    Narrative,
    /// Summaries of earlier topics and of older bulk, the current topic as it is.
    Tiered,
    /// Only drop the oldest messages beyond max_conversation_messages, from a user's message on.
    None,
}

impl Strategy {
    /// The strategy as the library knows it.
    pub(crate) fn name(self) -> StrategyName {
        match self {
            Strategy::Auto => StrategyName::Auto,
            Strategy::Prune => StrategyName::Prune,
            Strategy::Checkpoint => StrategyName::Checkpoint,
            Strategy::Rolling => StrategyName::Rolling,
            Strategy::Narrative => StrategyName::Narrative,
            Strategy::Tiered => StrategyName::Tiered,
            Strategy::None => StrategyName::None,
        }
    }
}

/// Known systems whose strategy and numbers can be taken.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    /// Structured checkpoints over 100k tokens, 20k kept; tool output pruned before every call.
    Nous,
    /// A rolling summary over 80k tokens, the last 6 messages kept.
    NousDraft,
    /// A narrative behind the first request over 80k tokens, the last 6 messages kept.
    MicroAgent,
    /// A summary among the instructions, 30k tokens of whole turns kept.
    Nexus,
    /// Topics and bulk archives: half the budget for the current topic.
    Friday,
}

impl PresetName {
    /// The preset as the library knows it.
    pub(crate) fn preset(self) -> Preset {
        match self {
            PresetName::Nous => Preset::Nous,
            PresetName::NousDraft => Preset::NousDraft,
            PresetName::MicroAgent => Preset::MicroAgent,
            PresetName::Nexus => Preset::Nexus,
            PresetName::Friday => Preset::Friday,
        }
    }
}

/// What is left in a provider's cache.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheAge {
    /// All that was sent last.
    Warm,
    /// Nothing.
    Cold,
}

/// A message or a stretch of them, first and last: `12`, `12-15`, `12..15`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Messages(pub(crate) RangeInclusive<usize>);

impl FromStr for Messages {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no message and no stretch of messages; write 12 or 12-15");
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let ends = ["..", "-", "–"].iter().find_map(|between| text.split_once(between));
        let (first, last) = ends.unwrap_or((text, text));
        let (first, last) = (number(first)?, number(last)?);
        if first <= last { Ok(Self(first..=last)) } else { Err(wrong()) }
    }
}

// Turns that are worth looking at; more would only take long to add up.
fn parse_turns(text: &str) -> Result<u64, String> {
    const MOST: u64 = 100_000;
    let turns = text.trim().replace([',', '_'], "").parse().ok().filter(|turns| (1..=MOST).contains(turns));
    turns.ok_or_else(|| format!("{text:?} is no number of turns to expect; write 1 to 100000"))
}

/// What can be printed of a compaction.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// The summaries.
    Checkpoint,
    /// What the model sees, message by message.
    View,
    /// What was kept, what is only pointed at, what is missing, what was invented.
    Loss,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_people_write_them() {
        for (text, expected) in [("12", 12..=12), ("12-15", 12..=15), ("12..15", 12..=15), ("0–3", 0..=3)] {
            assert_eq!(text.parse(), Ok(Messages(expected)), "{text}");
        }
        for bad in ["", "-", "3-", "-3", "5-3", "a", "1-2-3", "1.5"] {
            assert!(bad.parse::<Messages>().is_err(), "{bad}");
        }
    }
}
