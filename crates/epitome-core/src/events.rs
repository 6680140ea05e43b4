//! What the log says: structured events with the names that dashboards and the seeds know.
//!
//! It emits and never collects: a program without a subscriber pays nothing for it.

use crate::compact::Report;
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
pub(crate) fn pruned(marks: &[&Marked], before: Tokens, after: Tokens) {
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

/// Reports that a compaction starts.
pub(crate) fn compacting(tokens: Tokens, threshold: Tokens, messages: usize) {
    tracing::info!(
        target: COMPACT,
        tokens_before = tokens.0,
        threshold = threshold.0,
        messages,
        "Compaction: estimated ~{tokens} tokens, threshold {threshold} — compacting {messages} messages"
    );
}

/// Reports what a compaction came to.
pub(crate) fn compacted(report: &Report) {
    let summaries = || report.segments.iter().filter(|stretch| stretch.level.is_some());
    let messages: usize = summaries().map(|stretch| stretch.range.len()).sum();
    let tokens: Tokens = summaries().map(|stretch| stretch.tokens_after).sum();
    let freed = report.tokens_before - report.tokens_after;
    tracing::info!(
        target: COMPACT,
        strategy = report.strategy,
        messages,
        tokens_before = report.tokens_before.0,
        tokens_after = report.tokens_after.0,
        "Compaction: summarized {messages} messages into ~{tokens} tokens, freed ~{freed} estimated tokens"
    );
}

/// Reports that a summary could not be had.
pub(crate) fn compaction_failed(error: &str) {
    tracing::warn!(target: COMPACT, error, "Compaction failed: {error}. Falling back.");
}
