//! The words in which servers say that a model does not give as many output tokens as were asked for.

use epitome_core::Tokens;

use super::template;

const SENTENCES: &[&str] = &[
    "{output} > {limit}, which is the maximum allowed number of output tokens",
    "supports at most {limit} completion tokens",
    "`max_tokens` must be less than or equal to `{limit}`",
    "max_tokens must be less than or equal to {limit}",
    "valid range of max_tokens is [1, {limit}]",
];

/// The most that the model gives, as a folded message tells it.
pub(super) fn most(text: &str) -> Option<Tokens> {
    let told = SENTENCES.iter().find_map(|sentence| template::find(sentence, text))?;
    told.limit.filter(|limit| *limit > 0).map(Tokens)
}
