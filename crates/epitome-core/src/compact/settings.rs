//! The numbers and choices that compaction goes by, and which of them make sense.
//!
//! Names, aliases and defaults as people write them are in [`crate::settings`]; here they are values.

use serde::{Deserialize, Serialize};

use super::tiered::Due;
use super::view::{Placement, Wording};
use crate::adaptive;
use crate::checkpoint::READERS_NOTE;
use crate::loss::OnInvention;
use crate::outline::Entry;
use crate::pressure::{Bound, Marks, Thresholds};
use crate::settings::SettingsError;
use crate::units::{Chars, Tokens};

/// The strategies that have a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StrategyName {
    /// Leave out the oldest messages beyond a count.
    None,
    /// Trim and clear stale tool results.
    Prune,
    /// A rolling summary and the last few messages.
    Rolling,
    /// A structured checkpoint and the recent tokens.
    Checkpoint,
    /// The first request with a summary of the middle, and the last few messages.
    Narrative,
    /// Topics and bulk archives.
    Tiered,
    /// Prune first, a checkpoint when that is not enough.
    #[default]
    Auto,
}

impl StrategyName {
    /// All of them, in the order of their reach.
    pub const ALL: [StrategyName; 7] = [
        StrategyName::None,
        StrategyName::Prune,
        StrategyName::Rolling,
        StrategyName::Checkpoint,
        StrategyName::Narrative,
        StrategyName::Tiered,
        StrategyName::Auto,
    ];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            StrategyName::None => "none",
            StrategyName::Prune => "prune",
            StrategyName::Rolling => "rolling",
            StrategyName::Checkpoint => "checkpoint",
            StrategyName::Narrative => "narrative",
            StrategyName::Tiered => "tiered",
            StrategyName::Auto => "auto",
        }
    }

    /// Whether it meets any budget above the minimum; the others say by how much they miss it.
    pub fn meets_budgets(self) -> bool {
        !matches!(self, StrategyName::None | StrategyName::Prune)
    }
}

/// What happens when a summary cannot be had, or everything is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// What the seed of the strategy does: truncate without summary, or accept the large context.
    Seed,
    /// Whatever it takes to meet the budget, an offline summary in place of a failed one.
    #[default]
    Escalate,
}

/// How long a summary may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryLength {
    /// As long as the cap, whatever it covers.
    #[default]
    Fixed,
    /// A tenth of what it covers, within the cap.
    Growing,
}

/// How the recent tokens are measured out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepBy {
    /// Message by message, up to the exchange that exceeds them (spec 008.1 v4).
    #[default]
    Messages,
    /// In whole turns, a query with everything that answers it each, at least one (Nexus).
    Turns,
}

/// The settings of compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether history is compacted at all; if not, only the oldest messages beyond `max_conversation_messages` go.
    pub compaction_enabled: bool,
    /// Which strategy.
    pub strategy: StrategyName,
    /// What happens when it does not work out.
    pub fallback: Fallback,
    /// Compaction is due when everything that is sent exceeds this, in place of `hard_threshold`. The other thresholds
    /// follow it where they are as they are by default.
    pub compaction_threshold: Option<Tokens>,
    /// Tokens of the window that are kept free for the next turn.
    pub reserve_tokens: Tokens,
    /// Above this somebody should know.
    pub warn_threshold: Bound,
    /// Above this a summary is prepared in the background.
    pub soft_threshold: Bound,
    /// Above this nothing is sent before it is compacted.
    pub hard_threshold: Bound,
    /// What a compaction goes down to.
    pub low_watermark: Bound,
    /// Whether the threshold and the recency window follow the conversation.
    pub adaptive: bool,
    /// How much of the recent conversation is kept, by strategies that keep it by tokens.
    pub keep_recent_tokens: Tokens,
    /// How much of what is older stays because it holds decisions or facts.
    pub retain_tokens: Tokens,
    /// How many of the last messages are kept, by strategies that keep them by count.
    pub recency_window: usize,
    /// How these are measured out.
    pub keep_by: KeepBy,
    /// How many tokens a summary may have.
    pub summary_token_budget: Tokens,
    /// How many characters a summary may have.
    pub summary_max_chars: Option<Chars>,
    /// Whether a summary may be as long as that whatever it covers.
    pub summary_length: SummaryLength,
    /// Whether the old part is told in several summaries, the older the more briefly.
    pub summary_cascade: bool,
    /// When the tiers of `tiered` are looked at.
    pub tiers_due: Due,
    /// What is done about what a summary says and its source does not.
    pub invented: OnInvention,
    /// Where summaries stand.
    pub placement: Placement,
    /// The words around a summary; `{summary}` stands for it.
    pub summary_words: String,
    /// What the assistant answers to it, where roles must alternate.
    pub acknowledgement: String,
    /// Whether secrets in summaries are masked.
    pub mask_secrets: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let Wording { summary, acknowledgement } = Wording::default();
        // The seeds' words, with a note for the reader before the summary.
        let summary = summary.replace("{summary}", &format!("{READERS_NOTE}\n\n{{summary}}"));
        let Thresholds { warn, soft, hard, low_watermark, reserve } = Thresholds::default();
        Self {
            compaction_enabled: true,
            strategy: StrategyName::Auto,
            fallback: Fallback::Escalate,
            compaction_threshold: None,
            reserve_tokens: reserve,
            warn_threshold: warn,
            soft_threshold: soft,
            hard_threshold: hard,
            low_watermark,
            adaptive: false,
            keep_recent_tokens: Tokens(20_000),
            retain_tokens: Tokens::ZERO,
            recency_window: 6,
            keep_by: KeepBy::Messages,
            summary_token_budget: Tokens(4_000),
            summary_max_chars: Some(Chars(6_000)),
            summary_length: SummaryLength::Fixed,
            summary_cascade: false,
            tiers_due: Due::OverBudget,
            invented: OnInvention::Flag,
            placement: Placement::Pair,
            summary_words: summary,
            acknowledgement,
            mask_secrets: true,
        }
    }
}

