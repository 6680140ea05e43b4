//! Where values are from, and what is said of a layer that cannot be used.

use std::fmt;
use std::path::PathBuf;

use epitome_core::settings::SettingsError;
use thiserror::Error;

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
