//! The numbers of ADR 033, and which of them make sense together.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::settings::SettingsError;
use crate::units::{Chars, Tokens};

/// A part of a whole, 0 to 1, exact to a ten-thousandth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u32);

const WHOLE: u32 = 10_000;

impl Fraction {
    /// So many hundredths.
    pub const fn percent(percent: u32) -> Self {
        Self(percent.saturating_mul(WHOLE / 100))
    }

    /// This part of so many tokens, rounded down.
    pub fn of(self, whole: Tokens) -> Tokens {
        let part = u128::from(whole.0) * u128::from(self.0) / u128::from(WHOLE);
        Tokens(u64::try_from(part).unwrap_or(u64::MAX))
    }

    /// As a number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// The nearest fraction to a number that is not negative; `None` for any other.
    pub fn from_f64(number: f64) -> Option<Self> {
        let parts = (number * f64::from(WHOLE)).round();
        // The cast cannot cut anything off: the range was just checked.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        (0.0..=f64::from(u32::MAX)).contains(&parts).then_some(Self(parts as u32))
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(out)
    }
}

impl FromStr for Fraction {
    type Err = ();

    /// Reads `0.5` as well as `50%`.
    fn from_str(word: &str) -> Result<Self, ()> {
        let (number, unit) = match word.trim().strip_suffix('%') {
            Some(percent) => (percent.trim(), 100.0),
            None => (word.trim(), 1.0),
        };
        number.parse().ok().and_then(|number: f64| Self::from_f64(number / unit)).ok_or(())
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(from)?;
        Self::from_f64(number).ok_or_else(|| serde::de::Error::custom("a fraction is not negative"))
    }
}

/// Whether changes of subject are looked for that nobody announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectDetection {
    /// They are not: ADR 033 knows only announced ones.
    #[default]
    Off,
    /// They are, by the words that exchanges share.
    Cohesion,
}

/// The settings of topics and tiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopicSettings {
    /// The current topic's part of the budget.
    #[serde(alias = "currentTopic")]
    pub current_topic_share: Fraction,
    /// The part of summaries of earlier topics.
    #[serde(alias = "historicalTopics")]
    pub historical_topics_share: Fraction,
    /// The part of bulk archives.
    #[serde(alias = "bulkArchives")]
    pub bulk_archives_share: Fraction,
    /// Messages of the current topic that are longer than this are cut short when it outgrows its part.
    ///
    /// Pruning has the setting of this name; written down, it stands there.
    #[serde(alias = "maxMessageChars", skip_serializing)]
    pub max_message_chars: Chars,
    /// How long a topic's summary may be.
    #[serde(alias = "topicSummaryTokens")]
    pub topic_summary_tokens: Tokens,
    /// How long a bulk archive may be.
    #[serde(alias = "bulkSummaryTokens")]
    pub bulk_summary_tokens: Tokens,
    /// How many topics are merged into a bulk archive.
    #[serde(alias = "bulkMergeSize")]
    pub bulk_merge_size: usize,
    /// A silence longer than this many minutes ends a topic.
    #[serde(alias = "silenceMinutes")]
    pub silence_minutes: u64,
    /// A topic that exceeds this part of the current topic's part is sealed.
    #[serde(alias = "tokenThreshold")]
    pub topic_token_threshold: Fraction,
    /// Whether changes of subject are looked for that nobody announced.
    pub subject_detection: SubjectDetection,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            current_topic_share: Fraction::percent(50),
            historical_topics_share: Fraction::percent(30),
            bulk_archives_share: Fraction::percent(20),
            max_message_chars: Chars(2_000),
            topic_summary_tokens: Tokens(200),
            bulk_summary_tokens: Tokens(300),
            bulk_merge_size: 3,
            silence_minutes: 30,
            topic_token_threshold: Fraction::percent(60),
            subject_detection: SubjectDetection::Off,
        }
    }
}

/// The least length of a summary that can say anything.
pub(crate) const LEAST_SUMMARY: Tokens = Tokens(16);

