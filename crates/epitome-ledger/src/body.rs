//! Bodies: how the bytes of messages lie in the database.
//!
//! They are stored as they came, so that nobody waits for a compressor. Later, bodies that were recorded one after the
//! other are compressed together: neighbours resemble each other far more than any of them resembles itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use epitome_core::ContentHash;

use crate::error::{LedgerError, Result};

/// How hard to compress: packing happens when nobody waits.
const LEVEL: i32 = 12;

/// Bytes of bodies in a pack: more would compress a little better, and cost more to read one body of, as a search does.
pub(crate) const PACK_BYTES: usize = 64 * 1024;

/// Packs that are kept unpacked, because what is read together was recorded together.
const KEPT: usize = 128;

/// The first sixteen bytes of a body's BLAKE3 hash, by which it is stored once.
pub(crate) fn hash(bytes: &[u8]) -> [u8; 16] {
    short(&ContentHash::of(bytes))
}

/// The bytes of a whole hash by which a body is stored.
pub(crate) fn short(whole: &ContentHash) -> [u8; 16] {
    let mut short = [0; 16];
    short.iter_mut().zip(whole.as_bytes()).for_each(|(short, byte)| *short = *byte);
    short
}

/// Compresses bodies that stand one behind the other.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, LEVEL)
        .map_err(|error| LedgerError::BadRequest(format!("bodies cannot be packed: {error}")))
}

/// The bodies of a pack, one behind the other.
pub(crate) fn unpack(bytes: &[u8], size: u64) -> Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let unpacked = zstd::bulk::decompress(bytes, size);
    unpacked.map_err(|error| LedgerError::damaged(format!("a pack of bodies does not unpack: {error}")))
}

/// The packs that were read last.
#[derive(Default)]
pub(crate) struct Packs(Mutex<VecDeque<(i64, Arc<Vec<u8>>)>>);

impl Packs {
    pub(crate) fn get(&self, key: i64) -> Option<Arc<Vec<u8>>> {
        let packs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        packs.iter().find(|(known, _)| *known == key).map(|(_, pack)| Arc::clone(pack))
    }

    pub(crate) fn put(&self, key: i64, pack: &Arc<Vec<u8>>) {
        let mut packs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        packs.truncate(KEPT - 1);
        packs.push_front((key, Arc::clone(pack)));
    }

    /// Forgets all, because some are no more.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
