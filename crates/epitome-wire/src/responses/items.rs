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

/// What the output of an output item may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// A string or an array of parts: text that an edit may replace.
    Parts,
    /// An array of records.
    Records,
    /// One object.
    Object,
}

/// How an output item spells what a tool gave.
pub(super) struct OutputItem {
    /// The item's `type`.
    pub(super) kind: &'static str,
    /// The field of what the tool gave.
    pub(super) field: &'static str,
    pub(super) form: OutputForm,
    /// Whether that field may be missing.
    pub(super) may_be_mute: bool,
}

/// Results of tools that the client ran, or that the provider ran for it beside the model's own words.
pub(super) const OUTPUTS: [OutputItem; 7] = [
    OutputItem { kind: "function_call_output", field: "output", form: OutputForm::Parts, may_be_mute: false },
    OutputItem {
        kind: "custom_tool_call_output",
        field: "output",
        form: OutputForm::Parts,
        may_be_mute: false,
    },
    OutputItem {
        kind: "local_shell_call_output",
        field: "output",
        form: OutputForm::Parts,
        may_be_mute: false,
    },
    OutputItem {
        kind: "apply_patch_call_output",
        field: "output",
        form: OutputForm::Parts,
        may_be_mute: true,
    },
    OutputItem { kind: "shell_call_output", field: "output", form: OutputForm::Records, may_be_mute: false },
    OutputItem {
        kind: "computer_call_output",
        field: "output",
        form: OutputForm::Object,
        may_be_mute: false,
    },
    OutputItem { kind: "tool_search_output", field: "tools", form: OutputForm::Records, may_be_mute: false },
];

/// Calls of tools that the provider runs, results included.
pub(super) const SERVER_CALLS: [&str; 4] =
    ["web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"];

/// The provider's own compactions of earlier history.
pub(super) const COMPACTIONS: [&str; 3] = ["compaction", "compaction_summary", "context_compaction"];

pub(super) fn call_item(kind: &str) -> Option<&'static CallItem> {
    CALLS.iter().find(|item| item.kind == kind)
}

pub(super) fn output_item(kind: &str) -> Option<&'static OutputItem> {
    OUTPUTS.iter().find(|item| item.kind == kind)
}
