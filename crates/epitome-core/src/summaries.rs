//! The settings of summaries that a model writes: which model, what it gets to read, and what it may cost.

use serde::{Deserialize, Serialize};

use crate::checkpoint::TranscriptOptions;
use crate::cost::Money;
use crate::settings::SettingsError;
use crate::units::{Chars, Tokens};

/// Who writes summaries: models in the order in which they are asked; none where code picks them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Writers(pub Vec<String>);

impl Writers {
    /// Whether no model is asked.
    pub fn is_offline(&self) -> bool {
        self.0.is_empty()
    }
}

/// How long instructions may be: what takes more of the model's window leaves too little of it for the conversation.
pub const MOST_INSTRUCTIONS: Chars = Chars(8_000);

/// The settings of summaries by a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummarySettings {
    /// Who writes them.
    pub summarizer: Writers,
    /// What every summary is to mind.
    pub summary_instructions: String,
    /// Whether the model names the changes to a checkpoint, and code makes them.
    pub summary_delta: bool,
    /// Whether the request stands behind the conversation as it was sent, so that the provider's cache serves it.
    pub summary_behind_prefix: bool,
    /// For how many seconds a turn waits for the model before the offline summary serves.
    pub summary_wait_seconds: u64,
    /// For how many seconds the model may be asked for one compaction.
    pub summary_max_seconds: u64,
    /// How many questions it may be asked for one compaction.
    pub summary_max_calls: usize,
    /// How many tokens these may take, in and out.
    pub summary_max_tokens: Tokens,
    /// What they may cost.
    pub summary_max_cost: Option<Money>,
    /// How much of a conversation is told at most.
    pub summary_input_chars: Chars,
    /// How much of a tool's input is told.
    pub tool_input_preview_chars: Chars,
    /// Tool results that are longer are told as head and tail.
    pub tool_result_preview_chars: Chars,
    /// How much of the start of such a result is told.
    pub tool_result_head_chars: Chars,
    /// How much of its end.
    pub tool_result_tail_chars: Chars,
    /// Whether the model also finds out what is worth knowing in what is compacted.
    pub learn_by_model: bool,
}

impl Default for SummarySettings {
    fn default() -> Self {
        let told = TranscriptOptions::default();
        Self {
            summarizer: Writers::default(),
            summary_instructions: String::new(),
            summary_delta: true,
            summary_behind_prefix: false,
            summary_wait_seconds: 20,
            summary_max_seconds: 120,
            summary_max_calls: 40,
            summary_max_tokens: Tokens(2_000_000),
            summary_max_cost: None,
            summary_input_chars: told.most,
            tool_input_preview_chars: told.tool_input,
            tool_result_preview_chars: told.tool_result,
            tool_result_head_chars: told.tool_result_head,
            tool_result_tail_chars: told.tool_result_tail,
            learn_by_model: false,
        }
    }
}

impl SummarySettings {
    /// How a conversation is told to the model.
    pub fn transcript(&self) -> TranscriptOptions {
        TranscriptOptions {
            tool_result: self.tool_result_preview_chars,
            tool_result_head: self.tool_result_head_chars,
            tool_result_tail: self.tool_result_tail_chars,
            tool_input: self.tool_input_preview_chars,
            most: self.summary_input_chars,
            first: None,
        }
    }

    /// Whether the settings make sense.
    pub fn validate(&self) -> Result<(), SettingsError> {
        // Below this, no conversation is told.
        const LEAST: Chars = Chars(1_000);
        let wrong =
            |name, value: String, allowed: String| Err(SettingsError::OutOfRange { name, value, allowed });
        let ends = Chars(self.tool_result_head_chars.0.saturating_add(self.tool_result_tail_chars.0));
        let length = Chars::of(&self.summary_instructions);
        if length > MOST_INSTRUCTIONS {
            let (value, allowed) = (format!("{length} characters"), format!("at most {MOST_INSTRUCTIONS}"));
            return wrong("summary_instructions", value, allowed);
        }
        if self.summary_max_calls == 0 {
            return wrong("summary_max_calls", "0".to_owned(), "at least 1".to_owned());
        }
        if self.summary_max_seconds == 0 {
            return wrong("summary_max_seconds", "0".to_owned(), "at least 1".to_owned());
        }
        if self.summary_input_chars < LEAST {
            let value = self.summary_input_chars.to_string();
            return wrong("summary_input_chars", value, format!("at least {LEAST}"));
        }
        if ends > self.tool_result_preview_chars {
            let value = self.tool_result_preview_chars.to_string();
            let allowed = format!(
                "at least {ends}, which is tool_result_head_chars and tool_result_tail_chars together"
            );
            return wrong("tool_result_preview_chars", value, allowed);
        }
        Ok(())
    }
}
