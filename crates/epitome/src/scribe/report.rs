//! What became of the summaries of a compaction: who wrote them, what they cost, what was wrong with them.

use epitome_core::cost::Money;
use epitome_core::{Tokens, Usage};
use epitome_llm::summary::{Spent, Written};
use serde_json::{Value, json};

/// What became of the summaries of a compaction, and what they cost together.
pub fn summaries_json(written: &[Written]) -> Value {
    let Some(last) = written.last() else { return Value::Null };
    let each = |written: &Written| {
        json!({
            "by": written.rung.as_str(),
            "model": written.model,
            "retries": written.retries,
            "stretches": written.chunks,
            "reused": written.reused,
            "left_out": written.left_out,
            "invented": written.invented,
            "struck": written.struck,
            "added": written.added,
            "score": written.score,
            "offline_score": written.offline_score,
            "troubles": written.troubles,
        })
    };
    json!({
        "written": written.iter().map(each).collect::<Vec<_>>(),
        "spent": spent_json(&last.spent),
    })
}

/// What questions to a model cost.
pub(crate) fn spent_json(spent: &Spent) -> Value {
    let Spent { calls, unanswered, usage, money, estimated, .. } = spent;
    json!({
        "calls": calls,
        "unanswered": unanswered,
        "input": usage.input.0,
        "cache_read": usage.cache_read.0,
        "cache_write": usage.cache_write.0,
        "output": usage.output.0,
        "estimated": estimated.0,
        "micro_dollars": money.map(|money| money.as_micros()),
    })
}

/// The same as it was written.
pub(super) fn read_spent(written: &Value) -> Spent {
    let figure = |name: &str| written.get(name).and_then(Value::as_u64).unwrap_or_default();
    let count = |name: &str| usize::try_from(figure(name)).unwrap_or(usize::MAX);
    let micros = written.get("micro_dollars").and_then(Value::as_i64);
    let mut spent = Spent::default();
    spent.calls = count("calls");
    spent.unanswered = count("unanswered");
    spent.usage = Usage {
        input: Tokens(figure("input")),
        cache_read: Tokens(figure("cache_read")),
        cache_write: Tokens(figure("cache_write")),
        output: Tokens(figure("output")),
    };
    spent.estimated = Tokens(figure("estimated"));
    spent.money = micros.map(Money::micros);
    spent
}
