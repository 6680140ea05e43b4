//! Settings in layers: defaults, then `epitome.toml`, then `EPITOME_*` variables, then `--set`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use epitome_core::compact::Preset;
use epitome_core::models::{ModelPatch, ModelTable};
use epitome_core::settings::{self, Settings as Values};

use crate::fail::{failure, misuse};

const FILE: &str = "epitome.toml";
const PREFIX: &str = "EPITOME_";

/// Variables of the command itself, of the proxy and of the test command, which are no settings.
const NOT_SETTINGS: [&str; 9] = [
    "CONFIG",
    "LOG",
    "LISTEN",
    "ANTHROPIC_UPSTREAM",
    "OPENAI_UPSTREAM",
    "DB",
    "TRANSCRIPTS",
    "FUZZ_SECONDS",
    "WRITE",
];

const HINT: &str = "docs/settings.md lists every setting";

/// The settings in force and the models they know.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The values.
    pub(crate) values: Values,
    /// The model table, extended by the file's `[models.NAME]` tables.
    pub(crate) models: ModelTable,
}

impl Settings {
    /// Reads all layers; a preset stands in for the defaults.
    pub(crate) fn layered(
        config: Option<&Path>,
        flags: &[String],
        preset: Option<Preset>,
    ) -> anyhow::Result<Self> {
        let mut settings = Self {
            values: preset.map_or_else(Values::default, Preset::settings),
            models: ModelTable::default(),
        };
        settings.read_file(config)?;
        settings.read_environment(env::vars_os())?;
        for flag in flags {
            let Some((name, value)) = flag.split_once('=') else {
                return Err(misuse(format!("--set {flag} has no value"), "write --set name=value"));
            };
            let set = settings::apply(&mut settings.values, name.trim(), value.trim());
            set.map_err(|error| misuse(format!("--set {flag}: {error}"), HINT))?;
        }
        let valid = settings.values.validate();
        valid.map_err(|error| misuse(format!("the settings do not fit together: {error}"), HINT))?;
        Ok(settings)
    }

    fn read_file(&mut self, config: Option<&Path>) -> anyhow::Result<()> {
        let path = config.unwrap_or(Path::new(FILE));
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if config.is_none() && error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(failure(format!("cannot read {}: {error}", path.display()), "check --config"));
            }
        };
        let bad = |what: String, hint: String| failure(format!("{}: {what}", path.display()), hint);
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| bad(error.to_string().trim().to_owned(), String::new()))?;
        for (name, value) in table {
            if name == "models" {
                let models: BTreeMap<String, ModelPatch> =
                    value.try_into().map_err(|error: toml::de::Error| {
                        bad(error.to_string().trim().to_owned(), HINT.to_owned())
                    })?;
                self.models.extend(models);
                continue;
            }
            let value = match value {
                toml::Value::String(text) => text,
                toml::Value::Array(items) => items
                    .iter()
                    .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                    .collect::<Vec<_>>()
                    .join(","),
                other => other.to_string(),
            };
            settings::apply(&mut self.values, &name, &value)
                .map_err(|error| bad(error.to_string(), HINT.to_owned()))?;
        }
        Ok(())
    }

    fn read_environment(
        &mut self,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> anyhow::Result<()> {
        for (name, value) in variables {
            // Names and values may be any bytes; what is not ours is not looked at.
            let name = name.to_string_lossy();
            let Some(setting) = name.strip_prefix(PREFIX) else { continue };
            if NOT_SETTINGS.contains(&setting) {
                continue;
            }
            let value = value.to_string_lossy();
            let set = settings::apply(&mut self.values, &setting.to_lowercase(), &value);
            set.map_err(|error| misuse(format!("{name}={value}: {error}"), HINT))?;
        }
        Ok(())
    }
}
