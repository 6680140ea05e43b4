//! Content hashes, and the short ids by which a model or a person recalls what was pruned.

use std::fmt;
use std::str::FromStr;

/// BLAKE3 of some content: equal hashes mean equal bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// A short content hash that stands in a marker for the text it replaced.
///
/// It is the first 48 bits of the text's [`ContentHash`], written as twelve hex digits: the same text
/// has the same id in a file and in the ledger, on every machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecallId(u64);

impl RecallId {
    const DIGITS: usize = 12;

    /// The id of `text`.
    pub fn of(text: &str) -> Self {
        let hash = ContentHash::of(text.as_bytes());
        Self(hash.0[..Self::DIGITS / 2].iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
    }

    /// Its 48 bits, for those who store it.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for RecallId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:0digits$x}", self.0, digits = Self::DIGITS)
    }
}

impl fmt::Debug for RecallId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The text is not a recall id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a recall id: {0:?} (twelve hex digits, as the marker shows them)")]
pub struct BadRecallId(String);

impl FromStr for RecallId {
    type Err = BadRecallId;

    fn from_str(text: &str) -> Result<Self, BadRecallId> {
        let well_formed = text.len() == Self::DIGITS
            && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let id = well_formed.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        id.map(Self).ok_or_else(|| BadRecallId(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_id_is_the_head_of_the_content_hash() {
        let id = RecallId::of("hello").to_string();
        assert_eq!(id, ContentHash::of(b"hello").to_string()[..12]);
        assert_eq!(id.parse(), Ok(RecallId::of("hello")));
        assert!(
            "EA8F163DB386".parse::<RecallId>().is_err(),
            "ids are lower case, so that one text has one id"
        );
        assert!("xyz".parse::<RecallId>().is_err());
    }
}
