//! The command line: names, defaults and the help that teaches them.

mod compact;
mod eval;
mod live;
mod moment;
mod serve;
mod shelf;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use epitome_core::Tokens;
use epitome_core::compact::Preset;
use epitome_wire::files::Format;

pub(crate) use self::compact::{CacheAge, Compact, Messages, PresetName, Show, Strategy};
pub(crate) use self::eval::{Eval, EvalCost, EvalFidelity, EvalRepeat, EvalTokens};
pub(crate) use self::live::{
    ForkSession, InstructSession, Knowledge, PinMessages, SealTopic, ShowContext, UndoCompaction,
    WatchSession, Which,
};
pub(crate) use self::serve::Serve;
pub(crate) use self::shelf::{
    AppendEvent, Database, Doctor, Events, Export, History, Import, ListEvents, Paged, PurgeSessions, Recall,
    Search, Sessions, ShowSession,
};

/// Keeps LLM agents inside their context window and loses nothing.
#[derive(Parser)]
#[command(name = "epitome", version, propagate_version = true, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Read settings from this file instead of ./epitome.toml.
    #[arg(long, global = true, value_name = "FILE", env = "EPITOME_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Set a setting, as in epitome.toml: --set tool_hard_clear_after=10.
    #[arg(long = "set", global = true, value_name = "NAME=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Who writes summaries: offline, anthropic:MODEL, openai:MODEL, or openai:MODEL@URL for a server of your own; several,
    /// separated by commas, are asked in order. Keys come from ANTHROPIC_API_KEY and OPENAI_API_KEY, or from the keys
    /// in epitome.toml. Where a model fails or does worse than code, code picks the summary.
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) summarizer: Option<String>,
    /// Log what happens, as JSON lines on stderr with --log json.
    #[arg(long, global = true, value_enum, value_name = "HOW", env = "EPITOME_LOG")]
    pub(crate) log: Option<Log>,
}

const EXAMPLES: &str = "\
Examples:
  epitome inspect session.jsonl                       where do the tokens go?
  epitome compact session.jsonl --strategy prune      the same session, smaller, on stdout
  epitome compact session.jsonl --budget 20k -o small.jsonl
  epitome compact session.jsonl --budget 20k --preset nous --dry-run
  epitome count *.jsonl --model claude-opus-4-5       how large is it for this model?
  epitome import ~/.claude/projects                   keep every session in a ledger
  epitome search src/main.rs                          and find again what was said
  epitome compact 0198c2f1 --budget 20k               compact a session of the ledger
  epitome undo 0198c2f1                               and show again what it hid
  epitome serve                                       stand between agents and their providers

Settings come from defaults, then epitome.toml, then EPITOME_* variables, then flags.";

/// How to log.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Log {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Inspect(Inspect),
    Compact(Compact),
    Count(Count),
    Import(Import),
    Sessions(Sessions),
    Show(ShowSession),
    History(History),
    Search(Search),
    Recall(Recall),
    #[command(subcommand)]
    Events(Events),
    Export(Export),
    Context(ShowContext),
    Fork(ForkSession),
    Undo(UndoCompaction),
    Seal(SealTopic),
    Pin(PinMessages),
    Instruct(InstructSession),
    Watch(WatchSession),
    Knowledge(Knowledge),
    Purge(PurgeSessions),
    Serve(Serve),
    Doctor(Doctor),
    Config(Config),
    /// Measure Epitome itself on your transcripts.
    #[command(subcommand)]
    Eval(Eval),
}

impl Command {
    /// The preset that was asked for.
    pub(crate) fn preset(&self) -> Option<Preset> {
        match self {
            Command::Compact(compact) => compact.preset.map(PresetName::preset),
            Command::Config(config) => config.preset.map(PresetName::preset),
            _ => None,
        }
    }

    /// Settings that were given by flags of their own.
    pub(crate) fn flags(&self) -> Vec<(&'static str, &str)> {
        match self {
            Command::Serve(serve) => serve.flags(),
            _ => Vec::new(),
        }
    }
}

