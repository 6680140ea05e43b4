//! Ids. Those of turns are time-ordered, so that what was written together stands together; those of sessions are not, so that a
//! few digits tell them apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The id with these bits, as another system gave them.
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// Its bits.
            pub const fn as_uuid(&self) -> &Uuid {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(out)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, out)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'d> Deserialize<'d> for $name {
            fn deserialize<D: serde::Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// Whose data it is. No tenant ever sees another's.
    TenantId;
    /// One conversation: a path of turns that grows at its head.
    SessionId;
    /// One step of a conversation: a model call, or a compaction.
    TurnId;
    /// One piece of knowledge.
    FindingId;
}

impl TenantId {
    /// The one tenant of a ledger that a single person uses.
    pub const LOCAL: TenantId = TenantId(Uuid::nil());
}

impl SessionId {
    /// A new id.
    pub fn generate() -> Self {
        let mut bytes = [0; 16];
        blake3::Hasher::new().update(Uuid::now_v7().as_bytes()).finalize_xof().fill(&mut bytes);
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl TurnId {
    /// A new id.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl FindingId {
    /// A new id.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id of what these bytes say: the same whenever they come again.
    pub fn of(said: &[u8]) -> Self {
        let mut bytes = [0; 16];
        blake3::Hasher::new().update(said).finalize_xof().fill(&mut bytes);
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}
