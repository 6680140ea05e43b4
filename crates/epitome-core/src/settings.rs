//! Settings as people write them: one name each, the seeds' other names for it, a default and a sentence.
//!
//! It turns words into values and nothing more: where the words come from (file, environment, flags) and
//! which source wins is the caller's affair.

mod close;
mod word;

use serde::Serialize;

use self::close::closest;
pub(crate) use self::close::distance;
use self::word::Word;
use crate::summaries::SummarySettings;
use crate::topics::TopicSettings;
use crate::{compact, prune};

/// All settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Those of pruning.
    #[serde(flatten)]
    pub prune: prune::Settings,
    /// Those of compaction.
    #[serde(flatten)]
    pub compact: compact::Settings,
    /// Those of topics and tiers.
    #[serde(flatten)]
    pub topics: TopicSettings,
    /// Those of summaries by a model.
    #[serde(flatten)]
    pub summary: SummarySettings,
    /// The `none` strategy leaves out the oldest messages beyond this many.
    pub max_conversation_messages: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prune: prune::Settings::default(),
            compact: compact::Settings::default(),
            topics: TopicSettings::default(),
            summary: SummarySettings::default(),
            max_conversation_messages: 50,
        }
    }
}

impl Settings {
    /// Whether the settings make sense, each by itself and together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        if self.max_conversation_messages == 0 {
            return Err(SettingsError::OutOfRange {
                name: "max_conversation_messages",
                value: "0".to_owned(),
                allowed: "at least 1".to_owned(),
            });
        }
        self.prune.validate()?;
        self.compact.validate()?;
        self.topics.validate()?;
        self.summary.validate()
    }
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// There is no such setting.
    #[error("unknown setting {key:?}{}", did_you_mean(*.suggestion))]
    Unknown {
        /// The name that was given.
        key: String,
        /// The name that was probably meant.
        suggestion: Option<&'static str>,
    },
    /// The value is not of the setting's kind.
    #[error("{name} cannot be {value:?}, it takes {expected}")]
    BadValue {
        /// The setting.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The value is of the right kind but makes no sense, alone or beside others.
    #[error("{name} is {value}, allowed is {allowed}")]
    OutOfRange {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would make sense.
        allowed: String,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!(", did you mean {name}?")).unwrap_or_default()
}

/// One setting: its names and what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in files; `EPITOME_` and the name in capitals in the environment.
    pub name: &'static str,
    /// What the seeds call it.
    pub aliases: &'static [&'static str],
    /// What it does, in one sentence.
    pub doc: &'static str,
    read: fn(&Settings) -> String,
    write: fn(&mut Settings, &str) -> Option<()>,
    expected: &'static str,
}

impl Setting {
    /// Its value in `settings`, as it would be written.
    pub fn value(&self, settings: &Settings) -> String {
        (self.read)(settings)
    }

    /// The value it has when nobody says otherwise.
    pub fn default_value(&self) -> String {
        self.value(&Settings::default())
    }

    fn answers_to(&self, key: &str) -> bool {
        let plain = key.strip_prefix("EPITOME_").unwrap_or(key);
        let same = |name: &str| {
            name.len() == plain.len()
                && name.bytes().zip(plain.bytes()).all(|(ours, theirs)| {
                    ours == theirs || ours == theirs.to_ascii_lowercase() || (ours == b'_' && theirs == b'-')
                })
        };
        same(self.name) || self.aliases.contains(&key)
    }
}

macro_rules! settings {
    ($($name:ident $(of $part:ident)?, [$($alias:literal),*], $doc:literal;)*) => {
        &[$(Setting {
            name: stringify!($name),
            aliases: &[$($alias),*],
            doc: $doc,
            read: |settings| settings$(.$part)?.$name.write(),
            write: |settings, value| {
                settings$(.$part)?.$name = Word::read(value)?;
                Some(())
            },
            expected: expected(|settings| &settings$(.$part)?.$name),
        }),*]
    };
}

// Lets the type of a field say what it takes.
const fn expected<T: Word>(_: fn(&Settings) -> &T) -> &'static str {
    T::EXPECTED
}

