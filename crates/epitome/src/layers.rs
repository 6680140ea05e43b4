//! Settings in layers: defaults or a preset, then a file, then the environment, then flags. Each value knows where it is from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use epitome_core::compact::Preset;
use epitome_core::models::{ModelPatch, ModelTable};
use epitome_core::settings::{self, SETTINGS, Settings, SettingsError};
use thiserror::Error;

/// The file that is read where nobody names one.
pub const FILE: &str = "epitome.toml";

/// What the names of all variables begin with.
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

/// Where a value is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said otherwise.
    #[default]
    Default,
    /// A preset.
    Preset(&'static str),
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
    /// The command line or the program itself.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => out.write_str("default"),
            Origin::Preset(name) => write!(out, "preset {name}"),
            Origin::File(path) => write!(out, "{}", path.display()),
            Origin::Environment(name) => out.write_str(name),
            Origin::Flag => out.write_str("flag"),
        }
    }
}

/// A layer that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LayerError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is no TOML, or a table in it is wrong.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A layer names a setting that does not exist, or gives it a value it cannot have.
    #[error("{place}: {error}")]
    Setting {
        /// Where it stands.
        place: String,
        /// What is wrong.
        error: SettingsError,
    },
    /// All values are possible, but not together.
    #[error("the settings do not fit together: {0}")]
    Together(SettingsError),
}

/// Settings in the making: layers are added in their order, later ones win.
///
/// ```
/// use epitome::Layers;
///
/// let mut layers = Layers::default();
/// layers.set("keep_recent_tokens", "30000")?;
/// let settings = layers.finish()?;
/// assert_eq!(settings.origin("keep_recent_tokens").to_string(), "flag");
/// assert_eq!(settings.origin("tool_hard_clear_after").to_string(), "default");
/// # Ok::<(), epitome::LayerError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Layers {
    values: Settings,
    models: ModelTable,
    origins: BTreeMap<&'static str, Origin>,
}

impl Layers {
    /// Begins with what a preset says, in place of the defaults.
    pub fn preset(preset: Preset) -> Self {
        let mut layers = Self { values: preset.settings(), ..Self::default() };
        for setting in SETTINGS {
            if setting.value(&layers.values) != setting.default_value() {
                layers.origins.insert(setting.name, Origin::Preset(preset.as_str()));
            }
        }
        layers
    }

    /// Adds a file that must exist.
    pub fn file(&mut self, path: &Path) -> Result<(), LayerError> {
        let text = fs::read_to_string(path)
            .map_err(|error| LayerError::Unreadable { path: path.to_owned(), error })?;
        self.toml(&text, path)
    }

    /// Adds `epitome.toml` of this folder, if it is there.
    pub fn file_here(&mut self) -> Result<(), LayerError> {
        match fs::exists(FILE) {
            Ok(false) => Ok(()),
            _ => self.file(Path::new(FILE)),
        }
    }

    fn toml(&mut self, text: &str, path: &Path) -> Result<(), LayerError> {
        let malformed = |error: toml::de::Error| LayerError::Malformed {
            path: path.to_owned(),
            what: error.to_string().trim().to_owned(),
        };
        let table: toml::Table = text.parse().map_err(malformed)?;
        for (name, value) in table {
            if name == "models" {
                let models: BTreeMap<String, ModelPatch> = value.try_into().map_err(malformed)?;
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
            let place = || path.display().to_string();
            self.apply(&name, &value, Origin::File(path.to_owned()), place)?;
        }
        Ok(())
    }

    /// Adds the `EPITOME_*` variables among these; others are not looked at.
    pub fn environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), LayerError> {
        for (name, value) in variables {
            // Names and values may be any bytes; what is not ours is not looked at.
            let name = name.to_string_lossy();
            let Some(setting) = name.strip_prefix(PREFIX) else { continue };
            if NOT_SETTINGS.contains(&setting) {
                continue;
            }
            let value = value.to_string_lossy();
            let place = || format!("{name}={value}");
            self.apply(&setting.to_lowercase(), &value, Origin::Environment(name.to_string()), place)?;
        }
        Ok(())
    }

    /// Sets one setting, above all layers so far.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), LayerError> {
        self.apply(name.trim(), value.trim(), Origin::Flag, || format!("{name}={value}"))
    }

    fn apply(
        &mut self,
        name: &str,
        value: &str,
        origin: Origin,
        place: impl Fn() -> String,
    ) -> Result<(), LayerError> {
        let wrong = |error| LayerError::Setting { place: place(), error };
        let found = settings::find(name).map_err(wrong)?;
        settings::apply(&mut self.values, name, value).map_err(wrong)?;
        self.origins.insert(found.name, origin);
        Ok(())
    }

    /// Judges all settings together.
    pub fn finish(self) -> Result<Configured, LayerError> {
        self.values.validate().map_err(LayerError::Together)?;
        let Self { values, models, origins } = self;
        Ok(Configured { values, models, origins })
    }
}

/// The settings in force, the models they know, and where each value is from.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The values.
    pub values: Settings,
    /// The model table, extended by the files' `[models.NAME]` tables.
    pub models: ModelTable,
    origins: BTreeMap<&'static str, Origin>,
}

impl Configured {
    /// Reads all layers as the command does: `epitome.toml` of this folder, then the environment.
    pub fn read() -> Result<Self, LayerError> {
        let mut layers = Layers::default();
        layers.file_here()?;
        layers.environment(std::env::vars_os())?;
        layers.finish()
    }

    /// Where the value of a setting is from.
    pub fn origin(&self, name: &str) -> Origin {
        self.origins.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_layers_win_and_every_value_knows_its_layer() {
        let mut layers = Layers::preset(Preset::Nous);
        layers.toml("keep_recent_tokens = 1000\nrecency_window = 4\n", Path::new("a.toml")).unwrap();
        let variables = [("EPITOME_RECENCY_WINDOW", "8"), ("EPITOME_DB", "x"), ("OTHER", "y")];
        layers.environment(variables.map(|(name, value)| (name.into(), value.into()))).unwrap();
        layers.set("recency_window", "9").unwrap();
        let configured = layers.finish().unwrap();
        assert_eq!(configured.values.compact.recency_window, 9);
        assert_eq!(configured.origin("recency_window"), Origin::Flag);
        assert_eq!(configured.origin("keep_recent_tokens"), Origin::File("a.toml".into()));
        assert_eq!(configured.origin("tool_soft_trim_chars"), Origin::Default);
        assert!(matches!(configured.origin("compaction_threshold"), Origin::Preset(_)));
    }

    #[test]
    fn what_is_misspelt_is_told_with_its_place_and_what_was_meant() {
        let mut layers = Layers::default();
        let error = layers.toml("keep_recent_token = 1\n", Path::new("b.toml")).unwrap_err().to_string();
        assert!(error.contains("b.toml") && error.contains("did you mean keep_recent_tokens?"), "{error}");
        let variable = [(OsString::from("EPITOME_STRATEGI"), OsString::from("auto"))];
        let error = layers.environment(variable).unwrap_err().to_string();
        assert!(error.contains("EPITOME_STRATEGI") && error.contains("strategy"), "{error}");
        let error = layers.set("strategy", "best").unwrap_err().to_string();
        assert!(error.contains("best"), "{error}");
    }
}
