//! Settings in layers: defaults or a preset, then a file, then the environment, then flags. Each value knows where it is from.

mod origin;
mod serving;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use epitome_core::compact::Preset;
use epitome_core::models::{ModelPatch, ModelTable};
use epitome_core::secrets::masked;
use epitome_core::settings::{self, SETTINGS, Settings, SettingsError};

pub use self::origin::{LayerError, Origin};
pub use self::serving::{ModeRoute, ModelUpstream, SERVING, Serving, ServingSetting};
use crate::scribe::Keys;

/// The file that is read where nobody names one.
pub const FILE: &str = "epitome.toml";

/// What the names of all variables begin with.
const PREFIX: &str = "EPITOME_";

/// The name under which a layer takes a preset.
const PRESET: &str = "preset";

/// Variables of the command itself, of the test command and of the benchmarks, which are no settings.
const NOT_SETTINGS: [&str; 11] = [
    "CONFIG",
    "LOG",
    "DB",
    "TENANT",
    "TRANSCRIPTS",
    "FUZZ_SECONDS",
    "WRITE",
    "SESSIONS",
    "TURNS",
    "STORM",
    "STORMS",
];

/// The sections that ADR 033 has its settings in, so that they can be taken over as they are.
const SECTIONS: [&str; 5] = ["conversation", "history", "compression", "tiers", "topicBoundary"];

/// What these sections call the model that writes summaries.
const MODEL: &str = "model";

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
    keys: Keys,
    serving: Serving,
    origins: BTreeMap<&'static str, Origin>,
    preset: Option<(Preset, Origin)>,
    // What was said so far: it stands above a preset, also above one that is named later.
    said: Vec<(&'static str, String)>,
}

impl Layers {
    /// Begins with what a preset says, in place of the defaults; a layer that names another preset wins.
    pub fn preset(preset: Preset) -> Self {
        let mut layers = Self { preset: Some((preset, Origin::Flag)), ..Self::default() };
        layers.begin_again();
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
        // The line itself is not shown: it may be that of a key.
        let malformed = |error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
            let what = format!("{}{}", line.unwrap_or_default(), error.message().trim());
            LayerError::Malformed { path: path.to_owned(), what }
        };
        let mut table: toml::Table = text.parse().map_err(malformed)?;
        if let Some(keys) = table.remove("keys") {
            self.take_keys(&keys).map_err(|what| LayerError::Malformed { path: path.to_owned(), what })?;
        }
        if let Some(models) = table.remove("models") {
            let models: BTreeMap<String, ModelPatch> = models.try_into().map_err(malformed)?;
            self.models.extend(models);
        }
        if let Some(upstreams) = table.remove("upstream") {
            self.serving.extend(upstreams.try_into().map_err(malformed)?);
        }
        if let Some(routes) = table.remove("route") {
            self.serving.route(routes.try_into().map_err(malformed)?);
        }
        self.table(table, path)
    }

    fn take_keys(&mut self, keys: &toml::Value) -> Result<(), String> {
        let hint = "write anthropic = \"…\" or openai = \"…\" under [keys]";
        for (provider, key) in keys.as_table().ok_or(hint)? {
            let key = key.as_str().ok_or_else(|| format!("the key of {provider} is no text; {hint}"))?;
            if !self.keys.set(provider, key) {
                return Err(format!("no provider {provider} is known; {hint}"));
            }
        }
        Ok(())
    }

    fn table(&mut self, table: toml::Table, path: &Path) -> Result<(), LayerError> {
        for (name, value) in table {
            let value = match value {
                toml::Value::Table(mut section) if SECTIONS.contains(&name.as_str()) => {
                    // Elsewhere, `model` would be anybody's.
                    if let Some(model) = section.remove(MODEL) {
                        section.insert("summarizer".to_owned(), model);
                    }
                    self.table(section, path)?;
                    continue;
                }
                toml::Value::Table(_) => {
                    let what = format!(
                        "there is no section [{name}]; settings stand at the top of the file, models in [models.NAME]"
                    );
                    return Err(LayerError::Malformed { path: path.to_owned(), what });
                }
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
            let place = || named(setting, &name, &value);
            self.apply(&setting.to_lowercase(), &value, Origin::Environment(name.to_string()), place)?;
        }
        Ok(())
    }

    /// Sets one setting, above all layers so far.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), LayerError> {
        self.apply(name.trim(), value.trim(), Origin::Flag, || named(name.trim(), name, value))
    }

    fn apply(
        &mut self,
        name: &str,
        value: &str,
        origin: Origin,
        place: impl Fn() -> String,
    ) -> Result<(), LayerError> {
        let wrong = |error| LayerError::Setting { place: place(), error };
        if name.eq_ignore_ascii_case(PRESET) {
            self.preset = preset_of(value).map_err(wrong)?.map(|preset| (preset, origin));
            self.begin_again();
            return Ok(());
        }
        if self.serving.set(name, value, &origin) {
            return Ok(());
        }
        let found = settings::find(name).map_err(wrong)?;
        settings::apply(&mut self.values, name, value).map_err(wrong)?;
        self.said.push((found.name, value.to_owned()));
        self.origins.insert(found.name, origin);
        Ok(())
    }

    // What was said is laid over the preset, or over the defaults.
    fn begin_again(&mut self) {
        self.origins.retain(|_, origin| !matches!(origin, Origin::Preset(_)));
        self.values = Settings::default();
        if let Some((preset, _)) = &self.preset {
            self.values = preset.settings();
            for setting in SETTINGS {
                if setting.value(&self.values) != setting.default_value() {
                    self.origins.entry(setting.name).or_insert(Origin::Preset(preset.as_str()));
                }
            }
        }
        for (name, value) in &self.said {
            // It was taken once, and whether it is taken does not depend on the rest.
            let _ = settings::apply(&mut self.values, name, value);
        }
    }

    /// Judges all settings together.
    pub fn finish(self) -> Result<Configured, LayerError> {
        self.values.validate().map_err(LayerError::Together)?;
        let Self { values, models, keys, serving, origins, preset, said: _ } = self;
        Ok(Configured { values, models, keys, serving, origins, preset })
    }
}

