//! What happens when a summary cannot be had: an offline one takes its place, or the seed's own way is taken.
//!
//! Whoever wrote it, no summary leaves here with a secret in it unless the settings allow that.

use super::segment::{Compaction, Level, Segment};
use super::settings::{Fallback, StrategyName};
use super::summarizer::{Summarizer, SummaryError, SummaryRequest};
use crate::checkpoint::validate;
use crate::digest::Digest;
use crate::message::Message;
use crate::prune::text_of;
use crate::secrets::masked;
use crate::units::{Chars, Tokens};

/// Has summaries written, and minds those that fail.
pub(super) struct Escalation<'s> {
    pub(super) summarizer: &'s mut dyn Summarizer,
    pub(super) offline: Digest<'s>,
    pub(super) fallback: Fallback,
    pub(super) mask_secrets: bool,
    /// What summaries are to mind.
    pub(super) instructions: Option<&'s str>,
    /// The first messages of the stretches that could not be summarised, and why.
    pub(super) failures: Vec<(usize, String)>,
}

impl Summarizer for Escalation<'_> {
    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let text = self.written(&SummaryRequest { instructions: self.instructions, ..request.clone() })?;
        Ok(if self.mask_secrets { masked(&text).into_owned() } else { text })
    }

    fn is_mechanical(&self) -> bool {
        self.summarizer.is_mechanical()
    }

    fn recent(&mut self, from: usize, budget: Tokens) -> Option<Tokens> {
        self.summarizer.recent(from, budget)
    }
}

impl Escalation<'_> {
    fn written(&mut self, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        let written = self.summarizer.summarize(request).and_then(|text| self.accepted(text, request));
        let error = match written {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        self.failures.push((request.first, error.0.clone()));
        match self.fallback {
            Fallback::Seed => Err(error),
            Fallback::Escalate => self.offline.summarize(request),
        }
    }

    fn accepted(&self, text: String, request: &SummaryRequest<'_>) -> Result<String, SummaryError> {
        if text.trim().is_empty() {
            return Err(SummaryError("the summary is empty".to_owned()));
        }
        let checked = request.level == Level::Checkpoint
            && !self.summarizer.is_mechanical()
            && (self.fallback == Fallback::Seed || is_worth_a_checkpoint(request));
        if !checked {
            return Ok(text);
        }
        validate(&text).map_err(|error| SummaryError(error.to_string()))?;
        Ok(text)
    }
}

// Of little text, or within little room, nobody can write a checkpoint with all its sections.
fn is_worth_a_checkpoint(request: &SummaryRequest<'_>) -> bool {
    const LEAST_ROOM: Tokens = Tokens(200);
    const LEAST_TEXT: Chars = Chars(2_000);
    let said =
        |message: &Message| message.blocks.iter().filter_map(text_of).map(|text| Chars::of(&text)).sum();
    let messages: Chars = request.messages.iter().map(said).sum();
    let previous: Chars = request.previous.iter().map(|text| Chars::of(text)).sum();
    request.max_tokens >= LEAST_ROOM && messages + previous >= LEAST_TEXT
}

/// The record with what a seed does about summaries that failed, where it says so: nothing stands for those messages.
pub(super) fn as_the_seed(compaction: Compaction, name: Option<StrategyName>) -> Compaction {
    if !matches!(name, Some(StrategyName::Checkpoint | StrategyName::Rolling)) {
        return compaction;
    }
    let segments = compaction.segments.into_iter().map(|segment| match segment {
        Segment::Summary { range, .. } => {
            Segment::Omitted { range, note: "the summary failed: truncated without one".to_owned() }
        }
        other => other,
    });
    Compaction { segments: segments.collect(), ..compaction }
}
