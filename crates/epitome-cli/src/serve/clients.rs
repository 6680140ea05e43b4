//! How each client is pointed at the proxy: variables of a shell, or lines of the client's own settings.

/// A client, and what it needs to be told.
pub(crate) struct Client {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    // {root} is where the proxy listens, {v1} the same with /v1 behind it.
    lines: &'static str,
}

impl Client {
    /// What to paste, for a proxy at this address.
    pub(crate) fn lines(&self, root: &str) -> String {
        self.lines.replace("{root}", root).replace("{v1}", &format!("{root}/v1"))
    }
}

/// All clients that are known.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        lines: "\
# Tools are still searched for as with the provider itself.
export ANTHROPIC_BASE_URL={root}
export ENABLE_TOOL_SEARCH=true
",
    },
    Client {
        name: "codex",
        lines: "\
# in ~/.codex/config.toml
model_provider = \"epitome\"

[model_providers.epitome]
name = \"OpenAI through Epitome\"
base_url = \"{v1}\"
env_key = \"OPENAI_API_KEY\"
wire_api = \"responses\"
",
    },
    Client { name: "openai", lines: "export OPENAI_BASE_URL={v1}\n" },
    Client { name: "anthropic", lines: "export ANTHROPIC_BASE_URL={root}\n" },
    Client { name: "openai-agents", lines: "export OPENAI_BASE_URL={v1}\n" },
    Client {
        name: "opencode",
        lines: "\
// in opencode.json of the project, or ~/.config/opencode/opencode.json
{
  \"$schema\": \"https://opencode.ai/config.json\",
  \"provider\": {
    \"anthropic\": { \"options\": { \"baseURL\": \"{v1}\" } },
    \"openai\": { \"options\": { \"baseURL\": \"{v1}\" } }
  }
}
",
    },
    Client {
        name: "pi",
        lines: "\
// in ~/.pi/agent/models.json
{
  \"providers\": {
    \"anthropic\": { \"baseUrl\": \"{root}\" },
    \"openai\": { \"baseUrl\": \"{v1}\" }
  }
}
",
    },
    Client { name: "aider", lines: "export ANTHROPIC_API_BASE={root}\nexport OPENAI_API_BASE={v1}\n" },
    Client { name: "litellm", lines: "export ANTHROPIC_API_BASE={root}\nexport OPENAI_API_BASE={v1}\n" },
    Client { name: "langchain", lines: "export ANTHROPIC_API_URL={root}\nexport OPENAI_API_BASE={v1}\n" },
    Client { name: "goose", lines: "export ANTHROPIC_HOST={root}\nexport OPENAI_HOST={root}\n" },
    Client { name: "qwen-code", lines: "export OPENAI_BASE_URL={v1}\n" },
    Client {
        name: "ai-sdk",
        lines: "\
# Its packages want the version in both addresses.
export ANTHROPIC_BASE_URL={v1}
export OPENAI_BASE_URL={v1}
",
    },
];
