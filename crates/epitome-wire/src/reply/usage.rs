//! What a provider billed for a call, in its own words.

use epitome_core::{Tokens, Usage};

use crate::node::Object;

/// What Anthropic bills. Later events repeat and complete what the first one said: their counts are totals.
pub(super) fn anthropic(usage: &Object<'_>, known: Option<Usage>) -> Usage {
    let known = known.unwrap_or_default();
    let count = |key| count(usage, key);
    Usage {
        input: count("input_tokens").unwrap_or(known.input),
        cache_read: count("cache_read_input_tokens").unwrap_or(known.cache_read),
        cache_write: count("cache_creation_input_tokens").unwrap_or(known.cache_write),
        output: count("output_tokens").unwrap_or(known.output),
    }
}

/// What Chat Completions bills.
pub(super) fn chat(usage: &Object<'_>) -> Option<Usage> {
    let mut billed = openai(usage, ["prompt_tokens", "completion_tokens", "prompt_tokens_details"])?;
    // DeepSeek's own word for what the cache served.
    if let (Tokens(0), Some(hit)) = (billed.cache_read, count(usage, "prompt_cache_hit_tokens")) {
        billed.cache_read = hit;
        billed.input = billed.input.saturating_sub(hit);
    }
    Some(billed)
}

/// What Responses bills.
pub(super) fn responses(usage: &Object<'_>) -> Option<Usage> {
    openai(usage, ["input_tokens", "output_tokens", "input_tokens_details"])
}

// What the cache served or took is part of the input.
fn openai(usage: &Object<'_>, [input, output, details]: [&str; 3]) -> Option<Usage> {
    let all = count(usage, input)?;
    let details = usage.get(details).and_then(|details| details.object().ok()?);
    let part = |key| details.as_ref().and_then(|details| count(details, key)).unwrap_or_default();
    let (cache_read, cache_write) = (part("cached_tokens"), part("cache_write_tokens"));
    let input = all.saturating_sub(cache_read).saturating_sub(cache_write);
    Some(Usage { input, cache_read, cache_write, output: count(usage, output).unwrap_or_default() })
}

fn count(usage: &Object<'_>, key: &str) -> Option<Tokens> {
    usage.get(key)?.raw().parse().ok().map(Tokens)
}
