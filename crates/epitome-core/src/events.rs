//! What the log says: structured events with the names that dashboards and the seeds know.
//!
//! It emits and never collects: a program without a subscriber pays nothing for it.

use std::collections::HashSet;

use crate::compact::{Compaction, Report, Segment};
use crate::prune::{Marked, Plan, Rule};
use crate::units::Tokens;

/// The target of pruning's events.
pub const PRUNE: &str = "epitome::prune";
/// The target of compaction's events.
pub const COMPACT: &str = "epitome::compact";
/// The target of token estimates.
pub const TOKENS: &str = "epitome::tokens";

/// Reports a plan that is carried out: what it pruned, and how large the request is.
pub fn sending(plan: &Plan, warn_tokens: Tokens) {
    let marks: Vec<&Marked> = plan.marks.iter().collect();
    pruned(&marks, plan.before.tokens, plan.after.tokens);
    input_estimated(plan.fixed.tokens + plan.after.tokens, warn_tokens);
}

/// Reports what is pruned, if anything is.
fn pruned(marks: &[&Marked], before: Tokens, after: Tokens) {
    if marks.is_empty() {
        return;
    }
    let of = |rule: Rule| marks.iter().filter(|marked| marked.rule == rule).count();
    let (soft, hard) = (of(Rule::SoftTrim), of(Rule::HardClear));
    tracing::info!(
        target: PRUNE,
        pruned = soft + hard,
        soft,
        hard,
        capped = of(Rule::Cap),
        truncated = of(Rule::LongText),
        unthought = of(Rule::BoundThinking),
        tokens_before = before.0,
        tokens_after = after.0,
        "Pruned {} tool results (soft: {soft}, hard: {hard})",
        soft + hard
    );
}

/// Reports the estimated input of one turn, and warns where it exceeds `warn_tokens`.
pub fn input_estimated(tokens: Tokens, warn_tokens: Tokens) {
    tracing::debug!(target: TOKENS, input_tokens_estimated = tokens.0, "estimated input");
    if tokens > warn_tokens {
        tracing::warn!(
            target: TOKENS,
            input_tokens_estimated = tokens.0,
            warn_tokens = warn_tokens.0,
            "estimated input tokens exceed the early warning"
        );
    }
}

/// Reports that a compaction starts, in the tokens that the threshold is meant in.
pub fn compacting(tokens: Tokens, threshold: Tokens, messages: usize) {
    tracing::info!(
        target: COMPACT,
        tokens_before = tokens.0,
        threshold = threshold.0,
        messages,
        "Compaction: estimated ~{tokens:#} tokens, threshold {threshold:#} — compacting {messages} messages"
    );
}

/// A compaction that counts from now on.
pub struct InForce<'a> {
    /// What it shows.
    pub compaction: &'a Compaction,
    /// The one that was in force before.
    pub previous: Option<&'a Compaction>,
    /// What it did, in our tokens.
    pub report: &'a Report,
    /// What it was due to: overflow, threshold, manual, or a step of its own.
    pub trigger: &'a str,
    /// Tokens that the model bills for one of ours: the log speaks of the model's.
    pub ratio: f64,
}

impl InForce<'_> {
    /// Reports what it prunes, and what it summarises or leaves out that was not hidden before.
    pub fn tell(&self) {
        let Report { tokens_before, tokens_after, .. } = *self.report;
        let fresh = fresh_marks(self.compaction, self.previous);
        pruned(&fresh, self.billed(tokens_before), self.billed(tokens_after));
        if self.compaction.hides_more(self.previous) {
            self.compacted();
        }
    }

    /// Reports an undo: what it shows again, and what that costs.
    pub fn tell_undo(&self) {
        let (before, after) = (self.billed(self.report.tokens_before), self.billed(self.report.tokens_after));
        let grown = after - before;
        let hidden = self.previous.map_or(0, Compaction::messages_hidden);
        let messages = hidden.saturating_sub(self.compaction.messages_hidden());
        tracing::info!(
            target: COMPACT,
            messages,
            tokens_before = before.0,
            tokens_after = after.0,
            "Undo: {messages} messages are shown again, ~{grown:#} estimated tokens more"
        );
    }

    fn compacted(&self) {
        let report = self.report;
        let summaries = || report.segments.iter().filter(|stretch| stretch.level.is_some());
        let messages: usize = summaries().map(|stretch| stretch.range.len()).sum();
        let tokens = self.billed(summaries().map(|stretch| stretch.tokens_after).sum());
        let left_out = report.segments.iter().filter(|stretch| stretch.kind == "omitted");
        let left_out: usize = left_out.map(|stretch| stretch.range.len()).sum();
        let done = match messages {
            0 => format!("left out {left_out} messages"),
            _ => format!("summarized {messages} messages into ~{tokens:#} tokens"),
        };
        let freed = self.billed(report.tokens_before - report.tokens_after);
        tracing::info!(
            target: COMPACT,
            strategy = report.strategy,
            trigger = self.trigger,
            messages,
            left_out,
            tokens_before = self.billed(report.tokens_before).0,
            tokens_after = self.billed(report.tokens_after).0,
            "Compaction: {done}, freed ~{freed:#} estimated tokens"
        );
    }

    fn billed(&self, tokens: Tokens) -> Tokens {
        Tokens((tokens.0 as f64 * self.ratio).round() as u64)
    }
}

// The marks that the compaction in force does not have.
fn fresh_marks<'c>(compaction: &'c Compaction, previous: Option<&Compaction>) -> Vec<&'c Marked> {
    let place = |marked: &Marked| (marked.message, marked.block, marked.mark);
    let before = previous.into_iter().flat_map(|previous| &previous.segments);
    let known: HashSet<_> = before.flat_map(marks_of).map(place).collect();
    let marks = compaction.segments.iter().flat_map(marks_of);
    marks.filter(|marked| !known.contains(&place(marked))).collect()
}

fn marks_of(segment: &Segment) -> &[Marked] {
    match segment {
        Segment::Pruned { marks, .. } => marks,
        _ => &[],
    }
}

/// Reports that a summary could not be had.
pub(crate) fn compaction_failed(error: &str) {
    tracing::warn!(target: COMPACT, error, "Compaction failed: {error}. Falling back.");
}
