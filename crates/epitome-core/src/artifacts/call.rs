//! What a tool call asks for: the tools of the common agents, by name.

use serde_json::Value;

use super::commands::{self, Step};
use super::failure::{Verdict, first_text};
use super::{Deed, Effect, file_name, patch};
use crate::message::{Block, ToolResult};

/// What kind of tool is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// One that works on files and says which.
    Files(Vec<Effect>),
    /// One that runs a script in a shell.
    Shell(Vec<Step>),
    /// Any other.
    Other,
}

const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "sh",
    "exec",
    "execcommand",
    "runcommand",
    "runterminalcmd",
    "runshellcommand",
    "terminal",
    "executebash",
    "executecommand",
    "localshell",
    "runinterminal",
    "shellcommand",
    "powershell",
    "command",
    "containerexec",
    "developershell",
];
const READERS: &[&str] = &[
    "read",
    "readfile",
    "viewfile",
    "view",
    "open",
    "openfile",
    "cat",
    "catfile",
    "getfilecontents",
    "notebookread",
    "viewimage",
    "readtextfile",
    "getfile",
    "loadfile",
];
const WRITERS: &[&str] = &["write", "writefile", "writetofile", "savefile", "putfile", "createorupdatefile"];
const CREATORS: &[&str] = &["create", "createfile", "newfile", "addfile"];
const EDITORS: &[&str] = &[
    "edit",
    "editfile",
    "multiedit",
    "notebookedit",
    "replace",
    "strreplace",
    "searchreplace",
    "insert",
    "append",
    "appendtofile",
    "replaceinfile",
    "applydiff",
    "edittext",
    "insertline",
    "updatefile",
    "modifyfile",
    "patchfile",
];
const DELETERS: &[&str] = &["delete", "deletefile", "removefile", "remove", "rm", "unlink"];
const MOVERS: &[&str] = &["move", "movefile", "rename", "renamefile", "mv"];
const PATCHERS: &[&str] = &["applypatch", "patch"];
const VERSATILE: &[&str] =
    &["strreplaceeditor", "strreplacebasededittool", "texteditor", "editor", "fileeditor"];

const PATHS: &[&str] = &[
    "file_path",
    "path",
    "filename",
    "file_name",
    "filepath",
    "filePath",
    "fileName",
    "target_file",
    "targetFile",
    "notebook_path",
    "file",
    "absolute_path",
    "relative_path",
    "uri",
    "TargetFile",
    "AbsolutePath",
];
const SOURCES: &[&str] = &["source", "src", "from", "old_path", "oldPath", "source_path", "path"];
const TARGETS: &[&str] =
    &["destination", "dest", "dst", "to", "new_path", "newPath", "target_path", "target"];
const COMMANDS: &[&str] = &["command", "cmd", "script", "code", "CommandLine", "commands", "input"];
const FOLDERS: &[&str] = &["workdir", "cwd", "working_directory", "working_dir", "directory", "Cwd"];

impl Call {
    /// Reads a call. `open` is the file that an editor with a state of its own has open.
    pub(super) fn read(name: &str, input: &str, open: &Option<String>) -> Self {
        let tool = plain_name(name);
        let input: Value = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.to_owned()));
        let is = |list: &[&str]| list.contains(&tool.as_str());
        if is(SHELLS) {
            return Call::Shell(shell(&input, open));
        }
        let file = || first(&input, PATHS).or_else(|| open.clone());
        let one = |deed| Call::Files(file().and_then(|file| Effect::new(deed, &file)).into_iter().collect());
        if is(PATCHERS) {
            let text = ["patch", "input", "diff", "text"].iter().find_map(|key| input.get(key)?.as_str());
            Call::Files(patch::effects(text.or(input.as_str()).unwrap_or_default()))
        } else if is(VERSATILE) {
            versatile(&input)
        } else if is(MOVERS) {
            let gone = first(&input, SOURCES).and_then(|file| Effect::new(Deed::Delete, &file));
            let here = first(&input, TARGETS).and_then(|file| Effect::new(Deed::Write, &file));
            Call::Files(gone.into_iter().chain(here).collect())
        } else if is(READERS) {
            let several = input.get("paths").or_else(|| input.get("files")).and_then(Value::as_array);
            match several {
                Some(files) => Call::Files(
                    files.iter().filter_map(|file| Effect::new(Deed::Read, file.as_str()?)).collect(),
                ),
                None => one(Deed::Read),
            }
        } else if is(WRITERS) {
            one(Deed::Write)
        } else if is(CREATORS) {
            one(Deed::Create)
        } else if is(EDITORS) {
            one(Deed::Modify)
        } else if is(DELETERS) {
            one(Deed::Delete)
        } else {
            Call::Other
        }
    }

    /// What the call did, given how it ended.
    pub(super) fn effects(&self, verdict: &Verdict, answer: &ToolResult) -> Vec<Effect> {
        match (self, verdict) {
            (Call::Other, _) | (Call::Files(_), Verdict::Failed { .. }) => Vec::new(),
            (Call::Files(effects), Verdict::Worked) => {
                effects.iter().cloned().map(|effect| told_by(answer, effect)).collect()
            }
            (Call::Shell(steps), Verdict::Worked) => {
                steps.iter().flat_map(|step| step.effects.iter().cloned()).collect()
            }
            (Call::Shell(steps), Verdict::Failed { error, .. }) => {
                commands::before_failure(steps, error, first_text(answer))
            }
        }
    }

    /// The file that the call leaves open in an editor with a state of its own.
    pub(super) fn opens(&self) -> Option<String> {
        let effects: &[Effect] = match self {
            Call::Files(effects) => effects,
            Call::Shell(steps) => match steps.last() {
                Some(step) if matches!(step.name.as_str(), "open" | "create" | "edit") => &step.effects,
                _ => return None,
            },
            Call::Other => return None,
        };
        effects.iter().rev().find(|effect| effect.deed != Deed::Delete).map(|effect| effect.file.clone())
    }
}

