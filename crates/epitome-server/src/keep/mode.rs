//! What may be done to which calls.

use std::fmt;
use std::str::FromStr;

use crate::keeper::Call;

/// What is done to a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It passes; nothing is recorded.
    Off,
    /// It is recorded and passes as it is.
    Observe,
    /// Tool results are pruned; nothing is summarised.
    Prune,
    /// Everything is done to keep it inside the window.
    #[default]
    Compact,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 4] = [Mode::Off, Mode::Observe, Mode::Prune, Mode::Compact];
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Mode::Off => "off",
            Mode::Observe => "observe",
            Mode::Prune => "prune",
            Mode::Compact => "compact",
        })
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Mode::ALL.into_iter().find(|mode| mode.to_string() == text);
        found.ok_or_else(|| {
            format!("no mode {text:?}: off, observe, prune and compact are those that there are")
        })
    }
}

/// Which mode a call has: that of the first rule that fits it.
#[derive(Clone, Debug, Default)]
pub struct Modes {
    /// Where no rule fits.
    pub usual: Mode,
    /// Rules, in their order.
    pub rules: Vec<Rule>,
}

/// A mode for some calls: those that fit everything it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Whose path begins like this.
    pub path: Option<String>,
    /// Whose credential ends like this, as providers show keys.
    pub key: Option<String>,
    /// The mode.
    pub mode: Mode,
}

impl Modes {
    /// One mode for all.
    pub fn all(usual: Mode) -> Self {
        Self { usual, rules: Vec::new() }
    }

    pub(super) fn of(&self, call: &Call) -> Mode {
        let fits = |rule: &&Rule| {
            let path = rule.path.as_deref().is_none_or(|path| call.path.starts_with(path));
            let key = rule.key.as_deref().is_none_or(|key| {
                super::identity::credential(&call.headers).is_some_and(|credential| credential.ends_with(key))
            });
            path && key
        };
        self.rules.iter().find(fits).map_or(self.usual, |rule| rule.mode)
    }
}
