//! Keys of providers: from the environment, else from the settings file. They are shown nowhere and stored nowhere.

use std::collections::BTreeMap;
use std::fmt;

use epitome_llm::{Endpoint, Secret};

/// The providers whose keys a settings file may hold, and the variables that come before them.
const NAMES: [(&str, &str); 2] = [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")];

/// Keys of providers by the variables that hold them elsewhere.
#[derive(Clone, Default)]
pub struct Keys(BTreeMap<&'static str, String>);

impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

impl Keys {
    /// Sets the key of `anthropic` or `openai`; whether there is such a provider.
    pub fn set(&mut self, provider: &str, key: &str) -> bool {
        let found = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(provider));
        if let Some((_, variable)) = found {
            self.0.insert(variable, key.to_owned());
        }
        found.is_some()
    }

    /// The key for an endpoint. The environment comes first.
    pub(crate) fn of(&self, endpoint: &Endpoint) -> Option<Secret> {
        let given = |variable: &str| std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
        endpoint.key_of(|variable| given(variable).or_else(|| self.0.get(variable).cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_for_its_provider_and_is_never_shown() {
        let mut keys = Keys::default();
        assert!(keys.set("Anthropic", "sk-very-secret"));
        assert!(!keys.set("acme", "x"));
        assert!(!format!("{keys:?}").contains("very"));
        let endpoint: Endpoint = "anthropic:claude-haiku-4-5@https://models.example".parse().unwrap();
        assert!(keys.of(&endpoint).is_some());
        let elsewhere: Endpoint = "anthropic:claude-haiku-4-5@http://10.1.2.3".parse().unwrap();
        assert!(keys.of(&elsewhere).is_none(), "no key goes over an open line");
    }
}
