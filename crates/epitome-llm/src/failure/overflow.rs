//! The words in which servers say that a request does not fit the model's window.

use epitome_core::{Tokens, Usage};

use super::Kind;
use super::template::{self, Numbers};

/// Sentences that say so, those that tell more before those that tell less.
const SENTENCES: &[&str] = &[
    // Anthropic
    "prompt is too long: {requested} tokens > {limit} maximum",
    "exceed context limit: {requested} + {output} > {limit}",
    // OpenAI, Azure, OpenRouter, DeepSeek, vLLM, SGLang, LiteLLM
    "maximum context length is {limit} tokens…your request has {requested} input tokens ({output} >",
    "maximum context length is {limit} tokens…for a total of at least {requested} tokens",
    "maximum context length is {limit} tokens…requested a total of {requested} tokens",
    "maximum context length of {limit} tokens…requested a total of {requested} tokens",
    "maximum context length is {limit} tokens…you requested {requested} tokens",
    "maximum context length is {limit} tokens…you requested about {requested} tokens",
    "maximum context length is {limit} tokens…resulted in {requested} tokens",
    "maximum context length is {limit} tokens…has {requested} input tokens",
    "maximum context length is {limit} tokens…contains {requested} input tokens",
    "maximum context length is {limit} tokens…contains at least {requested} input tokens",
    "input length ({requested}) exceeds model's maximum context length ({limit})",
    "input length ({requested} tokens) exceeds the maximum context length ({limit} tokens)",
    "maximum context length is {limit}",
    "maximum context length of {limit}",
    "maximum context length ({limit}",
    "tokens exceed the configured limit of {limit} tokens…resulted in {requested} tokens",
    "tokens exceed the configured limit of {limit}",
    "input exceeds the context window",
    // GitHub Copilot, Poolside, xAI, Google, Together, Mistral, Kimi, MiniMax, Cohere, Bedrock
    "prompt token count of {requested} exceeds the limit of {limit}",
    "input length {requested} exceeds the maximum allowed input length of {limit}",
    "maximum prompt length is {limit} but the request contains {requested} tokens",
    "maximum prompt length is {limit}",
    "input token count ({requested}) exceeds the maximum number of tokens allowed ({limit})",
    "input token count exceeds the maximum number of tokens allowed {limit}",
    "input token count…exceeds the maximum number of",
    "input ({requested} tokens) is longer than the model's context length ({limit} tokens)",
    "prompt contains {requested} tokens…too large for model with {limit} maximum context length",
    "too large for model with {limit} maximum context length",
    "exceeded model token limit: {limit} (requested: {requested})",
    "exceeded model token limit",
    "context window exceeds limit",
    "tokens in the prompt cannot exceed {limit} - received {requested}",
    "too many tokens: size limit exceeded by",
    "input is too long for requested model",
    "input is too long for this model",
    // llama.cpp, LM Studio, Ollama, Text Generation Inference and other servers of one's own
    "request ({requested} tokens) exceeds the available context size ({limit} tokens)",
    "exceeds the available context size",
    "first {requested} tokens when context the overflows…context length of only {limit} tokens",
    "keep from the initial prompt is greater than the context length",
    "model is loaded with context length of only {limit} tokens",
    "prompt too long; exceeded max context length",
    "prompt too long; exceeded context length",
    "prompt too long: {requested} tokens exceeds max_seq_len {limit}",
    "exceeds max_model_len {limit}",
    "must be <= {limit}. given: {requested} `inputs` tokens and {output} `max_new_tokens`",
    "`inputs` must have less than {limit} tokens. given: {requested}",
    // Whatever stands between
    "prompt is too long",
    "reduce the length of the messages",
    "exceeds the context window",
    "exceeds the model's context window",
    "exceeds model context window",
    "context window exceeded",
    "context length exceeded",
    "context_length_exceeded",
    "model_context_window_exceeded",
];

/// What is said of a limit over time; it may speak of tokens, and is no matter of the window.
const OVER_TIME: &[&str] = &[
    "rate limit",
    "rate-limit",
    "rate_limit",
    "per min",
    "per day",
    "per hour",
    "per second",
    "(tpm)",
    "(tpd)",
    "throttl",
    "too many requests",
    "quota",
    "please wait",
    "try again in",
];

/// The overflow that a folded message tells about.
pub(super) fn in_text(text: &str) -> Option<Kind> {
    if OVER_TIME.iter().any(|words| text.contains(words)) {
        return None;
    }
    SENTENCES.iter().find_map(|sentence| template::find(sentence, text)).map(kind)
}

/// An overflow of these sizes; sizes that contradict each other are not believed.
pub(super) fn kind(Numbers { limit, requested, output }: Numbers) -> Kind {
    let limit = limit.filter(|limit| *limit > 0);
    let requested = requested.map(|input| input.saturating_add(output.unwrap_or(0)));
    let requested = requested.filter(|requested| limit.is_none_or(|limit| *requested > limit));
    Kind::Overflow { limit: limit.map(Tokens), requested: requested.map(Tokens) }
}

/// The window that a server has cut a prompt down to without a word, told by what it billed against what was expected.
///
/// Tokenizers differ by a third at most, so that a prompt of which clearly less than two thirds were billed did not arrive whole.
pub fn window_of_truncation(expected: Tokens, billed: &Usage) -> Option<Tokens> {
    const WORTH_A_LOOK: u64 = 1_000;
    const LEAST_PER_CENT: u128 = 62;
    let arrived = billed.total_input();
    let is_less = u128::from(arrived.0) * 100 < u128::from(expected.0) * LEAST_PER_CENT;
    let is_cut = expected.0 >= WORTH_A_LOOK && arrived.0 > 0 && is_less;
    is_cut.then_some(arrived + billed.output)
}
