//! What the agent can do: read a file, list a folder, and run a command if it may.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

/// The tools, and whether commands may be run.
pub(crate) struct Tools {
    pub(crate) may_run: bool,
}

impl Tools {
    /// What the model is told about them.
    pub(crate) fn definitions(&self) -> Value {
        let tool = |name: &str, does: &str, takes: &str| {
            let schema =
                json!({"type": "object", "properties": {takes: {"type": "string"}}, "required": [takes]});
            json!({"name": name, "description": does, "input_schema": schema})
        };
        let mut tools =
            vec![tool("read", "Reads a file.", "path"), tool("list", "Lists the files in a folder.", "path")];
        if self.may_run {
            tools.push(tool("run", "Runs a command of the shell.", "command"));
        }
        Value::from(tools)
    }

    /// The message that answers `tool_use` blocks.
    pub(crate) fn results(&self, calls: &[Value]) -> String {
        let results: Vec<Value> = calls.iter().map(|call| self.run(call)).collect();
        json!({"role": "user", "content": results}).to_string()
    }

    // What goes wrong is told to the model.
    fn run(&self, call: &Value) -> Value {
        let text = |key: &str| call["input"][key].as_str().unwrap_or_default().to_owned();
        let done = match call["name"].as_str() {
            Some("read") => fs::read_to_string(text("path")).map_err(|error| error.to_string()),
            Some("list") => list(&text("path")).map_err(|error| error.to_string()),
            Some("run") if self.may_run => run(&text("command")).map_err(|error| error.to_string()),
            _ => Err("there is no such tool".to_owned()),
        };
        let (content, is_error) = match done {
            Ok(content) => (content, false),
            Err(error) => (error, true),
        };
        json!({"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": is_error})
    }
}

fn list(path: &str) -> std::io::Result<String> {
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<std::io::Result<_>>()?;
    names.sort();
    Ok(names.join("\n"))
}

fn run(command: &str) -> std::io::Result<String> {
    let output = Command::new("sh").args(["-c", command]).output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok(format!("{}\n{}", output.status, String::from_utf8_lossy(&said)))
}
