//! A model and what is known of it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::calibrate::Start;
use crate::tokens::{Bpe, Counter, ImagePricing};
use crate::units::Tokens;

/// Who makes a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Provider {
    Anthropic,
    OpenAi,
    Google,
    DeepSeek,
    Alibaba,
    Moonshot,
    Zhipu,
    MiniMax,
    Mistral,
    Meta,
    Unknown,
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input that no cache serves.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
}

/// The price of a call whose input exceeds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContext {
    /// The limit.
    pub above: Tokens,
    /// The price of the whole call.
    pub price: Price,
}

/// How a provider caches prompts; prices are multiples of the input price.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caching {
    /// The shortest prefix that is cached.
    pub minimum: Tokens,
    /// What a token costs that is written to the cache.
    pub write: f64,
    /// What a token costs that is read from the cache.
    pub read: f64,
}

/// Whether thinking blocks may stay when something before them changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingBinding {
    /// They may.
    Free,
    /// They are refused once anything before them has changed: all must be stripped.
    Prefix,
}

/// The vocabulary that counts a model's text best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Vocabulary {
    O200k,
    Cl100k,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// Its name, without provider, platform and date.
    pub id: Cow<'static, str>,
    /// Who makes it.
    pub provider: Provider,
    /// Tokens of input and output together.
    pub window: Tokens,
    /// The longest output.
    pub max_output: Tokens,
    /// The price.
    pub price: Price,
    /// The price beyond some length, where there is one.
    pub long_context: Option<LongContext>,
    /// How prompts are cached.
    pub caching: Caching,
    /// Whether thinking is bound to what stands before it.
    pub thinking: ThinkingBinding,
    /// How pictures are billed.
    pub images: ImagePricing,
    /// The vocabulary.
    pub vocabulary: Vocabulary,
    /// Where calibration starts.
    pub start: Start,
}

impl Model {
    /// The price of a call with this much input.
    pub fn price_at(&self, input: Tokens) -> Price {
        match self.long_context {
            Some(long) if input > long.above => long.price,
            _ => self.price,
        }
    }

    /// A counter in the unit of every budget, with this model's pictures.
    pub fn counter(&self) -> Counter {
        Counter::new(Bpe::o200k(), self.images)
    }

    /// The model's own tokenizer, or the nearest to it.
    pub fn tokenizer(&self) -> &'static Bpe {
        match self.vocabulary {
            Vocabulary::O200k => Bpe::o200k(),
            Vocabulary::Cl100k => Bpe::cl100k(),
        }
    }
}

/// What settings say of a model; what they leave out stays as it was known or is assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ModelPatch {
    pub window: Option<Tokens>,
    pub max_output: Option<Tokens>,
    pub price: Option<Price>,
    pub long_context: Option<LongContext>,
    pub caching: Option<Caching>,
    pub thinking: Option<ThinkingBinding>,
    pub images: Option<ImagePricing>,
    pub vocabulary: Option<Vocabulary>,
    /// Tokens billed for a token of o200k, to start from.
    pub ratio: Option<f64>,
}

impl ModelPatch {
    pub(super) fn apply(self, model: &mut Model) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut model.window, self.window);
        set(&mut model.max_output, self.max_output);
        set(&mut model.price, self.price);
        set(&mut model.caching, self.caching);
        set(&mut model.thinking, self.thinking);
        set(&mut model.images, self.images);
        set(&mut model.vocabulary, self.vocabulary);
        set(&mut model.start.ratio, self.ratio);
        model.long_context = self.long_context.or(model.long_context);
    }
}
