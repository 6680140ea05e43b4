//! The numbers that pruning goes by, and which of them make sense together.
//!
//! Names, aliases and defaults as people write them are in [`crate::settings`]; here they are values.

use serde::{Deserialize, Serialize};

use super::error_tail::LONGEST_ERROR_TAIL;
use crate::settings::SettingsError;
use crate::units::{Chars, Tokens};

/// When the set of pruned results may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PruneMode {
    /// In steps that are worth it, so that requests in between share a byte-identical prefix.
    #[default]
    Steps,
    /// Before every call, as spec 008.1 has it.
    EveryCall,
}

/// Whether the provider binds thinking blocks to everything that stands before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingRule {
    /// It does not: thinking is left alone.
    #[default]
    Free,
    /// It does: once anything before a thinking block changes, every thinking block goes.
    Bound,
}

/// The settings of pruning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether old tool results are trimmed and cleared. The cap and the truncation of long texts have
    /// switches of their own.
    pub tool_pruning_enabled: bool,
    /// A tool result outside the protected zone that is longer than this is trimmed.
    pub tool_soft_trim_chars: Chars,
    /// How much of the start of a trimmed result stays.
    pub tool_soft_trim_head: Chars,
    /// How much of the end of a trimmed result stays.
    pub tool_soft_trim_tail: Chars,
    /// A tool-result message is cleared when at least this many newer ones follow it.
    pub tool_hard_clear_after: usize,
    /// This many newest tool-result messages are neither trimmed nor cleared.
    pub keep_last_tool_results: usize,
    /// No tool result is longer than this, marker included, from its first sending on; `None`: no cap.
    #[serde(alias = "tool_output_max_chars", alias = "MaxToolResultChars")]
    pub tool_result_max_chars: Option<Chars>,
    /// Texts of earlier exchanges that are longer than this are cut short; `None`: texts are left alone.
    #[serde(alias = "maxMessageChars")]
    pub max_message_chars: Option<Chars>,
    /// Tools whose results are never touched; a `*` at the end stands for any ending.
    pub exclude_tools: Vec<String>,
    /// When the set of pruned results may change.
    pub prune_mode: PruneMode,
    /// The gain that is worth a step.
    ///
    /// A step re-bills what follows its first change at the price of a cache write. At 20,000 tokens a window
    /// of 200,000 sees at most ten of them, and it is what the field settled on (20,000 to 30,000).
    pub clear_at_least: Tokens,
    /// After this many minutes of silence the provider's cache has lapsed, and a step costs nothing extra.
    pub cache_lapse_minutes: u64,
    /// Whether the error that a result ends in outlives its clearing.
    pub keep_error_tails: bool,
    /// How much of such an error stays.
    pub error_tail_chars: Chars,
    /// Estimated input tokens above which a request is worth an early warning.
    pub warn_tokens: Tokens,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tool_pruning_enabled: true,
            tool_soft_trim_chars: Chars(4_000),
            tool_soft_trim_head: Chars(1_500),
            tool_soft_trim_tail: Chars(1_500),
            tool_hard_clear_after: 6,
            keep_last_tool_results: 2,
            tool_result_max_chars: Some(Chars(40_000)),
            max_message_chars: None,
            exclude_tools: Vec::new(),
            prune_mode: PruneMode::Steps,
            clear_at_least: Tokens(20_000),
            cache_lapse_minutes: 5,
            keep_error_tails: true,
            error_tail_chars: Chars(600),
            warn_tokens: Tokens(60_000),
        }
    }
}

/// The least cap: a marker, an error tail and something of the result must fit.
pub(crate) const LEAST_CAP: Chars = Chars(1_000);