/// Which files to read, and how.
#[derive(Args)]
pub(crate) struct Input {
    /// Session files or folders of them, gzipped or not; - is stdin.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The files' format, where it is not to be found by itself.
    #[arg(long, value_name = "FORMAT", value_parser = format_names().try_map(|name| name.parse::<Format>()))]
    pub(crate) format: Option<Format>,
    /// Keep going at damaged lines and say which; otherwise stop at the first.
    #[arg(long)]
    pub(crate) lenient: bool,
}

/// Show where the tokens of a session go.
///
/// Tokens by role, kind of block and tool, the largest tool results, the growth of the context per turn, what pruning
/// would save, and whether a provider would accept the messages. Several files or a folder give one line a session.
#[derive(Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The model whose tokens and window count; found in the file where it names one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Print JSON, one object a line a session.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Count tokens.
///
/// One line a session: messages, the o200k tokens of the conversation (exact), those of system messages, system prompt and
/// tools beside it, and the estimate of the conversation for the model. --text counts a file as plain text.
#[derive(Args)]
pub(crate) struct Count {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The model to estimate for; found in the file where it names one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Take the files as plain text, not as sessions.
    #[arg(long)]
    pub(crate) text: bool,
    /// Print JSON, one object a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the settings in force, and where each is from.
///
/// Settings come from defaults (or a preset), then epitome.toml, then EPITOME_* variables, then --set. A name is that of the
/// setting, or what another system calls it.
#[derive(Args)]
pub(crate) struct Config {
    /// Only these.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Only those that somebody set.
    #[arg(long)]
    pub(crate) changed: bool,
    /// Start from the numbers of this system.
    #[arg(long, value_enum)]
    pub(crate) preset: Option<PresetName>,
    /// Print JSON, one object a line a setting.
    #[arg(long)]
    pub(crate) json: bool,
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
}

/// An amount of tokens as people write it: 20000, 20k, 1.5M.
pub(crate) fn parse_tokens(text: &str) -> Result<Tokens, String> {
    parse_amount(text, &["", "k", "m"]).map(Tokens)
}

pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let amount = parse_amount(text, &["b", "k", "kb", "m", "mb", "g", "gb", ""])?;
    usize::try_from(amount).map_err(|_| format!("{text} is too large"))
}

// A number with an optional unit: 20000, 20k, 1.5M, 30MB.
fn parse_amount(text: &str, units: &[&str]) -> Result<u64, String> {
    let lower = text.trim().to_lowercase().replace([',', '_'], "");
    let split = lower.find(|character: char| character.is_ascii_alphabetic()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(split);
    let factor = match unit.as_bytes().first() {
        _ if !units.contains(&unit) => {
            return Err(format!("unknown unit {unit:?} in {text:?}; {AMOUNT}"));
        }
        Some(b'k') => 1e3,
        Some(b'm') => 1e6,
        Some(b'g') => 1e9,
        _ => 1.0,
    };
    let amount = number.trim().parse::<f64>().ok().map(|amount| (amount * factor).round());
    match amount {
        Some(amount) if amount >= 1e15 => Err(format!("{text} is too much; {AMOUNT}")),
        Some(amount) if amount >= 1.0 => Ok(amount as u64),
        Some(_) => Err(format!("{text} is too little; {AMOUNT}")),
        None => Err(format!("{text:?} is no amount; {AMOUNT}")),
    }
}

/// What to write, for those who wrote something else.
const AMOUNT: &str = "an amount is a number from 1 to 999,999,999,999,999, such as 20000, 20k or 1.5M";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let cases =
            [("20000", 20_000), ("20k", 20_000), ("1.5M", 1_500_000), ("20,000", 20_000), ("20_000", 20_000)];
        for (text, expected) in cases {
            assert_eq!(parse_tokens(text), Ok(Tokens(expected)), "{text}");
        }
        assert_eq!(parse_bytes("30MB"), Ok(30_000_000));
        let bad = [
            ("", "no amount"),
            ("k", "no amount"),
            ("20x", "unknown unit"),
            ("-5", "too little"),
            ("0", "too little"),
            ("0.2", "too little"),
            ("12345678901234567890123", "too much"),
            ("NaN", "unknown unit"),
        ];
        for (bad, expected) in bad {
            let said = parse_tokens(bad).unwrap_err();
            assert!(said.contains(expected) && said.ends_with("20000, 20k or 1.5M"), "{said}");
        }
    }
}
