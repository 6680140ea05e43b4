//! Settings of the command: the layers of the library, with hints for the person at the terminal.

use std::env;

use epitome::{LayerError, Layers};

use crate::args::Cli;
use crate::fail::{failure, misuse};

/// The settings in force and the models they know.
pub(crate) type Settings = epitome::Configured;

const HINT: &str = "epitome config shows what is in force, docs/settings.md lists every setting";

/// Reads all layers; a preset that is asked for goes before one that a file or the environment names.
pub(crate) fn layered(cli: &Cli) -> anyhow::Result<Settings> {
    let mut layers = Layers::default();
    match &cli.config {
        Some(path) => layers.file(path),
        None => layers.file_here(),
    }
    .map_err(|error| match error {
        LayerError::Unreadable { .. } => failure(error, "check --config"),
        error => failure(error, HINT),
    })?;
    layers.environment(env::vars_os()).map_err(|error| misuse(error, HINT))?;
    if let Some(preset) = cli.command.preset() {
        layers.set("preset", preset.as_str()).map_err(|error| misuse(error, HINT))?;
    }
    for flag in &cli.settings {
        let Some((name, value)) = flag.split_once('=') else {
            return Err(misuse(format!("--set {flag} has no value"), "write --set name=value"));
        };
        layers.set(name, value).map_err(|error| misuse(format!("--set {error}"), HINT))?;
    }
    for (name, value) in cli.command.flags() {
        layers.set(name, value).map_err(|error| misuse(error, HINT))?;
    }
    if let Some(summarizer) = &cli.summarizer {
        layers
            .set("summarizer", summarizer)
            .map_err(|error| misuse(format!("--summarizer {error}"), HINT))?;
    }
    layers.finish().map_err(|error| misuse(error, HINT))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    // Whoever gives an argument by its variable must not be told that it is no setting.
    #[test]
    fn variables_of_arguments_are_let_be() {
        fn variables(command: &clap::Command, found: &mut Vec<std::ffi::OsString>) {
            found.extend(command.get_arguments().filter_map(|argument| argument.get_env()).map(Into::into));
            command.get_subcommands().for_each(|command| variables(command, found));
        }
        let mut found = Vec::new();
        variables(&crate::args::Cli::command(), &mut found);
        assert!(found.iter().any(|name| name == "EPITOME_TENANT"), "{found:?}");
        for name in found {
            let read = Layers::default().environment([(name.clone(), "x".into())]);
            assert!(read.is_ok(), "{name:?}: {read:?}");
        }
    }
}
