//! Why a compaction starts: the three triggers of the Nexus seed.

use serde::Serialize;

use super::marks::Level;

/// How often a request that the provider refused as too long is compacted harder and sent again.
pub const MOST_OVERFLOWS: u32 = 3;

/// Why a compaction starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The provider refused the request as too long.
    Overflow,
    /// The threshold is exceeded.
    Threshold,
    /// Somebody asked for it.
    Manual,
}

/// When the question comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A request is about to be sent.
    BeforeCall,
    /// A request was refused as too long, for the so-manieth time.
    Refused(u32),
    /// A person or a program asks for a compaction.
    Asked,
    /// It is not due yet, and prepared for when it is.
    Ahead,
    /// It does not fit, and nothing else helped.
    LastResort,
}

impl Trigger {
    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Trigger::Overflow => "overflow",
            Trigger::Threshold => "threshold",
            Trigger::Manual => "manual",
        }
    }

    /// What a compaction is due to, if one is due.
    pub fn on(occasion: Occasion, level: Level) -> Option<Self> {
        match occasion {
            Occasion::Refused(times) if times <= MOST_OVERFLOWS => Some(Trigger::Overflow),
            Occasion::Refused(_) => None,
            Occasion::BeforeCall if level == Level::Hard => Some(Trigger::Threshold),
            Occasion::BeforeCall => None,
            Occasion::Ahead | Occasion::LastResort => Some(Trigger::Threshold),
            Occasion::Asked => Some(Trigger::Manual),
        }
    }
}
