//! The item types that carry tool calls and their results, as tables.

/// How a call item spells name and arguments.
pub(super) struct CallItem {
    /// The item's `type`.
    pub(super) kind: &'static str,
    /// The tool's name where the item has no `name`.
    pub(super) tool: Option<&'static str>,
    /// The field of the arguments.
    pub(super) input: &'static str,
    /// Whether that field is a string; else it is a JSON value.
    pub(super) form: InputForm,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InputForm {
    Text,
    Value,
}

use InputForm::{Text, Value};

/// Calls of tools that the client runs; all name the call by `call_id`.
pub(super) const CALLS: [CallItem; 7] = [
    CallItem { kind: "function_call", tool: None, input: "arguments", form: Text },
    CallItem { kind: "custom_tool_call", tool: None, input: "input", form: Text },
    CallItem { kind: "local_shell_call", tool: Some("local_shell"), input: "action", form: Value },
    CallItem { kind: "shell_call", tool: Some("shell"), input: "action", form: Value },
    CallItem { kind: "apply_patch_call", tool: Some("apply_patch"), input: "operation", form: Value },
    CallItem { kind: "computer_call", tool: Some("computer"), input: "action", form: Value },
    CallItem { kind: "tool_search_call", tool: Some("tool_search"), input: "arguments", form: Value },
];

/// What an output item's `output` may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// A string or an array of parts: text that an edit may replace.
    Parts,
    /// An array of records.
    Records,
    /// One object.
    Object,
}

/// Results of tools that the client ran.
pub(super) const OUTPUTS: [(&str, OutputForm); 6] = [
    ("function_call_output", OutputForm::Parts),
    ("custom_tool_call_output", OutputForm::Parts),
    ("local_shell_call_output", OutputForm::Parts),
    ("apply_patch_call_output", OutputForm::Parts),
    ("shell_call_output", OutputForm::Records),
    ("computer_call_output", OutputForm::Object),
];

/// Calls of tools that the provider runs, results included.
pub(super) const SERVER_CALLS: [&str; 4] =
    ["web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"];

/// The provider's own compactions of earlier history.
pub(super) const COMPACTIONS: [&str; 3] = ["compaction", "compaction_summary", "context_compaction"];

pub(super) fn call_item(kind: &str) -> Option<&'static CallItem> {
    CALLS.iter().find(|item| item.kind == kind)
}

pub(super) fn output_form(kind: &str) -> Option<OutputForm> {
    OUTPUTS.iter().find(|(name, _)| *name == kind).map(|(_, form)| *form)
}
