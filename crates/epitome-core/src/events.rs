//! What the log says: structured events with the names that dashboards and the seeds know.
//!
//! It emits and never collects: a program without a subscriber pays nothing for it.

use crate::prune::Plan;
use crate::units::Tokens;

/// The target of pruning's events.
pub const PRUNE: &str = "epitome::prune";
/// The target of token estimates.
pub const TOKENS: &str = "epitome::tokens";

/// Reports a plan that is carried out: what it pruned, and how large the request is.
pub fn sending(plan: &Plan, warn_tokens: Tokens) {
    let Plan { soft, hard, capped, truncated, unthought, .. } = *plan;
    if !plan.marks.is_empty() {
        tracing::info!(
            target: PRUNE,
            pruned = soft + hard,
            soft,
            hard,
            capped,
            truncated,
            unthought,
            tokens_before = plan.before.tokens.0,
            tokens_after = plan.after.tokens.0,
            "Pruned {} tool results (soft: {soft}, hard: {hard})",
            soft + hard
        );
    }
    input_estimated(plan.fixed.tokens + plan.after.tokens, warn_tokens);
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