impl Settings {
    /// When a window counts as full; the seeds' one threshold, where it is set, stands in place of `hard_threshold`.
    pub fn thresholds(&self) -> Thresholds {
        let thresholds = Thresholds {
            warn: self.warn_threshold,
            soft: self.soft_threshold,
            hard: self.hard_threshold,
            low_watermark: self.low_watermark,
            reserve: self.reserve_tokens,
        };
        match self.compaction_threshold {
            Some(tokens) => thresholds.compacting_above(tokens),
            None => thresholds,
        }
    }

    /// The thresholds for a window and a path, `adaptive` considered. Windows and thresholds are in the model's tokens, of
    /// which it bills `ratio` for one of those that the path counts.
    pub fn marks(&self, window: Tokens, path: &[Entry], ratio: f64) -> Marks {
        let marks = self.thresholds().marks(window);
        if !self.adaptive {
            return marks;
        }
        let ours = 1.0 / ratio;
        let hard = adaptive::threshold(path, marks.hard.scaled(ours), window.scaled(ours));
        marks.compacting_above(hard.scaled(ratio))
    }

    /// The words around summaries.
    pub fn wording(&self) -> Wording {
        Wording { summary: self.summary_words.clone(), acknowledgement: self.acknowledgement.clone() }
    }

    /// Takes these words.
    pub(crate) fn speak(&mut self, around: &str, acknowledgement: &str) {
        self.summary_words = around.to_owned();
        self.acknowledgement = acknowledgement.to_owned();
    }

    /// Whether the settings make sense.
    pub fn validate(&self) -> Result<(), SettingsError> {
        let least_one = "at least 1".to_owned();
        let cases = [
            (
                self.compaction_threshold.is_none_or(|most| most > Tokens::ZERO),
                "compaction_threshold",
                "0",
                "at least 1, or off",
            ),
            (self.keep_recent_tokens > Tokens::ZERO, "keep_recent_tokens", "0", &least_one),
            (self.recency_window > 0, "recency_window", "0", &least_one),
            (self.summary_token_budget > Tokens::ZERO, "summary_token_budget", "0", &least_one),
            (
                self.summary_words.matches("{summary}").count() == 1,
                "summary_words",
                &self.summary_words,
                "a text with {summary} in it, once",
            ),
            (!self.acknowledgement.trim().is_empty(), "acknowledgement", "empty", "a text"),
        ];
        match cases.into_iter().find(|(holds, ..)| !holds) {
            None => Self { compaction_threshold: None, ..self.clone() }.thresholds().validate(),
            Some((_, name, value, allowed)) => {
                Err(SettingsError::OutOfRange { name, value: value.to_owned(), allowed: allowed.to_owned() })
            }
        }
    }
}