// A value is shown beside the name of a setting only: behind any other name, it may be a key.
fn named(setting: &str, name: &str, value: &str) -> String {
    let is_known = settings::find(&setting.to_lowercase()).is_ok() || setting.eq_ignore_ascii_case(PRESET);
    if is_known { format!("{name}={}", masked(value)) } else { name.to_owned() }
}

fn preset_of(value: &str) -> Result<Option<Preset>, SettingsError> {
    match Preset::named(value) {
        None if ["none", "off"].contains(&value) => Ok(None),
        None => Err(SettingsError::BadValue {
            name: PRESET,
            value: value.to_owned(),
            expected: "nous, nous-draft, micro-agent, nexus, friday or none",
        }),
        preset => Ok(preset),
    }
}

/// The settings in force, the models they know, and where each value is from.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The values.
    pub values: Settings,
    /// The model table, extended by the files' `[models.NAME]` tables.
    pub models: ModelTable,
    /// Keys of providers, from the files' `[keys]` tables.
    pub keys: Keys,
    /// What the proxy is told.
    pub serving: Serving,
    origins: BTreeMap<&'static str, Origin>,
    preset: Option<(Preset, Origin)>,
}

impl Configured {
    /// Reads all layers as the command does: `epitome.toml` of this folder, then the environment.
    pub fn read() -> Result<Self, LayerError> {
        let mut layers = Layers::default();
        layers.file_here()?;
        layers.environment(std::env::vars_os())?;
        layers.finish()
    }

