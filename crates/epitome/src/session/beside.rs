//! What is sent beside the messages of a session, kept where summaries are asked for behind it.

use epitome_llm::Prefix;
use epitome_wire::json::quote;
use epitome_wire::{Body, Dialect, system_with};

/// What is sent beside the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    instructions: Instructions,
    /// Messages of the operator that stand before the conversation and are no part of it, as they are sent.
    leading: Vec<String>,
    tools: Option<String>,
    /// Other fields that the provider's cache depends on.
    fields: Vec<(String, String)>,
}

/// What the model is told beforehand.
#[derive(Clone, Debug, Default)]
enum Instructions {
    #[default]
    None,
    /// In words.
    Said(String),
    /// As the dialect writes it.
    Sent(String),
}

impl Beside {
    /// Instructions and definitions of tools, as their user has them.
    pub(crate) fn said(system: &str, tools: &str) -> Self {
        let is_list =
            system.starts_with('[') && serde_json::from_str::<Vec<serde_json::Value>>(system).is_ok();
        let instructions = match system {
            "" => Instructions::None,
            list if is_list => Instructions::Sent(list.to_owned()),
            words => Instructions::Said(words.to_owned()),
        };
        let tools = Some(tools.to_owned()).filter(|tools| !tools.is_empty());
        Self { instructions, leading: Vec::new(), tools, fields: Vec::new() }
    }

    /// What stands in a request, so many messages of the operator included.
    pub(crate) fn sent(body: &Body<'_>, leading: usize) -> Self {
        let owned = |json: Option<&str>| json.filter(|json| *json != "null").map(str::to_owned);
        Self {
            instructions: owned(body.system_text()).map_or(Instructions::None, Instructions::Sent),
            leading: (0..leading).map(|at| body.message(at).to_owned()).collect(),
            tools: owned(body.tools_text()),
            fields: body.cache_fields().map(|(name, json)| (name.to_owned(), json.to_owned())).collect(),
        }
    }

    /// The beginning of a request with these messages, and with a summary that stands among the instructions.
    pub(crate) fn before(
        &self,
        dialect: Dialect,
        summary: Option<&str>,
        messages: impl Iterator<Item = String>,
    ) -> Prefix {
        let system = match (&self.instructions, summary) {
            (Instructions::None, None) => None,
            (Instructions::None, Some(summary)) => Some(quote(summary)),
            (Instructions::Said(words), None) => Some(quote(words)),
            // Those who send words add a summary to them, those who send a list a block to the list.
            (Instructions::Said(words), Some(summary)) => Some(quote(&format!("{words}\n\n{summary}"))),
            (Instructions::Sent(json), None) => Some(json.clone()),
            (Instructions::Sent(json), Some(summary)) => Some(system_with(Some(json), summary)),
        };
        // Chat Completions has its instructions among the messages.
        let (system, first) = match dialect {
            Dialect::Chat => {
                (None, system.map(|content| format!(r#"{{"role":"system","content":{content}}}"#)))
            }
            _ => (system, None),
        };
        let messages = first.into_iter().chain(self.leading.iter().cloned()).chain(messages).collect();
        Prefix { system, tools: self.tools.clone(), messages, fields: self.fields.clone() }
    }
}