// `mcp__filesystem__read_file`, `functions.shell`, `readFile` and `Read_File` are all the same tool.
fn plain_name(name: &str) -> String {
    let last = name.rsplit("__").next().unwrap_or(name);
    let last = last.rsplit(['.', '/', ':']).next().unwrap_or(last);
    last.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

fn first(input: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| input.get(key)?.as_str()).filter(|text| !text.is_empty()).map(str::to_owned)
}

// Anthropic's text editor and SWE-agent's copy of it: one tool, told apart by `command`.
fn versatile(input: &Value) -> Call {
    let deed = match input.get("command").and_then(Value::as_str) {
        Some("view") => Deed::Read,
        Some("create") => Deed::Write,
        Some("str_replace" | "insert" | "undo_edit" | "edit") => Deed::Modify,
        Some("delete") => Deed::Delete,
        _ => return Call::Other,
    };
    // A view of a folder is no file; only a name with an ending is surely one.
    let file = first(input, PATHS)
        .filter(|file| deed != Deed::Read || file.rsplit('/').next().is_some_and(|name| name.contains('.')));
    Call::Files(file.and_then(|file| Effect::new(deed, &file)).into_iter().collect())
}

fn shell(input: &Value, open: &Option<String>) -> Vec<Step> {
    let folder = first(input, FOLDERS);
    let words = |value: &Value| match value {
        Value::String(script) => Some(commands::steps(script, folder.as_deref(), open.as_deref())),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(commands::steps_of_words(&words, folder.as_deref(), open.as_deref()))
        }
        _ => None,
    };
    let value = COMMANDS.iter().find_map(|key| input.get(key)).unwrap_or(input);
    // Codex's local shell wraps its command once more: {"action": {"command": [...]}}.
    let value = input.get("action").and_then(|action| action.get("command")).unwrap_or(value);
    words(value).unwrap_or_default()
}

// A tool that writes often says itself whether the file was there before.
fn told_by(answer: &ToolResult, mut effect: Effect) -> Effect {
    const SAID: usize = 300;
    if effect.deed == Deed::Write {
        let said = answer.content.iter().find_map(|block| match block {
            Block::Text(text) => Some(text.text.chars().take(SAID).collect::<String>().to_ascii_lowercase()),
            _ => None,
        });
        let says =
            |words: &[&str]| said.as_ref().is_some_and(|said| words.iter().any(|word| said.contains(word)));
        if says(&["has been updated", "updated successfully", "overwrote", "overwritten"]) {
            effect.deed = Deed::Modify;
        } else if says(&["created successfully", "file created", "new file"]) {
            effect.deed = Deed::Create;
        }
    }
    effect
}

/// The start of what a tool was asked, on one line: of a shell its command, otherwise the arguments as written.
pub(super) fn short_input(input: &str) -> String {
    const LONGEST: usize = 120;
    let parsed: Option<Value> = serde_json::from_str(input).ok();
    let telling = parsed.as_ref().and_then(|input| {
        let value = COMMANDS.iter().chain(PATHS).find_map(|key| input.get(key))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    });
    one_line(telling.as_deref().unwrap_or(input), LONGEST)
}

/// A text on one line, cut to so many characters, between words unless the first is too long.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let room = longest.saturating_sub(length + usize::from(length > 0));
        let chars = word.chars().count();
        if chars > room {
            line.extend(word.chars().take(if length > 0 { 0 } else { room }));
            line.push('…');
            break;
        }
        line.push_str(if length > 0 { " " } else { "" });
        line.push_str(word);
        length = longest - room + chars;
    }
    line
}

/// Joins a relative name to the folder it is relative to.
pub(super) fn within(folder: Option<&str>, file: &str) -> String {
    match folder.and_then(file_name) {
        Some(folder) if !file.starts_with(['/', '~']) => {
            let file = file.strip_prefix("./").unwrap_or(file);
            format!("{}/{file}", folder.trim_end_matches('/'))
        }
        _ => file.to_owned(),
    }
}
