//! Values as words: how each kind of value is written and read.

use std::str::FromStr;

use crate::compact::{Due, Fallback, KeepBy, Placement, StrategyName, SummaryLength};
use crate::cost::Money;
use crate::loss::OnInvention;
use crate::pressure::Bound;
use crate::prune::PruneMode;
use crate::summaries::Writers;
use crate::topics::{Fraction, SubjectDetection};
use crate::units::{Chars, Tokens};

/// A value that a person can write.
pub(super) trait Word: Sized {
    /// What to write, for those who wrote something else.
    const EXPECTED: &'static str;

    fn read(word: &str) -> Option<Self>;
    fn write(&self) -> String;
}

macro_rules! numbers {
    ($($kind:ty: $expected:literal, $read:expr;)*) => {$(
        impl Word for $kind {
            const EXPECTED: &'static str = $expected;

            fn read(word: &str) -> Option<Self> {
                $read(word)
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

numbers! {
    usize: "a whole number", number;
    u64: "a whole number", number;
    Chars: "a number of characters", |word| amount(word).and_then(|amount| usize::try_from(amount).ok()).map(Chars);
    Tokens: "a number of tokens", |word| amount(word).map(Tokens);
}

// People write 20_000 and 20,000 for 20000.
fn number<T: FromStr>(word: &str) -> Option<T> {
    word.replace(['_', ','], "").parse().ok()
}

// And 20k for 20,000, as they do for thresholds.
fn amount(word: &str) -> Option<u64> {
    let factor = match word.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => 1e3,
        b'm' => 1e6,
        _ => return number(word),
    };
    let amount = number::<f64>(word.get(..word.len() - 1)?.trim_end())? * factor;
    (0.0..1e15).contains(&amount).then(|| amount.round() as u64)
}

impl Word for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Some(true),
            "false" | "off" | "no" | "0" => Some(false),
            _ => None,
        }
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

macro_rules! optional {
    ($($kind:ty: $expected:literal;)*) => {$(
        impl Word for Option<$kind> {
            const EXPECTED: &'static str = $expected;

            fn read(word: &str) -> Option<Self> {
                match word.to_ascii_lowercase().as_str() {
                    "off" | "none" | "0" => Some(None),
                    _ => <$kind>::read(word).map(Some),
                }
            }

            fn write(&self) -> String {
                self.as_ref().map_or_else(|| "off".to_owned(), Word::write)
            }
        }
    )*};
}

optional! {
    Chars: "a number of characters, or off";
    Tokens: "a number of tokens, or off";
}

// Line breaks are written as \n, so that a text is one line everywhere.
impl Word for String {
    const EXPECTED: &'static str = "a text";

    fn read(word: &str) -> Option<Self> {
        Some(word.replace("\\n", "\n"))
    }

    fn write(&self) -> String {
        self.replace('\n', "\\n")
    }
}

macro_rules! parsed {
    ($($kind:ty: $expected:literal;)*) => {$(
        impl Word for $kind {
            const EXPECTED: &'static str = $expected;

            fn read(word: &str) -> Option<Self> {
                word.parse().ok()
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

parsed! {
    Bound: "a share such as 75%, or a number of tokens";
    Fraction: "a share such as 0.5 or 50%";
}

impl Word for Vec<String> {
    const EXPECTED: &'static str = "names of tools, separated by commas";

    fn read(word: &str) -> Option<Self> {
        let names = word.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some(names.map(str::to_owned).collect())
    }

    fn write(&self) -> String {
        self.join(",")
    }
}

impl Word for Writers {
    const EXPECTED: &'static str = "offline, or models separated by commas";

    fn read(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "offline" | "off" | "none" | "null" | "" => Some(Self::default()),
            _ => Vec::read(word).map(Self),
        }
    }

    fn write(&self) -> String {
        if self.is_offline() { "offline".to_owned() } else { self.0.write() }
    }
}

impl Word for Option<Money> {
    const EXPECTED: &'static str = "an amount of US dollars such as 0.05, or off";

    fn read(word: &str) -> Option<Self> {
        if matches!(word.to_ascii_lowercase().as_str(), "off" | "none") {
            return Some(None);
        }
        let dollars: f64 = word.trim_start_matches('$').parse().ok()?;
        // More than that, nobody means.
        let is_amount = dollars > 0.0 && dollars <= 1e6;
        is_amount.then(|| Some(Money::micros((dollars * 1e6).round() as i64)))
    }

    fn write(&self) -> String {
        self.map_or_else(|| "off".to_owned(), |amount| (amount.as_micros() / 1e6).to_string())
    }
}

macro_rules! choices {
    ($($kind:ty: $expected:literal, [$($choice:path = $name:literal $(| $alias:literal)*),*];)*) => {$(
        impl Word for $kind {
            const EXPECTED: &'static str = $expected;

            fn read(word: &str) -> Option<Self> {
                match word.to_ascii_lowercase().replace('_', "-").as_str() {
                    $($name $(| $alias)* => Some($choice),)*
                    _ => None,
                }
            }

            fn write(&self) -> String {
                match self {
                    $($choice => $name.to_owned(),)*
                }
            }
        }
    )*};
}

choices! {
    PruneMode: "steps or every-call", [PruneMode::Steps = "steps", PruneMode::EveryCall = "every-call"];
    StrategyName: "none, prune, rolling, checkpoint, narrative, tiered or auto", [
        StrategyName::None = "none",
        StrategyName::Prune = "prune",
        StrategyName::Rolling = "rolling",
        StrategyName::Checkpoint = "checkpoint",
        StrategyName::Narrative = "narrative" | "summarize",
        StrategyName::Tiered = "tiered",
        StrategyName::Auto = "auto"
    ];
    Fallback: "seed or escalate", [Fallback::Seed = "seed", Fallback::Escalate = "escalate"];
    SummaryLength: "fixed or growing", [SummaryLength::Fixed = "fixed", SummaryLength::Growing = "growing"];
    KeepBy: "messages or turns", [KeepBy::Messages = "messages", KeepBy::Turns = "turns"];
    Due: "over-budget or over-share", [Due::OverBudget = "over-budget", Due::OverShare = "over-share"];
    SubjectDetection: "off or cohesion", [
        SubjectDetection::Off = "off",
        SubjectDetection::Cohesion = "cohesion"
    ];
    OnInvention: "flag or strike", [OnInvention::Flag = "flag", OnInvention::Strike = "strike"];
    Placement: "pair, first-user or system", [
        Placement::Pair = "pair",
        Placement::FirstUser = "first-user",
        Placement::System = "system"
    ];
}
