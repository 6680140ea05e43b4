//! Settings of the command: the layers of the library, with hints for the person at the terminal.

use std::env;
use std::path::Path;

use epitome::{LayerError, Layers};
use epitome_core::compact::Preset;

use crate::fail::{failure, misuse};

/// The settings in force and the models they know.
pub(crate) type Settings = epitome::Configured;

const HINT: &str = "epitome config shows what is in force, docs/settings.md lists every setting";

/// Reads all layers; a preset stands in for the defaults.
pub(crate) fn layered(
    config: Option<&Path>,
    flags: &[String],
    preset: Option<Preset>,
) -> anyhow::Result<Settings> {
    let mut layers = preset.map_or_else(Layers::default, Layers::preset);
    match config {
        Some(path) => layers.file(path),
        None => layers.file_here(),
    }
    .map_err(|error| match error {
        LayerError::Unreadable { .. } => failure(error, "check --config"),
        error => failure(error, HINT),
    })?;
    layers.environment(env::vars_os()).map_err(|error| misuse(error, HINT))?;
    for flag in flags {
        let Some((name, value)) = flag.split_once('=') else {
            return Err(misuse(format!("--set {flag} has no value"), "write --set name=value"));
        };
        layers.set(name, value).map_err(|error| misuse(format!("--set {error}"), HINT))?;
    }
    layers.finish().map_err(|error| misuse(error, HINT))
}
