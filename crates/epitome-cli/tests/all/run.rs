//! Running the command and looking at what came out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What a run of the command left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        let stderr = String::from_utf8(output.stderr).unwrap();
        Self { code: output.status.code().unwrap(), stdout: output.stdout, stderr }
    }

    /// Standard output as text, of a run that must have succeeded.
    pub(crate) fn text(&self) -> &str {
        assert_eq!(self.code, 0, "{}", self.stderr);
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.text()).unwrap()
    }

    /// Standard output as one JSON value a line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The command, far from any settings of whoever runs the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epitome"));
    let ours = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"EPITOME_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    // Most tests are about what pruning alone does; those about other strategies name them.
    if !arguments.iter().any(|argument| ["--strategy", "--preset"].contains(argument)) {
        command.env("EPITOME_STRATEGY", "prune");
    }
    command.args(arguments).current_dir(std::env::temp_dir()).stdin(Stdio::null());
    command
}

/// Runs a command that was prepared.
pub(crate) fn ran(command: &mut Command) -> Ran {
    Ran::new(command.output().unwrap())
}

/// Runs the command.
pub(crate) fn epitome(arguments: &[&str]) -> Ran {
    Ran::new(command(arguments).output().unwrap())
}

/// Runs the command with this on its standard input.
pub(crate) fn epitome_with(input: &[u8], arguments: &[&str]) -> Ran {
    let mut command = command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A process that fails early closes its end; that is its right.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran::new(output)
}

/// The session that the README uses.
pub(crate) fn example() -> String {
    repository().join("examples/session.jsonl").to_str().unwrap().to_owned()
}

/// The fixtures of the wire crate, one for each format.
pub(crate) fn fixtures() -> PathBuf {
    repository().join("crates/epitome-wire/tests/fixtures")
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