impl Settings {
    /// Whether the settings make sense, each by itself and together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let (head, tail, trim) =
            (self.tool_soft_trim_head, self.tool_soft_trim_tail, self.tool_soft_trim_chars);
        check(head.0.checked_add(tail.0).is_some_and(|kept| kept < trim.0), || {
            let allowed = format!(
                "more than tool_soft_trim_head + tool_soft_trim_tail ({head} + {tail}), or nothing would be trimmed"
            );
            out_of_range("tool_soft_trim_chars", trim, allowed)
        })?;
        check(self.keep_last_tool_results >= 1, || {
            let allowed = "at least 1: the model has not read the newest result yet".to_owned();
            out_of_range("keep_last_tool_results", self.keep_last_tool_results, allowed)
        })?;
        check(self.tool_hard_clear_after >= self.keep_last_tool_results, || {
            let allowed = format!("at least keep_last_tool_results ({})", self.keep_last_tool_results);
            out_of_range("tool_hard_clear_after", self.tool_hard_clear_after, allowed)
        })?;
        if let Some(cap) = self.tool_result_max_chars {
            check(cap >= LEAST_CAP, || {
                let allowed = format!("at least {LEAST_CAP}, or off");
                out_of_range("tool_result_max_chars", cap, allowed)
            })?;
        }
        if let Some(most) = self.max_message_chars {
            check(most > Chars::ZERO, || {
                out_of_range("max_message_chars", most, "at least 1, or off".to_owned())
            })?;
        }
        check(self.exclude_tools.iter().all(|tool| !tool.is_empty()), || {
            out_of_range("exclude_tools", "an empty name", "names of tools".to_owned())
        })?;
        check((Chars(1)..=LONGEST_ERROR_TAIL).contains(&self.error_tail_chars), || {
            let allowed = format!("1 to {LONGEST_ERROR_TAIL}; keep_error_tails = false for none");
            out_of_range("error_tail_chars", self.error_tail_chars, allowed)
        })
    }

    /// Whether results of this tool are never touched.
    pub(crate) fn excludes(&self, tool: &str) -> bool {
        self.exclude_tools.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == pattern,
        })
    }

    /// How much of an error of this length outlives a clearing.
    pub(crate) fn kept_error(&self, error_tail: Chars) -> Chars {
        if self.keep_error_tails { error_tail.min(self.error_tail_chars) } else { Chars::ZERO }
    }

    /// The silence after which a provider's cache has lapsed, in milliseconds.
    pub(crate) fn lapse_millis(&self) -> u64 {
        self.cache_lapse_minutes.saturating_mul(60_000)
    }
}

fn check(holds: bool, otherwise: impl FnOnce() -> SettingsError) -> Result<(), SettingsError> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn out_of_range(name: &'static str, value: impl ToString, allowed: String) -> SettingsError {
    SettingsError::OutOfRange { name, value: value.to_string(), allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Settings::default().validate(), Ok(()));
    }

    #[test]
    fn nonsense_is_refused_by_name_and_value() {
        type Spoil = fn(&mut Settings);
        let cases: &[(Spoil, &str)] = &[
            (|s| s.tool_soft_trim_chars = Chars(3_000), "tool_soft_trim_chars is 3000, allowed is"),
            (|s| s.tool_soft_trim_head = Chars(usize::MAX), "tool_soft_trim_chars is 4000"),
            (|s| s.keep_last_tool_results = 0, "keep_last_tool_results is 0"),
            (|s| s.tool_hard_clear_after = 1, "tool_hard_clear_after is 1"),
            (|s| s.tool_result_max_chars = Some(Chars(10)), "tool_result_max_chars is 10"),
            (|s| s.max_message_chars = Some(Chars(0)), "max_message_chars is 0"),
            (|s| s.exclude_tools = vec![String::new()], "exclude_tools is an empty name"),
            (|s| s.error_tail_chars = Chars(0), "error_tail_chars is 0"),
            (|s| s.error_tail_chars = Chars(1_001), "error_tail_chars is 1001"),
        ];
        for (spoil, expected) in cases {
            let mut settings = Settings::default();
            spoil(&mut settings);
            let message = settings.validate().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message} should start with {expected}");
        }
    }

    #[test]
    fn a_star_excludes_a_family_of_tools() {
        let settings =
            Settings { exclude_tools: vec!["mcp__memory__*".into(), "todo".into()], ..Settings::default() };
        assert!(settings.excludes("mcp__memory__read") && settings.excludes("todo"));
        assert!(!settings.excludes("mcp__files__read") && !settings.excludes("todo_list"));
    }
}
