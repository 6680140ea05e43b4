//! A hash for maps that live as long as one summary: quick, and nobody chooses the keys to harm it for long.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub(super) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;
pub(super) type QuickSet<K> = HashSet<K, BuildHasherDefault<QuickHasher>>;

/// Multiplies and rotates, eight bytes at a time.
#[derive(Clone, Copy, Default)]
pub(super) struct QuickHasher(u64);

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl QuickHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        // The last eight bytes may be some that were read already, which does no harm.
        match (bytes.last_chunk::<8>(), rest.last_chunk::<4>(), rest.first_chunk::<4>()) {
            _ if rest.is_empty() => {}
            (Some(last), ..) => self.add(u64::from_le_bytes(*last)),
            (None, Some(last), Some(first)) => {
                self.add(u64::from(u32::from_le_bytes(*last)) << 32 | u64::from(u32::from_le_bytes(*first)));
            }
            _ => self.add(rest.iter().fold(rest.len() as u64, |sum, byte| sum << 8 | u64::from(*byte))),
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }
}