    /// The preset in place of the defaults, and who named it.
    pub fn preset(&self) -> Option<(Preset, Origin)> {
        self.preset.clone()
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
    fn a_preset_stands_below_every_layer_whichever_names_it() {
        let mut layers = Layers::default();
        layers.toml("recency_window = 4\npreset = \"friday\"\n", Path::new("a.toml")).unwrap();
        layers.set("keep_recent_tokens", "7k").unwrap();
        layers.environment([("EPITOME_PRESET".into(), "nexus".into())]).unwrap();
        let configured = layers.clone().finish().unwrap();
        let (preset, origin) = configured.preset().unwrap();
        assert_eq!((preset, origin), (Preset::Nexus, Origin::Environment("EPITOME_PRESET".to_owned())));
        let compact = &configured.values.compact;
        assert_eq!((compact.recency_window, compact.keep_recent_tokens.0), (4, 7_000), "what is set stays");
        assert_eq!(compact.placement, Preset::Nexus.settings().compact.placement);
        assert_eq!(configured.values.topics, Preset::Nexus.settings().topics, "nothing of the other is left");
        assert_eq!(configured.origin("placement"), Origin::Preset("nexus"));
        assert_eq!(configured.origin("recency_window"), Origin::File("a.toml".into()));

        layers.set("preset", "none").unwrap();
        let configured = layers.finish().unwrap();
        assert_eq!((configured.preset(), configured.origin("placement")), (None, Origin::Default));
        let error = Layers::default().set("preset", "nexos").unwrap_err().to_string();
        assert!(error.contains("micro-agent, nexus"), "{error}");
    }

    #[test]
    fn the_sections_of_adr_033_are_taken_and_others_are_not() {
        let mut layers = Layers::default();
        let text = "[conversation.history.compression]\nenabled = false\nbulkMergeSize = 5\n
            [conversation.history.compression.tiers]\ncurrentTopic = 0.4\nhistoricalTopics = 0.4\n
            [conversation.history.compression.topicBoundary]\nsilenceMinutes = 9\n";
        layers.toml(text, Path::new("a.toml")).unwrap();
        let values = layers.clone().finish().unwrap().values;
        assert!(!values.compact.compaction_enabled);
        assert_eq!((values.topics.bulk_merge_size, values.topics.silence_minutes), (5, 9));
        let error = layers.toml("[compaction]\nstrategy = \"auto\"\n", Path::new("a.toml")).unwrap_err();
        assert!(error.to_string().contains("no section [compaction]"), "{error}");
    }

    #[test]
    fn a_value_behind_an_unknown_name_is_not_shown() {
        let key = "sk-nobody-must-see-this";
        let variable = [(OsString::from("EPITOME_ANTHROPIC_API_KEY"), OsString::from(key))];
        let error = Layers::default().environment(variable).unwrap_err().to_string();
        assert!(error.contains("EPITOME_ANTHROPIC_API_KEY") && !error.contains(key), "{error}");
        let error = Layers::default().set("anthropic_key", key).unwrap_err().to_string();
        assert!(!error.contains(key), "{error}");
        let unended = format!("[keys]\nanthropic = \"{key}");
        let error = Layers::default().toml(&unended, Path::new("a.toml")).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains(key), "{error}");
    }

    #[test]
    fn keys_and_the_model_of_adr_033_are_taken() {
        let mut layers = Layers::default();
        let text =
            "[keys]\nopenai = \"hush\"\n[conversation.history.compression]\nmodel = \"openai:gpt-4o-mini\"\n";
        layers.toml(text, Path::new("a.toml")).unwrap();
        let configured = layers.finish().unwrap();
        assert_eq!(configured.values.summary.summarizer.0, ["openai:gpt-4o-mini"]);
        assert!(!format!("{configured:?}").contains("hush"));
        assert!(Layers::default().toml("[keys]\nacme = \"x\"\n", Path::new("a.toml")).is_err());
        assert!(Layers::default().set("model", "x").is_err(), "elsewhere it would be anybody's");
    }

    #[test]
    fn the_proxy_has_settings_in_every_layer() {
        let mut layers = Layers::default();
        let text = "openai_upstream = \"http://a\"\nlisten = \"[::1]:1\"\n
            [[upstream]]\nmodel = \"qwen*\"\nurl = \"http://b\"\n[[upstream]]\nmodel = \"x\"\nurl = \"http://c\"\ndialect = \"chat\"\n";
        layers.toml(text, Path::new("a.toml")).unwrap();
        layers.environment([("EPITOME_LISTEN".into(), "[::1]:2".into())]).unwrap();
        layers.set("anthropic_upstream", "http://d").unwrap();
        let serving = layers.finish().unwrap().serving;
        let values = SERVING.map(|setting| serving.get(setting));
        let environment = Origin::Environment("EPITOME_LISTEN".to_owned());
        let file = Origin::File("a.toml".into());
        let (mode, tenants) = (("compact", Origin::Default), ("auto", Origin::Default));
        let said = [("[::1]:2", environment), ("http://d", Origin::Flag), ("http://a", file), mode, tenants];
        assert_eq!(values, said);
        let upstreams: Vec<_> =
            serving.upstreams().iter().map(|one| (one.model.as_str(), one.dialect.as_deref())).collect();
        assert_eq!(upstreams, [("qwen*", None), ("x", Some("chat"))]);
        let error =
            Layers::default().toml("[[upstream]]\nmodel = \"x\"\nurls = \"y\"\n", Path::new("a.toml"));
        assert!(error.unwrap_err().to_string().contains("urls"));
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
