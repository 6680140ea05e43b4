//! Values as words: how each kind of value is written and read.

use std::str::FromStr;

use crate::prune::PruneMode;
use crate::units::{Chars, Tokens};

/// A value that a person can write.
pub(super) trait Word: Sized {
    /// What to write, for those who wrote something else.
    const EXPECTED: &'static str;

    fn read(word: &str) -> Option<Self>;
    fn write(&self) -> String;
}

macro_rules! numbers {
    ($($kind:ty: $expected:literal, $make:expr;)*) => {$(
        impl Word for $kind {
            const EXPECTED: &'static str = $expected;

            fn read(word: &str) -> Option<Self> {
                number(word).map($make)
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

numbers! {
    usize: "a whole number", |number| number;
    u64: "a whole number", |number| number;
    Chars: "a number of characters", Chars;
    Tokens: "a number of tokens", Tokens;
}

// People write 20_000 and 20,000 for 20000.
fn number<T: FromStr>(word: &str) -> Option<T> {
    word.replace(['_', ','], "").parse().ok()
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

impl Word for Option<Chars> {
    const EXPECTED: &'static str = "a number of characters, or off";

    fn read(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "off" | "none" | "0" => Some(None),
            _ => Chars::read(word).map(Some),
        }
    }

    fn write(&self) -> String {
        self.as_ref().map_or_else(|| "off".to_owned(), Word::write)
    }
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

impl Word for PruneMode {
    const EXPECTED: &'static str = "steps or every-call";

    fn read(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().replace('_', "-").as_str() {
            "steps" => Some(PruneMode::Steps),
            "every-call" => Some(PruneMode::EveryCall),
            _ => None,
        }
    }

    fn write(&self) -> String {
        match self {
            PruneMode::Steps => "steps".to_owned(),
            PruneMode::EveryCall => "every-call".to_owned(),
        }
    }
}
