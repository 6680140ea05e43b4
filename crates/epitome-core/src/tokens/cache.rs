//! What is known of contents that come again, by content hash, in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::hash::ContentHash;

/// Values by content hash; keeps those that were asked for lately.
///
/// Entries live in two generations. When the young one is full it becomes the old one and the old one
/// is dropped; an old entry that is asked for is young again. So at least `capacity / 2` and at most
/// `capacity` of the entries last used are kept, and no list has to be maintained.
#[derive(Debug)]
pub struct ContentCache<V> {
    young: Generation<V>,
    old: Generation<V>,
    half: usize,
}

type Generation<V> = HashMap<ContentHash, V, BuildHasherDefault<HashPrefix>>;

impl<V: Clone> ContentCache<V> {
    /// A cache of at most `capacity` entries.
    pub fn new(capacity: usize) -> Self {
        Self { young: Generation::default(), old: Generation::default(), half: (capacity / 2).max(1) }
    }

    /// The value of this content, if it is known.
    pub fn get(&mut self, hash: &ContentHash) -> Option<V> {
        if let Some(value) = self.young.get(hash) {
            return Some(value.clone());
        }
        let value = self.old.remove(hash)?;
        self.insert(*hash, value.clone());
        Some(value)
    }

    /// Remembers the value of this content.
    pub fn insert(&mut self, hash: ContentHash, value: V) {
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&hash);
        self.young.insert(hash, value);
    }

    /// Entries held.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A content hash is already a hash: its first bytes serve as they are.
#[derive(Debug, Default)]
struct HashPrefix(u64);

impl Hasher for HashPrefix {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(prefix) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*prefix);
        }
    }

    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u32) -> ContentHash {
        ContentHash::of(&n.to_le_bytes())
    }

    #[test]
    fn bounded_and_keeps_what_is_used() {
        let mut cache = ContentCache::new(100);
        for n in 0..10_000 {
            cache.insert(hash(n), n);
            assert_eq!(cache.get(&hash(0)), Some(0), "an entry in use stays");
            assert!(cache.len() <= 101);
        }
        assert_eq!(cache.get(&hash(9_990)), Some(9_990));
        assert_eq!(cache.get(&hash(5)), None);
    }
}
