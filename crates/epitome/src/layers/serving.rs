//! What the proxy is told: where it listens, and where requests go. Values are kept as they were written; the server judges them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Origin;

/// A setting of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServingSetting {
    /// Its name in files; in the environment it is in capitals, behind `EPITOME_`.
    pub name: &'static str,
    /// What holds where nobody says otherwise.
    pub default: &'static str,
    /// What it is for.
    pub doc: &'static str,
}

/// All settings of the proxy.
pub const SERVING: [ServingSetting; 5] = [
    ServingSetting {
        name: "listen",
        default: "127.0.0.1:8484",
        doc: "The address at which the proxy listens.",
    },
    ServingSetting {
        name: "anthropic_upstream",
        default: "https://api.anthropic.com",
        doc: "Where the proxy sends requests in Anthropic's API; without /v1.",
    },
    ServingSetting {
        name: "openai_upstream",
        default: "https://api.openai.com",
        doc: "Where the proxy sends requests in OpenAI's APIs; without /v1.",
    },
    ServingSetting {
        name: "mode",
        default: "compact",
        doc: "What the proxy does to calls: `compact` keeps them inside the window, `prune` only prunes tool results, `observe` only records, `off` does nothing.",
    },
    ServingSetting {
        name: "tenants",
        default: "auto",
        doc: "Whose sessions the proxy records: `one` means that all are the ledger's owner's, whatever key a call brings, `key` that each key has its own; `auto` is `one` where the proxy listens on this machine alone, else `key`.",
    },
];

/// An upstream for models whose names fit a pattern: one `[[upstream]]` of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelUpstream {
    /// The pattern: `*` stands for any characters, `?` for one.
    pub model: String,
    /// Where they go.
    pub url: String,
    /// Only in this dialect: anthropic, chat or responses.
    pub dialect: Option<String>,
}

/// A mode for some calls: one `[[route]]` of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeRoute {
    /// Those whose path begins like this.
    pub path: Option<String>,
    /// Those whose key ends like this.
    pub key: Option<String>,
    /// Their mode.
    pub mode: String,
}

/// What was said of the proxy.
#[derive(Clone, Debug, Default)]
pub struct Serving {
    said: BTreeMap<&'static str, (String, Origin)>,
    upstreams: Vec<ModelUpstream>,
    routes: Vec<ModeRoute>,
}

impl Serving {
    /// The value of a setting in [`SERVING`], and where it is from.
    pub fn get(&self, setting: ServingSetting) -> (&str, Origin) {
        match self.said.get(setting.name) {
            Some((value, origin)) => (value, origin.clone()),
            None => (setting.default, Origin::Default),
        }
    }

    /// Upstreams of single models, in their order.
    pub fn upstreams(&self) -> &[ModelUpstream] {
        &self.upstreams
    }

    /// Modes of single routes and keys, in their order.
    pub fn routes(&self) -> &[ModeRoute] {
        &self.routes
    }

    pub(super) fn route(&mut self, routes: Vec<ModeRoute>) {
        self.routes.extend(routes);
    }

    /// Takes a value; false where no setting of the proxy has that name.
    pub(super) fn set(&mut self, name: &str, value: &str, origin: &Origin) -> bool {
        let known = SERVING.iter().find(|setting| setting.name == name);
        if let Some(setting) = known {
            self.said.insert(setting.name, (value.to_owned(), origin.clone()));
        }
        known.is_some()
    }

    pub(super) fn extend(&mut self, upstreams: Vec<ModelUpstream>) {
        self.upstreams.extend(upstreams);
    }
}
