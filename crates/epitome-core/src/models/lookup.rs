//! From a name to a model.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use thiserror::Error;

use super::id;
use super::model::{Model, ModelPatch};
use super::table;
use crate::calibrate::Start;
use crate::settings::distance;
use crate::units::Tokens;

/// The models that are known.
#[derive(Clone, Debug)]
pub struct ModelTable {
    models: HashMap<String, Model>,
    /// Those whose price somebody has set, by their names here.
    own_prices: HashSet<String>,
}

/// A model, and what to warn of where it is not surely the right one.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The model.
    pub model: Model,
    /// What was assumed.
    pub warning: Option<Warning>,
}

/// What was assumed of a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Warning {
    /// Nothing is known of it.
    #[error("model {id:?} is unknown: a context window of {window:#} tokens is assumed")]
    Unknown {
        /// The model asked for.
        id: String,
        /// The window assumed.
        window: Tokens,
    },
    /// It is taken for one of the same family.
    #[error("model {id:?} is unknown: it is taken for {like:?}")]
    Alike {
        /// The model asked for.
        id: String,
        /// The model it is taken for.
        like: String,
    },
}

static BUILT_IN: LazyLock<ModelTable> = LazyLock::new(|| ModelTable {
    models: table::models().into_iter().map(|model| (id::normal(&model.id), model)).collect(),
    own_prices: HashSet::new(),
});

impl Default for ModelTable {
    /// The built-in table.
    fn default() -> Self {
        BUILT_IN.clone()
    }
}

impl ModelTable {
    /// The model of this name, if it is known under it.
    pub fn find(&self, id: &str) -> Option<&Model> {
        self.models.get(&id::normal(id))
    }

    /// The model of this name, or the nearest there is.
    pub fn get(&self, id: &str) -> Found {
        let name = id::normal(id);
        let mut found = match self.models.get(&name) {
            Some(model) => Found { model: model.clone(), warning: None },
            None => self.nearest(id, &name),
        };
        if id::asks_for_a_million(id) {
            found.model.window = found.model.window.max(Tokens(1_000_000));
        }
        found
    }

    /// Adds models, or changes what is known of them.
    pub fn extend(&mut self, patches: impl IntoIterator<Item = (String, ModelPatch)>) {
        for (id, patch) in patches {
            let mut model = self.get(&id).model;
            let name = id::normal(&id);
            if id::normal(&model.id) != name {
                model.id = Cow::Owned(id);
            }
            if patch.price.is_some() {
                self.own_prices.insert(name.clone());
            }
            patch.apply(&mut model);
            self.models.insert(name, model);
        }
    }

    /// Whether what this model costs was set by somebody, rather than known or guessed.
    pub fn has_own_price(&self, id: &str) -> bool {
        self.own_prices.contains(&id::normal(id))
    }

    /// The names of up to `most` models that are written much like this one, the nearest first.
    pub fn similar(&self, id: &str, most: usize) -> Vec<&str> {
        let name = id::normal(id);
        let far = |known: &&Model| {
            let other = id::normal(&known.id);
            // A name that starts like this one is rather meant than one that is merely as long.
            let same = name.bytes().zip(other.bytes()).take_while(|(left, right)| left == right).count();
            (distance(&name, &other), std::cmp::Reverse(same), other)
        };
        let alike = |known: &&Model| distance(&name, &id::normal(&known.id)) * 2 < name.len().max(4);
        let mut known: Vec<&Model> = self.models.values().filter(alike).collect();
        known.sort_by_cached_key(far);
        known.into_iter().take(most).map(|model| model.id.as_ref()).collect()
    }

    /// Every model.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.models.values()
    }

    /// The model with the longest name that this one continues after a dash.
    fn nearest(&self, id: &str, name: &str) -> Found {
        let heads = name.rmatch_indices('-').filter_map(|(dash, _)| name.get(..dash));
        let id = id.to_owned();
        let unknown = table::unknown(id.clone());
        match heads.into_iter().find_map(|head| self.models.get(head)) {
            Some(model) => {
                let like = model.id.clone().into_owned();
                let model = Model { thinking: unknown.thinking, ..model.clone() };
                Found { model, warning: Some(Warning::Alike { id, like }) }
            }
            None => {
                let window = unknown.window;
                Found { model: unknown, warning: Some(Warning::Unknown { id, window }) }
            }
        }
    }
}

/// Where the calibration of a model starts, by the built-in table.
pub(crate) fn start(id: &str) -> Start {
    BUILT_IN.get(id).model.start
}

#[cfg(test)]
mod tests {
    use super::super::ThinkingBinding;
    use super::*;

    #[test]
    fn names_what_may_be_meant() {
        let table = ModelTable::default();
        for (id, meant) in [
            ("claude-opuss-4-5", "claude-opus-4.5"),
            ("gtp-4o", "gpt-4o"),
            ("clade-sonnet-4-5", "claude-sonnet-4.5"),
        ] {
            let similar = table.similar(id, 3);
            assert!(similar.contains(&meant), "{id}: {similar:?}");
        }
        assert_eq!(table.similar("nosuch", 3), Vec::<&str>::new());
    }

    #[test]
    fn finds_the_nearest_and_says_so() {
        let table = ModelTable::default();
        let cases = [
            ("claude-opus-4-5-20251101", "claude-opus-4.5", false),
            ("gpt-5.1-codex", "gpt-5.1", true),
            ("meta-llama/llama-3.3-70b-instruct", "llama-3.3-70b", true),
            ("my-own-model", "my-own-model", true),
        ];
        for (id, like, warned) in cases {
            let found = table.get(id);
            assert_eq!((found.model.id.as_ref(), found.warning.is_some()), (like, warned), "{id}");
        }
        assert_eq!(table.get("claude-fable-5-3").model.thinking, ThinkingBinding::Prefix);
        assert_eq!(table.get("claude-opus-9").model.thinking, ThinkingBinding::Prefix);
        assert_eq!(table.get("claude-opus-4-5").model.thinking, ThinkingBinding::Free);
        assert_eq!(table.get("claude-sonnet-4-5[1m]").model.window, Tokens(1_000_000));
        let warning = table.get("my-own-model").warning.map(|warning| warning.to_string());
        assert_eq!(
            warning.as_deref(),
            Some("model \"my-own-model\" is unknown: a context window of 128,000 tokens is assumed")
        );
    }

    #[test]
    fn settings_extend_it() {
        let mut table = ModelTable::default();
        let patch = ModelPatch { window: Some(Tokens(64_000)), ..ModelPatch::default() };
        table.extend([("local/my-own-model".to_owned(), patch.clone()), ("gpt-4o".to_owned(), patch)]);
        assert_eq!(table.get("my-own-model").model.window, Tokens(64_000));
        assert_eq!(table.get("my-own-model").warning, None);
        let gpt = table.get("gpt-4o-2024-08-06").model;
        assert_eq!((gpt.window, gpt.max_output), (Tokens(64_000), Tokens(16_384)));
    }

    #[test]
    fn every_model_makes_sense() {
        for model in ModelTable::default().iter() {
            assert!(model.max_output <= model.window, "{}", model.id);
            assert!(model.price.input <= model.price.output, "{}", model.id);
            assert!(model.caching.read <= 1.0 && model.caching.write >= 1.0, "{}", model.id);
            assert!((0.5..=2.0).contains(&model.start.ratio), "{}", model.id);
        }
    }
}