/// Every setting.
pub const SETTINGS: &[Setting] = settings! {
    tool_pruning_enabled of prune, ["NOUS_TOOL_PRUNING_ENABLED"],
        "Whether old tool results are trimmed and cleared.";
    tool_soft_trim_chars of prune, ["NOUS_TOOL_SOFT_TRIM_CHARS"],
        "Tool results outside the protected zone that are longer than this are trimmed to head and tail.";
    tool_soft_trim_head of prune, ["NOUS_TOOL_SOFT_TRIM_HEAD"],
        "How many characters of the start of a trimmed result stay.";
    tool_soft_trim_tail of prune, ["NOUS_TOOL_SOFT_TRIM_TAIL"],
        "How many characters of the end of a trimmed result stay.";
    tool_hard_clear_after of prune, ["NOUS_TOOL_HARD_CLEAR_AFTER"],
        "A tool-result message is cleared when at least this many newer ones follow it.";
    keep_last_tool_results of prune, ["NOUS_KEEP_LAST_TOOL_RESULTS"],
        "How many of the newest tool-result messages are neither trimmed nor cleared.";
    tool_result_max_chars of prune, ["tool_output_max_chars", "TOOL_OUTPUT_MAX_CHARS", "NOUS_TOOL_OUTPUT_MAX_CHARS", "MaxToolResultChars"],
        "No tool result is sent longer than this, however new it is.";
    max_message_chars of prune, ["maxMessageChars"],
        "Texts of earlier exchanges that are longer than this are cut short; tiered cuts those of the current topic, at 2000 unless this says otherwise.";
    exclude_tools of prune, [],
        "Tools whose results are never touched, separated by commas; a * at the end stands for any ending.";
    prune_mode of prune, [],
        "When the set of pruned results may change: in steps that are worth it, or before every call.";
    clear_at_least of prune, [],
        "How many tokens a step must gain to be worth breaking the provider's cache.";
    cache_lapse_minutes of prune, [],
        "After this many minutes of silence the provider's cache has lapsed and a step costs nothing extra.";
    keep_error_tails of prune, [],
        "Whether the error that a result ends in outlives its clearing.";
    error_tail_chars of prune, [],
        "How many characters of such an error stay.";
    warn_tokens of prune, [],
        "Estimated input tokens above which a request is worth an early warning.";
    compaction_enabled of compact, ["NOUS_COMPACTION_ENABLED", "enabled"],
        "Whether history is compacted at all; if not, only the oldest messages beyond max_conversation_messages go.";
    strategy of compact, ["CompactionStrategy"],
        "What is done to make a conversation smaller; summarize is another name for narrative.";
    fallback of compact, [],
        "What happens when a summary cannot be had or everything is protected: what the seed does, or whatever it takes.";
    compaction_threshold of compact, ["NOUS_COMPACTION_THRESHOLD", "CompactionThresholdTokens", "input_token_budget", "INPUT_TOKEN_BUDGET", "NOUS_INPUT_TOKEN_BUDGET"],
        "Compaction is due when everything that is sent exceeds this, in place of hard_threshold. As long as they have their defaults, warn_threshold, soft_threshold and low_watermark are then 3/4, 5/6 and 1/2 of it.";
    reserve_tokens of compact, ["reserveTokens"],
        "Tokens of the window that are kept free for the next turn: at most a quarter of it, or half where more than the default is asked for; in small windows no more than the model can say at once.";
    warn_threshold of compact, [],
        "Above this share of what the window holds, or this many tokens, somebody should know; auto compacts from here on where that pays for itself.";
    soft_threshold of compact, [],
        "Above this a summary is prepared in the background.";
    hard_threshold of compact, [],
        "Above this nothing is sent before it is compacted.";
    low_watermark of compact, [],
        "What a compaction goes down to; auto goes down to half of it where it knows what the model costs.";
    adaptive of compact, [],
        "Whether threshold and recency window follow the conversation: how fast it grows and how large messages are.";
    keep_recent_tokens of compact, ["NOUS_KEEP_RECENT_TOKENS", "keepTokens"],
        "How much of the recent conversation checkpoint keeps as it was.";
    retain_tokens of compact, [],
        "How many tokens of older messages stay once more because they hold decisions or facts; 0 for none.";
    recency_window of compact, ["NOUS_RECENCY_WINDOW", "ProtectedTailMessages"],
        "How many of the last messages rolling and narrative keep as they were.";
    keep_by of compact, [],
        "Whether keep_recent_tokens is measured out message by message or in whole turns.";
    summary_token_budget of compact, ["NOUS_SUMMARY_TOKEN_BUDGET", "SummarizationMaxTokens"],
        "How many tokens a summary may have; auto gives it an eighth of what it covers where that is more.";
    summary_max_chars of compact, ["NOUS_SUMMARY_MAX_CHARS"],
        "How many characters a summary may have.";
    summary_length of compact, [],
        "Whether a summary may always be that long, or grows with what it covers.";
    summary_cascade of compact, [],
        "Whether rolling, checkpoint and auto tell the old part in several summaries, which are summarised again in groups as they grow old.";
    tiers_due of compact, [],
        "When the tiers of tiered are looked at: when the conversation does not fit, or when any tier exceeds its share.";
    invented of compact, [],
        "What is done about what a summary says and its source does not: flag it, or strike the line.";
    placement of compact, [],
        "Where summaries stand: as a pair of messages, in the first user message, or among the operator's instructions.";
    summary_words of compact, [],
        "The words around a summary; {summary} stands for it.";
    acknowledgement of compact, [],
        "What the assistant answers to a summary, where roles must alternate.";
    mask_secrets of compact, [],
        "Whether keys, tokens, private keys and passwords are replaced by markers before they enter a summary.";
    current_topic_share of topics, ["currentTopic"],
        "The current topic's part of the budget.";
    historical_topics_share of topics, ["historicalTopics"],
        "The part of the budget for summaries of earlier topics.";
    bulk_archives_share of topics, ["bulkArchives"],
        "The part of the budget for bulk archives.";
    topic_summary_tokens of topics, ["topicSummaryTokens"],
        "How many tokens the summary of a topic may have.";
    bulk_summary_tokens of topics, ["bulkSummaryTokens"],
        "How many tokens a bulk archive may have.";
    bulk_merge_size of topics, ["bulkMergeSize"],
        "How many of the oldest topics are merged into a bulk archive.";
    silence_minutes of topics, ["silenceMinutes"],
        "A silence longer than this many minutes ends a topic.";
    topic_token_threshold of topics, ["tokenThreshold"],
        "A topic that exceeds this part of the current topic's part is sealed.";
    subject_detection of topics, [],
        "Whether changes of subject are looked for that nobody announced, by the words that exchanges share.";
    summarizer of summary, ["summary_model", "NOUS_SUMMARY_MODEL", "background_model"],
        "Who writes summaries: offline, or models in the order in which they are asked, separated by commas: anthropic:MODEL, openai:MODEL or responses:MODEL, each with @URL behind it for a server of your own.";
    summary_instructions of summary, [],
        "What every summary that a model writes is to mind, in your words; epitome instruct says more for one session.";
    summary_delta of summary, [],
        "Whether a model names the changes to a checkpoint and code makes them, or writes it anew each time.";
    summary_behind_prefix of summary, [],
        "Whether a model is asked for a summary behind the conversation as it was sent, so that the provider's cache serves it; for a summarizer that is the agent's own model.";
    summary_wait_seconds of summary, [],
        "For how many seconds a turn waits for a model's summary before an offline one serves; the model's takes its place later.";
    summary_max_seconds of summary, [],
        "For how many seconds a model may be asked for one compaction.";
    summary_max_calls of summary, [],
        "How many questions a model may be asked for one compaction.";
    summary_max_tokens of summary, [],
        "How many tokens these may take, in and out.";
    summary_max_cost of summary, [],
        "What they may cost, in US dollars; it is minded where the price of the model is known.";
    summary_input_chars of summary, ["MaxSummarizationInputChars"],
        "How many characters of a conversation a model is told in one call; what is too much goes from the middle, or is told in stretches.";
    tool_input_preview_chars of summary, ["ToolInputPreviewChars"],
        "How many characters of a tool's input a model is told.";
    tool_result_preview_chars of summary, ["ToolResultPreviewChars"],
        "Tool results that are longer than this are told as head and tail.";
    tool_result_head_chars of summary, ["ToolResultHeadChars"],
        "How many characters of the start of such a result a model is told.";
    tool_result_tail_chars of summary, ["ToolResultTailChars"],
        "How many characters of its end.";
    learn_by_model of summary, [],
        "Whether the model also finds out which facts, decisions and preferences are worth knowing.";
    max_conversation_messages, ["MaxConversationMessages", "MAX_HISTORY_MESSAGES"],
        "The none strategy leaves out the oldest messages beyond this many.";
};