impl TopicSettings {
    /// Whether the settings make sense, each by itself and together.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let shares = [
            ("current_topic_share", self.current_topic_share),
            ("historical_topics_share", self.historical_topics_share),
            ("bulk_archives_share", self.bulk_archives_share),
        ];
        let mut sum = 0_u32;
        for (name, share) in shares {
            sum = sum.saturating_add(share.0);
            check(sum <= WHOLE, || {
                let allowed = "so much that the three shares (current_topic_share, historical_topics_share, \
                               bulk_archives_share) come to at most 1";
                out_of_range(name, share, allowed)
            })?;
        }
        check(self.current_topic_share > Fraction(0), || {
            out_of_range("current_topic_share", self.current_topic_share, "more than 0")
        })?;
        check((1..=WHOLE).contains(&self.topic_token_threshold.0), || {
            out_of_range("topic_token_threshold", self.topic_token_threshold, "more than 0, at most 1")
        })?;
        check(self.max_message_chars > Chars::ZERO, || {
            out_of_range("max_message_chars", self.max_message_chars, "at least 1")
        })?;
        let least = format!("at least {LEAST_SUMMARY}");
        check(self.topic_summary_tokens >= LEAST_SUMMARY, || {
            out_of_range("topic_summary_tokens", self.topic_summary_tokens, &least)
        })?;
        check(self.bulk_summary_tokens >= LEAST_SUMMARY, || {
            out_of_range("bulk_summary_tokens", self.bulk_summary_tokens, &least)
        })?;
        check(self.bulk_merge_size >= 2, || {
            out_of_range("bulk_merge_size", self.bulk_merge_size, "at least 2, or nothing would be merged")
        })?;
        check(self.silence_minutes >= 1, || out_of_range("silence_minutes", 0, "at least 1"))
    }

    /// How large a topic may grow before it is sealed, under a budget.
    pub fn seal_above(&self, budget: Tokens) -> Tokens {
        self.topic_token_threshold.of(self.current_topic_share.of(budget))
    }
}

fn check(holds: bool, otherwise: impl FnOnce() -> SettingsError) -> Result<(), SettingsError> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn out_of_range(name: &'static str, value: impl ToString, allowed: &str) -> SettingsError {
    SettingsError::OutOfRange { name, value: value.to_string(), allowed: allowed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_read_written_and_taken() {
        for (word, percent) in [("0.5", 50), ("50%", 50), (".3", 30), ("1", 100), ("0", 0)] {
            assert_eq!(word.parse(), Ok(Fraction::percent(percent)), "{word}");
        }
        for word in ["", "half", "-0.1", "NaN", "inf", "1e99"] {
            assert_eq!(word.parse::<Fraction>(), Err(()), "{word}");
        }
        assert_eq!(Fraction::percent(30).to_string(), "0.3");
        assert_eq!(Fraction::percent(30).of(Tokens(999)), Tokens(299));
        assert_eq!(Fraction::percent(100).of(Tokens(u64::MAX)), Tokens(u64::MAX));
        let written = serde_json::to_string(&TopicSettings::default()).unwrap();
        assert_eq!(serde_json::from_str::<TopicSettings>(&written).unwrap(), TopicSettings::default());
    }

    #[test]
    fn nonsense_is_refused_by_name_and_value() {
        type Spoil = fn(&mut TopicSettings);
        let cases: &[(Spoil, &str)] = &[
            (|s| s.bulk_archives_share = Fraction::percent(21), "bulk_archives_share is 0.21, allowed is"),
            (|s| s.current_topic_share = Fraction::percent(101), "current_topic_share is 1.01, allowed is"),
            (|s| s.current_topic_share = Fraction::percent(0), "current_topic_share is 0, allowed is"),
            (|s| s.topic_token_threshold = Fraction::percent(0), "topic_token_threshold is 0"),
            (|s| s.topic_token_threshold = Fraction::percent(110), "topic_token_threshold is 1.1"),
            (|s| s.max_message_chars = Chars(0), "max_message_chars is 0"),
            (|s| s.topic_summary_tokens = Tokens(15), "topic_summary_tokens is 15, allowed is at least 16"),
            (|s| s.bulk_summary_tokens = Tokens(0), "bulk_summary_tokens is 0"),
            (|s| s.bulk_merge_size = 1, "bulk_merge_size is 1"),
            (|s| s.silence_minutes = 0, "silence_minutes is 0"),
        ];
        for (spoil, expected) in cases {
            let mut settings = TopicSettings::default();
            spoil(&mut settings);
            let message = settings.validate().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message} should start with {expected}");
        }
        assert_eq!(TopicSettings::default().validate(), Ok(()));
        let less = TopicSettings { bulk_archives_share: Fraction::percent(5), ..TopicSettings::default() };
        assert_eq!(less.validate(), Ok(()), "shares may leave something over");
    }
}
