//! Presets: each switches the features of one seed on and takes its numbers.
//!
//! A preset is a change of settings and nothing more; what is set beside it wins.

use serde::{Deserialize, Serialize};

use super::settings::{KeepBy, StrategyName, SummaryLength};
use super::tiered::Due;
use super::view::Placement;
use crate::pressure::Bound;
use crate::prune::PruneMode;
use crate::settings::Settings;
use crate::topics::TopicSettings;
use crate::units::{Chars, Tokens};

/// The seeds that have a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Spec 008.1 v4: tool pruning before every call, structured checkpoints.
    Nous,
    /// Spec 008.1, first draft: capped tool output, a rolling summary.
    NousDraft,
    /// The C# micro agent: a narrative summary behind the first request.
    MicroAgent,
    /// Nexus: compaction by turns, its summary among the instructions.
    Nexus,
    /// ADR 033 of FRIDAY: topics and bulk archives.
    Friday,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 5] =
        [Preset::Nous, Preset::NousDraft, Preset::MicroAgent, Preset::Nexus, Preset::Friday];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Nous => "nous",
            Preset::NousDraft => "nous-draft",
            Preset::MicroAgent => "micro-agent",
            Preset::Nexus => "nexus",
            Preset::Friday => "friday",
        }
    }

    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase().replace('_', "-");
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// The defaults as this preset has them.
    pub fn settings(self) -> Settings {
        let mut settings = Settings::default();
        self.apply(&mut settings);
        settings
    }

    /// Changes the settings that the seed names.
    pub fn apply(self, settings: &mut Settings) {
        match self {
            Preset::Nous => nous(settings),
            Preset::NousDraft => nous_draft(settings),
            Preset::MicroAgent => micro_agent(settings),
            Preset::Nexus => nexus(settings),
            Preset::Friday => friday(settings),
        }
    }
}

fn nous(settings: &mut Settings) {
    let Settings { prune, compact, max_conversation_messages, .. } = settings;
    prune.tool_pruning_enabled = true;
    prune.tool_soft_trim_chars = Chars(4_000);
    prune.tool_soft_trim_head = Chars(1_500);
    prune.tool_soft_trim_tail = Chars(1_500);
    prune.tool_hard_clear_after = 6;
    prune.keep_last_tool_results = 2;
    prune.tool_result_max_chars = None;
    prune.prune_mode = PruneMode::EveryCall;
    compact.strategy = StrategyName::Checkpoint;
    compact.compaction_threshold = Some(Tokens(100_000));
    compact.keep_recent_tokens = Tokens(20_000);
    compact.keep_by = KeepBy::Messages;
    compact.summary_token_budget = Tokens(4_000);
    compact.summary_max_chars = Some(Chars(6_000));
    compact.placement = Placement::Pair;
    compact.speak(
        "[Previous conversation summary]\n\n{summary}",
        "I have the context from our previous conversation. Let's continue.",
    );
    *max_conversation_messages = 20;
}

fn nous_draft(settings: &mut Settings) {
    let Settings { prune, compact, max_conversation_messages, .. } = settings;
    prune.tool_pruning_enabled = false;
    prune.tool_result_max_chars = Some(Chars(4_000));
    prune.warn_tokens = Tokens(60_000);
    compact.strategy = StrategyName::Rolling;
    compact.compaction_threshold = Some(Tokens(80_000));
    compact.recency_window = 6;
    compact.keep_recent_tokens = Tokens(30_000);
    compact.summary_token_budget = Tokens(2_000);
    compact.summary_max_chars = None;
    compact.placement = Placement::Pair;
    compact.speak("[Conversation Summary]\n{summary}", "I understand the context. Continuing...");
    *max_conversation_messages = 20;
}

fn micro_agent(settings: &mut Settings) {
    let Settings { prune, compact, max_conversation_messages, .. } = settings;
    prune.tool_pruning_enabled = false;
    prune.tool_result_max_chars = Some(Chars(40_000));
    compact.strategy = StrategyName::Narrative;
    compact.compaction_threshold = Some(Tokens(80_000));
    compact.recency_window = 6;
    compact.summary_token_budget = Tokens(4_096);
    compact.summary_max_chars = None;
    compact.placement = Placement::FirstUser;
    compact.speak(
        "[CONTEXT SUMMARY]\n{summary}\n[END CONTEXT SUMMARY]",
        "Understood. Continuing with the current task.",
    );
    *max_conversation_messages = 50;
}

// The seed leaves the length of the summary open; it grows with what it covers, up to what the micro agent allows.
fn nexus(settings: &mut Settings) {
    let compact = &mut settings.compact;
    compact.strategy = StrategyName::Checkpoint;
    compact.compaction_threshold = None;
    compact.reserve_tokens = Tokens(20_000);
    compact.hard_threshold = Bound::Share(1.0);
    compact.keep_recent_tokens = Tokens(30_000);
    compact.keep_by = KeepBy::Turns;
    compact.summary_token_budget = Tokens(4_096);
    compact.summary_max_chars = None;
    compact.summary_length = SummaryLength::Growing;
    compact.placement = Placement::System;
    compact.summary_words = "{summary}".to_owned();
}

fn friday(settings: &mut Settings) {
    let Settings { prune, compact, topics, .. } = settings;
    prune.max_message_chars = Some(Chars(2_000));
    compact.strategy = StrategyName::Tiered;
    compact.compaction_threshold = None;
    compact.tiers_due = Due::OverShare;
    // The ADR's numbers are the defaults.
    *topics = TopicSettings::default();
}
