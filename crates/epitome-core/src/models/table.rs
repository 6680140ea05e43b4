//! The built-in table, as of November 2026. Prices are US dollars for a million tokens.
//!
//! A long table is fine. It is data: nothing here decides anything.

use std::borrow::Cow;

use super::model::{Caching, LongContext, Model, Price, Provider, ThinkingBinding, Vocabulary};
use crate::calibrate::Start;
use crate::tokens::ImagePricing;
use crate::units::Tokens;

/// Claude bills 1.1 to 1.3 tokens for one of o200k, from Opus 4.7 on a tenth more, and frames calls in markup.
const CLAUDE: Start = Start { ratio: 1.2, message: 12.0, call: 45.0 };
const CLAUDE_NEW: Start = Start { ratio: 1.35, ..CLAUDE };
const OPENAI: Start = Start { ratio: 1.0, message: 4.0, call: 8.0 };
const OTHERS: Start = Start { ratio: 1.1, message: 6.0, call: 20.0 };

/// id, window, longest output, cache minimum, input, output.
type Claude = (&'static str, u64, u64, u64, f64, f64);

const CLAUDES: &[Claude] = &[
    ("claude-fable-5.1", 1_000_000, 128_000, 512, 10.0, 50.0),
    ("claude-fable-5", 1_000_000, 128_000, 512, 10.0, 50.0),
    ("claude-mythos-5", 1_000_000, 128_000, 512, 10.0, 50.0),
    ("claude-opus-5", 1_000_000, 128_000, 512, 5.0, 25.0),
    ("claude-sonnet-5", 1_000_000, 128_000, 1_024, 3.0, 15.0),
    ("claude-opus-4.8", 1_000_000, 128_000, 1_024, 5.0, 25.0),
    ("claude-opus-4.7", 1_000_000, 128_000, 2_048, 5.0, 25.0),
    ("claude-opus-4.6", 1_000_000, 128_000, 4_096, 5.0, 25.0),
    ("claude-sonnet-4.6", 1_000_000, 64_000, 1_024, 3.0, 15.0),
    ("claude-haiku-4.5", 200_000, 64_000, 4_096, 1.0, 5.0),
    ("claude-opus-4.5", 200_000, 64_000, 4_096, 5.0, 25.0),
    ("claude-sonnet-4.5", 200_000, 64_000, 1_024, 3.0, 15.0),
    ("claude-opus-4.1", 200_000, 32_000, 1_024, 15.0, 75.0),
    ("claude-opus-4", 200_000, 32_000, 1_024, 15.0, 75.0),
    ("claude-sonnet-4", 200_000, 64_000, 1_024, 3.0, 15.0),
    ("claude-3.7-sonnet", 200_000, 64_000, 1_024, 3.0, 15.0),
    ("claude-3.5-sonnet", 200_000, 8_192, 1_024, 3.0, 15.0),
    ("claude-3.5-haiku", 200_000, 8_192, 2_048, 0.8, 4.0),
    ("claude-3-opus", 200_000, 4_096, 1_024, 15.0, 75.0),
    ("claude-3-haiku", 200_000, 4_096, 2_048, 0.25, 1.25),
];

/// Models with the tokenizer and the eyes of Opus 4.7.
const CLAUDES_NEW: &[&str] = &[
    "claude-fable-5.1",
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-opus-4.8",
    "claude-opus-4.7",
];

/// Models that refuse thinking once anything before it has changed.
const BOUND: &[&str] = &["claude-fable-5.1"];

const TILES_4O: ImagePricing = ImagePricing::GPT_4O;
const TILES_MINI: ImagePricing = ImagePricing::OpenAiTiles { base: 2_833, tile: 5_667 };
const TILES_5: ImagePricing = ImagePricing::OpenAiTiles { base: 70, tile: 140 };
const TILES_O: ImagePricing = ImagePricing::OpenAiTiles { base: 75, tile: 150 };
const PATCHES: ImagePricing = ImagePricing::OpenAiPatches { percent: 100 };
const PATCHES_MINI: ImagePricing = ImagePricing::OpenAiPatches { percent: 162 };
const PATCHES_NANO: ImagePricing = ImagePricing::OpenAiPatches { percent: 246 };
const PATCHES_O4: ImagePricing = ImagePricing::OpenAiPatches { percent: 172 };

/// id, window, longest output, input, output, share of the input price for a cached token, pictures.
type OpenAi = (&'static str, u64, u64, f64, f64, f64, ImagePricing);

const OPENAIS: &[OpenAi] = &[
    ("gpt-5.6-sol", 1_050_000, 128_000, 5.0, 30.0, 0.1, PATCHES),
    ("gpt-5.6-terra", 1_050_000, 128_000, 2.0, 12.0, 0.1, PATCHES),
    ("gpt-5.6-luna", 1_050_000, 128_000, 0.2, 1.2, 0.1, PATCHES),
    ("gpt-5.5", 1_050_000, 128_000, 5.0, 30.0, 0.1, PATCHES),
    ("gpt-5.5-pro", 1_050_000, 128_000, 30.0, 180.0, 1.0, PATCHES),
    ("gpt-5.4", 1_050_000, 128_000, 2.5, 15.0, 0.1, PATCHES),
    ("gpt-5.4-mini", 400_000, 128_000, 0.75, 4.5, 0.1, PATCHES_MINI),
    ("gpt-5.4-nano", 400_000, 128_000, 0.2, 1.25, 0.1, PATCHES_NANO),
    ("gpt-5.4-pro", 1_050_000, 128_000, 30.0, 180.0, 1.0, PATCHES),
    ("gpt-5.3-codex", 400_000, 128_000, 1.75, 14.0, 0.1, TILES_5),
    ("gpt-5.2", 400_000, 128_000, 1.75, 14.0, 0.1, TILES_5),
    ("gpt-5.2-pro", 400_000, 128_000, 21.0, 168.0, 1.0, TILES_5),
    ("gpt-5.1", 400_000, 128_000, 1.25, 10.0, 0.1, TILES_5),
    ("gpt-5", 400_000, 128_000, 1.25, 10.0, 0.1, TILES_5),
    ("gpt-5-mini", 400_000, 128_000, 0.25, 2.0, 0.1, PATCHES_MINI),
    ("gpt-5-nano", 400_000, 128_000, 0.05, 0.4, 0.1, PATCHES_NANO),
    ("gpt-5-pro", 400_000, 128_000, 15.0, 120.0, 1.0, TILES_5),
    ("gpt-4.1", 1_047_576, 32_768, 2.0, 8.0, 0.25, TILES_4O),
    ("gpt-4.1-mini", 1_047_576, 32_768, 0.4, 1.6, 0.25, PATCHES_MINI),
    ("gpt-4.1-nano", 1_047_576, 32_768, 0.1, 0.4, 0.25, PATCHES_NANO),
    ("gpt-4o", 128_000, 16_384, 2.5, 10.0, 0.5, TILES_4O),
    ("gpt-4o-mini", 128_000, 16_384, 0.15, 0.6, 0.5, TILES_MINI),
    ("gpt-oss-120b", 131_072, 131_072, 0.15, 0.6, 1.0, TILES_4O),
    ("gpt-oss-20b", 131_072, 131_072, 0.05, 0.2, 1.0, TILES_4O),
    ("o4-mini", 200_000, 100_000, 1.1, 4.4, 0.25, PATCHES_O4),
    ("o3", 200_000, 100_000, 2.0, 8.0, 0.25, TILES_O),
    ("o3-pro", 200_000, 100_000, 20.0, 80.0, 1.0, TILES_O),
    ("o3-mini", 200_000, 100_000, 1.1, 4.4, 0.5, TILES_O),
    ("o1", 200_000, 100_000, 15.0, 60.0, 0.5, TILES_O),
    ("o1-pro", 200_000, 100_000, 150.0, 600.0, 1.0, TILES_O),
    ("o1-mini", 128_000, 65_536, 1.1, 4.4, 0.5, TILES_O),
    ("gpt-4-turbo", 128_000, 4_096, 10.0, 30.0, 1.0, TILES_4O),
    ("gpt-4", 8_192, 8_192, 30.0, 60.0, 1.0, TILES_4O),
    ("gpt-3.5-turbo", 16_385, 4_096, 0.5, 1.5, 1.0, TILES_4O),
];

/// Models of the vocabulary before o200k.
const CL100K: &[&str] = &["gpt-4-turbo", "gpt-4", "gpt-3.5-turbo"];
/// Models that bill a token written to the cache at a quarter more.
const CACHE_WRITES: &[&str] = &["gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"];
/// Input above which the input costs twice and the output half as much again.
const OPENAI_LONG: Tokens = Tokens(272_000);
const OPENAI_LONG_MODELS: &[&str] = &["gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4"];
const GEMINI_LONG: Tokens = Tokens(200_000);
const GEMINI_LONG_MODELS: &[&str] = &["gemini-3.1-pro", "gemini-3-pro", "gemini-2.5-pro"];

/// provider, id, window, longest output, cache minimum, input, output, share of the input price for a cached token.
type Other = (Provider, &'static str, u64, u64, u64, f64, f64, f64);

use Provider::{Alibaba, DeepSeek, Google, Meta, MiniMax, Mistral, Moonshot, Zhipu};

const OTHER: &[Other] = &[
    (Google, "gemini-3.6-flash", 1_048_576, 65_536, 1_024, 1.5, 7.5, 0.1),
    (Google, "gemini-3.5-flash", 1_048_576, 65_536, 1_024, 1.5, 9.0, 0.1),
    (Google, "gemini-3.5-flash-lite", 1_048_576, 65_536, 1_024, 0.3, 2.5, 0.1),
    (Google, "gemini-3.1-pro", 1_048_576, 65_536, 4_096, 2.0, 12.0, 0.1),
    (Google, "gemini-3.1-flash-lite", 1_048_576, 65_536, 1_024, 0.25, 1.5, 0.1),
    (Google, "gemini-3-pro", 1_048_576, 65_536, 4_096, 2.0, 12.0, 0.1),
    (Google, "gemini-2.5-pro", 1_048_576, 65_536, 4_096, 1.25, 10.0, 0.1),
    (Google, "gemini-2.5-flash", 1_048_576, 65_536, 1_024, 0.3, 2.5, 0.25),
    (Google, "gemini-2.5-flash-lite", 1_048_576, 65_536, 1_024, 0.1, 0.4, 0.1),
    (Google, "gemini-2.0-flash", 1_048_576, 8_192, 4_096, 0.1, 0.4, 0.25),
    (DeepSeek, "deepseek-v4-pro", 1_000_000, 8_192, 64, 0.435, 0.87, 1.0),
    (DeepSeek, "deepseek-v4-flash", 1_000_000, 8_192, 64, 0.14, 0.28, 1.0),
    (DeepSeek, "deepseek-v3", 128_000, 8_192, 64, 0.27, 1.1, 0.26),
    (DeepSeek, "deepseek-r1", 128_000, 8_192, 64, 0.55, 2.19, 0.26),
    (DeepSeek, "deepseek-chat", 128_000, 8_192, 64, 0.27, 1.1, 0.26),
    (DeepSeek, "deepseek-reasoner", 128_000, 65_536, 64, 0.55, 2.19, 0.26),
    (Alibaba, "qwen3.8-max", 1_000_000, 32_768, 256, 2.0, 6.0, 0.125),
    (Alibaba, "qwen3.5-plus", 1_000_000, 32_768, 256, 0.4, 2.4, 1.0),
    (Alibaba, "qwen3-max", 262_144, 8_192, 256, 1.2, 6.0, 1.0),
    (Alibaba, "qwen3-plus", 128_000, 8_192, 256, 0.4, 2.4, 1.0),
    (Alibaba, "qwen3-coder", 262_144, 65_536, 256, 1.0, 5.0, 1.0),
    (Alibaba, "qwen3-8b", 128_000, 8_192, 256, 0.18, 0.7, 1.0),
    (Alibaba, "qwen2.5-72b", 128_000, 8_192, 256, 1.4, 5.6, 1.0),
    (Alibaba, "qwen2.5-32b", 128_000, 8_192, 256, 0.7, 2.8, 1.0),
    (Alibaba, "qwen2.5-7b", 128_000, 8_192, 256, 0.175, 0.7, 1.0),
    (Moonshot, "kimi-k3", 1_048_576, 32_768, 1_024, 3.0, 15.0, 0.1),
    (Moonshot, "kimi-k2.7-code", 262_144, 32_768, 1_024, 0.95, 4.0, 0.2),
    (Moonshot, "kimi-k2.6", 262_144, 32_768, 1_024, 0.95, 4.0, 1.0),
    (Moonshot, "kimi-k2.5", 262_144, 32_768, 1_024, 0.6, 3.0, 1.0),
    (Moonshot, "kimi-k2", 262_144, 32_768, 1_024, 0.6, 2.5, 0.25),
    (Zhipu, "glm-5.2", 1_048_576, 32_768, 1_024, 1.4, 4.4, 0.19),
    (Zhipu, "glm-5", 200_000, 32_768, 1_024, 1.0, 3.2, 0.2),
    (Zhipu, "glm-4.7", 200_000, 32_768, 1_024, 0.6, 2.2, 0.19),
    (Zhipu, "glm-4.6", 200_000, 32_768, 1_024, 0.6, 2.2, 0.19),
    (Zhipu, "glm-4.5", 131_072, 32_768, 1_024, 0.6, 2.2, 0.19),
    (Zhipu, "glm-4.5-air", 131_072, 32_768, 1_024, 0.2, 1.1, 0.15),
    (MiniMax, "minimax-m2.7", 204_800, 32_768, 1_024, 0.3, 1.2, 0.2),
    (MiniMax, "minimax-m2.5", 204_800, 32_768, 1_024, 0.3, 1.2, 0.1),
    (MiniMax, "minimax-m2.1", 204_800, 32_768, 1_024, 0.3, 1.2, 0.1),
    (MiniMax, "minimax-m2", 204_800, 32_768, 1_024, 0.3, 1.2, 0.1),
    (Mistral, "mistral-large", 128_000, 8_192, 1_024, 0.5, 1.5, 1.0),
    (Mistral, "mistral-medium", 128_000, 8_192, 1_024, 1.5, 7.5, 1.0),
    (Mistral, "mistral-small", 128_000, 8_192, 1_024, 0.15, 0.6, 1.0),
    (Mistral, "mistral-nemo", 128_000, 8_192, 1_024, 0.15, 0.15, 1.0),
    (Mistral, "codestral", 256_000, 8_192, 1_024, 0.3, 0.9, 1.0),
    (Mistral, "devstral-medium", 256_000, 8_192, 1_024, 0.4, 2.0, 1.0),
    (Mistral, "devstral-small", 256_000, 8_192, 1_024, 0.1, 0.3, 1.0),
    (Mistral, "ministral-14b", 128_000, 8_192, 1_024, 0.2, 0.2, 1.0),
    (Mistral, "ministral-8b", 128_000, 8_192, 1_024, 0.15, 0.15, 1.0),
    (Mistral, "ministral-3b", 128_000, 8_192, 1_024, 0.1, 0.1, 1.0),
    (Mistral, "pixtral-large", 131_072, 8_192, 1_024, 2.0, 6.0, 1.0),
    (Meta, "llama-4-scout", 10_000_000, 8_192, 1_024, 0.11, 0.34, 1.0),
    (Meta, "llama-4-maverick", 1_000_000, 8_192, 1_024, 0.15, 0.6, 1.0),
    (Meta, "llama-3.3-70b", 128_000, 4_096, 1_024, 0.1, 0.32, 1.0),
    (Meta, "llama-3.1-405b", 128_000, 4_096, 1_024, 3.0, 3.0, 1.0),
    (Meta, "llama-3.1-70b", 128_000, 4_096, 1_024, 0.88, 0.88, 1.0),
    (Meta, "llama-3.1-8b", 128_000, 4_096, 1_024, 0.02, 0.05, 1.0),
];

/// Every model of the table.
pub(super) fn models() -> Vec<Model> {
    let claudes = CLAUDES.iter().map(claude);
    claudes.chain(OPENAIS.iter().map(openai)).chain(OTHER.iter().map(other)).collect()
}

/// A model that is not in the table: a window that most have, prices of the middle, no discount.
///
/// A Claude that is not in the table is likely newer than it, so its thinking is taken to be bound.
pub(super) fn unknown(id: String) -> Model {
    let model = if id.contains("claude") {
        Model { thinking: ThinkingBinding::Prefix, start: CLAUDE_NEW, ..claude(&UNKNOWN_CLAUDE) }
    } else {
        Model { provider: Provider::Unknown, ..other(&UNKNOWN) }
    };
    Model { id: Cow::Owned(id), ..model }
}

const UNKNOWN_CLAUDE: Claude = ("", 200_000, 64_000, 4_096, 5.0, 25.0);
const UNKNOWN: Other = (Meta, "", 128_000, 8_192, 1_024, 1.0, 5.0, 1.0);

fn claude(&(id, window, max_output, minimum, input, output): &Claude) -> Model {
    let is_new = CLAUDES_NEW.contains(&id);
    Model {
        id: Cow::Borrowed(id),
        provider: Provider::Anthropic,
        window: Tokens(window),
        max_output: Tokens(max_output),
        price: Price { input, output },
        long_context: None,
        caching: Caching { minimum: Tokens(minimum), write: 1.25, read: 0.1 },
        thinking: if BOUND.contains(&id) { ThinkingBinding::Prefix } else { ThinkingBinding::Free },
        images: if is_new { ImagePricing::AnthropicHighResolution } else { ImagePricing::Anthropic },
        vocabulary: Vocabulary::O200k,
        start: if is_new { CLAUDE_NEW } else { CLAUDE },
    }
}

fn openai(&(id, window, max_output, input, output, read, images): &OpenAi) -> Model {
    let write = if CACHE_WRITES.contains(&id) { 1.25 } else { 1.0 };
    Model {
        id: Cow::Borrowed(id),
        provider: Provider::OpenAi,
        window: Tokens(window),
        max_output: Tokens(max_output),
        price: Price { input, output },
        long_context: OPENAI_LONG_MODELS.contains(&id).then(|| long(OPENAI_LONG, input, output)),
        caching: Caching { minimum: Tokens(1_024), write, read },
        thinking: ThinkingBinding::Free,
        images,
        vocabulary: if CL100K.contains(&id) { Vocabulary::Cl100k } else { Vocabulary::O200k },
        start: OPENAI,
    }
}

fn other(&(provider, id, window, max_output, minimum, input, output, read): &Other) -> Model {
    Model {
        id: Cow::Borrowed(id),
        provider,
        window: Tokens(window),
        max_output: Tokens(max_output),
        price: Price { input, output },
        long_context: GEMINI_LONG_MODELS.contains(&id).then(|| long(GEMINI_LONG, input, output)),
        caching: Caching { minimum: Tokens(minimum), write: 1.0, read },
        thinking: ThinkingBinding::Free,
        images: if provider == Google { ImagePricing::Gemini } else { ImagePricing::GPT_4O },
        vocabulary: Vocabulary::O200k,
        start: OTHERS,
    }
}

fn long(above: Tokens, input: f64, output: f64) -> LongContext {
    LongContext { above, price: Price { input: input * 2.0, output: output * 1.5 } }
}
