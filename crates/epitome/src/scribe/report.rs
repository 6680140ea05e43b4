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
            "live": written.live,
            "rebuilt": written.rebuilt,
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
    let micros = written.get("micro_dollars").and_then(Value::as_f64);
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
    spent.money = micros.map(Money::of_micros);
    spent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_is_read_as_it_was_written() {
        for money in [None, Some(Money::ZERO), Some(Money::micros(42)), Some(Money::of_micros(1_234.567_891))]
        {
            let mut spent = Spent::default();
            (spent.calls, spent.unanswered, spent.money) = (3, 1, money);
            spent.usage = Usage {
                input: Tokens(12_000),
                cache_read: Tokens(8_000),
                cache_write: Tokens(500),
                output: Tokens(700),
            };
            spent.estimated = Tokens(40);
            // It passes through a text in the ledger.
            let kept: Value = serde_json::from_str(&spent_json(&spent).to_string()).unwrap();
            assert_eq!(read_spent(&kept), spent, "{kept}");
        }
    }

    #[test]
    fn it_is_told_how_a_summary_came_about() {
        let mut written = Written::default();
        written.live = true;
        let told = summaries_json(&[written, Written::default()]);
        let each = |name: &str| [&told["written"][0][name], &told["written"][1][name]].map(Value::as_bool);
        assert_eq!(each("live"), [Some(true), Some(false)], "{told}");
        assert_eq!(each("rebuilt"), [Some(false); 2], "{told}");
    }
}