/// Finds a setting by its name, its name in the environment, as a flag, or a seed's name for it.
pub fn find(key: &str) -> Result<&'static Setting, SettingsError> {
    let found = SETTINGS.iter().find(|setting| setting.answers_to(key));
    found.ok_or_else(|| SettingsError::Unknown { key: key.to_owned(), suggestion: closest(key) })
}

/// Sets what `key` names to what `value` says.
///
/// Settings are judged together once all are in: see [`Settings::validate`].
pub fn apply(settings: &mut Settings, key: &str, value: &str) -> Result<(), SettingsError> {
    let Setting { name, write, expected, .. } = find(key)?;
    write(settings, value.trim()).ok_or_else(|| SettingsError::BadValue {
        name,
        value: value.to_owned(),
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::PruneMode;
    use crate::units::{Chars, Tokens};

    #[test]
    fn every_name_reaches_its_setting() {
        for setting in SETTINGS {
            let environment = format!("EPITOME_{}", setting.name.to_ascii_uppercase());
            let flag = setting.name.replace('_', "-");
            let spellings =
                [setting.name, &environment, &flag].into_iter().chain(setting.aliases.iter().copied());
            for key in spellings {
                assert_eq!(find(key).map(|found| found.name), Ok(setting.name), "{key}");
            }
            let mut settings = Settings::default();
            apply(&mut settings, setting.name, &setting.default_value()).unwrap();
            assert_eq!(settings, Settings::default(), "{} reads what it writes", setting.name);
        }
    }

    #[test]
    fn the_registry_knows_every_field() {
        let fields = serde_json::to_value(Settings::default()).unwrap();
        let fields: Vec<&String> = fields.as_object().unwrap().keys().collect();
        let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        assert_eq!(fields, names);
    }

    #[test]
    fn values_are_read() {
        let mut settings = Settings::default();
        let words = [
            ("NOUS_TOOL_SOFT_TRIM_CHARS", "8_000"),
            ("MaxToolResultChars", "50000"),
            ("maxMessageChars", "2000"),
            ("EPITOME_PRUNE_MODE", "every_call"),
            ("exclude-tools", "read, mcp__memory__*"),
            ("clear_at_least", "10,000"),
            ("compaction_threshold", "100k"),
            ("keep_recent_tokens", "1.5K"),
            ("keep_error_tails", "no"),
        ];
        for (key, value) in words {
            apply(&mut settings, key, value).unwrap();
        }
        assert_eq!(settings.prune.tool_soft_trim_chars, Chars(8_000));
        assert_eq!(settings.prune.tool_result_max_chars, Some(Chars(50_000)));
        assert_eq!(settings.prune.max_message_chars, Some(Chars(2_000)));
        assert_eq!(settings.prune.prune_mode, PruneMode::EveryCall);
        assert_eq!(settings.prune.exclude_tools, ["read", "mcp__memory__*"]);
        assert_eq!(settings.prune.clear_at_least, Tokens(10_000));
        assert_eq!(settings.compact.compaction_threshold, Some(Tokens(100_000)));
        assert_eq!(settings.compact.keep_recent_tokens, Tokens(1_500));
        assert!(!settings.prune.keep_error_tails);
        apply(&mut settings, "tool_result_max_chars", "off").unwrap();
        assert_eq!(settings.prune.tool_result_max_chars, None);
    }

    #[test]
    fn mistakes_are_explained() {
        let cases = [
            (
                "tool_soft_trim_char",
                "1",
                "unknown setting \"tool_soft_trim_char\", did you mean tool_soft_trim_chars?",
            ),
            (
                "tool-hard-clear",
                "1",
                "unknown setting \"tool-hard-clear\", did you mean tool_hard_clear_after?",
            ),
            (
                "MaxToolResultChar",
                "1",
                "unknown setting \"MaxToolResultChar\", did you mean tool_result_max_chars?",
            ),
            ("frobnicate", "1", "unknown setting \"frobnicate\""),
            ("warn_tokens", "many", "warn_tokens cannot be \"many\", it takes a number of tokens"),
            ("warn_tokens", "-1", "warn_tokens cannot be \"-1\", it takes a number of tokens"),
            ("prune_mode", "never", "prune_mode cannot be \"never\", it takes steps or every-call"),
        ];
        for (key, value, expected) in cases {
            let error = apply(&mut Settings::default(), key, value).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
