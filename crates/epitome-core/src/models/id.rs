//! One name for the many that platforms give a model.

/// Regions and vendors that Bedrock writes before a name, with a dot.
const PREFIXES: &[&str] = &[
    "us",
    "eu",
    "apac",
    "jp",
    "au",
    "global",
    "anthropic",
    "amazon",
    "meta",
    "mistral",
    "deepseek",
    "openai",
    "google",
    "qwen",
    "moonshot",
    "moonshotai",
    "zai",
    "minimax",
];

/// A model's name in lower case, without provider path, platform decoration and date, and with dashes for dots:
/// `us.anthropic.claude-opus-4-5-20251101-v1:0`, `anthropic/claude-opus-4.5` and `claude-opus-4-5@20251101`
/// are all `claude-opus-4-5`.
pub(super) fn normal(id: &str) -> String {
    let id = id.trim().to_ascii_lowercase();
    let mut name = id.rsplit('/').next().unwrap_or(&id);
    // Vertex writes a date after `@`; Bedrock, OpenRouter and Ollama a variant after `:`; some clients `[1m]`.
    name = name.split(['@', ':', '[']).next().unwrap_or(name);
    while let Some((prefix, rest)) = name.split_once('.') {
        if !PREFIXES.contains(&prefix) {
            break;
        }
        name = rest;
    }
    undated(unversioned(name)).replace('.', "-")
}

/// Whether a client asks for the window of a million tokens, as with `claude-sonnet-4-5[1m]`.
pub(super) fn asks_for_a_million(id: &str) -> bool {
    id.trim().to_ascii_lowercase().ends_with("[1m]")
}

/// Drops Bedrock's `-v1`.
fn unversioned(name: &str) -> &str {
    match name.rsplit_once("-v") {
        Some((head, version)) if is_number(version) && !head.ends_with("deepseek") => head,
        _ => name,
    }
}

/// Drops `-20251101`, `-2024-08-06`, `-0905` and `-latest`.
fn undated(name: &str) -> &str {
    let name = name.strip_suffix("-latest").unwrap_or(name);
    let Some((head, last)) = name.rsplit_once('-') else { return name };
    if !is_number(last) {
        return name;
    }
    match last.len() {
        4 | 6 | 8 => head,
        2 => match head.rsplit_once('-').and_then(|(head, month)| Some((head.rsplit_once('-')?, month))) {
            Some(((head, year), month)) if is_number(year) && year.len() == 4 && month.len() == 2 => head,
            _ => name,
        },
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_one_model() {
        let cases = [
            ("claude-opus-4-5-20251101", "claude-opus-4-5"),
            ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
            ("openrouter/anthropic/claude-opus-4.5:thinking", "claude-opus-4-5"),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
            ("claude-opus-4-5@20251101", "claude-opus-4-5"),
            ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("GPT-4o-2024-08-06", "gpt-4o"),
            ("gpt-4-0613", "gpt-4"),
            ("gpt-5.6-terra", "gpt-5-6-terra"),
            ("models/gemini-2.5-pro", "gemini-2-5-pro"),
            ("deepseek-v3", "deepseek-v3"),
            ("llama-3.3-70b", "llama-3-3-70b"),
            ("", ""),
            ("-", "-"),
        ];
        for (id, name) in cases {
            assert_eq!(normal(id), name, "{id}");
        }
    }
}
