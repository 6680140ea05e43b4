//! Bodies: how the bytes of a message lie in the database.
//!
//! They are stored as they came, so that nobody waits for a compressor, and packed later. A body is small and resembles
//! others more than itself, so a dictionary trained on the database's own bodies does most of the work.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use crate::error::{LedgerError, Result};

/// As it was written.
pub(crate) const RAW: i64 = 0;
/// Compressed without a dictionary. All larger numbers are keys of dictionaries.
pub(crate) const PLAIN: i64 = 1;

/// How hard to compress: packing happens when nobody waits.
const LEVEL: i32 = 12;
/// Bodies below this are left alone: the frame would eat the gain.
const SMALLEST: usize = 48;
/// The most that a dictionary may have; beyond it more helps little.
const DICTIONARY_BYTES: usize = 112 * 1024;

/// The first sixteen bytes of a body's BLAKE3 hash, by which it is stored once.
pub(crate) fn hash(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    blake3::Hasher::new().update(bytes).finalize_xof().fill(&mut short);
    short
}

/// A dictionary as both directions need it.
pub(crate) struct Dictionary {
    encoder: EncoderDictionary<'static>,
    decoder: DecoderDictionary<'static>,
}

impl Dictionary {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self { encoder: EncoderDictionary::copy(bytes, LEVEL), decoder: DecoderDictionary::copy(bytes) }
    }

    /// Trains one on these bodies; nothing where they are too few or too unlike.
    pub(crate) fn train(samples: &[Vec<u8>]) -> Option<Vec<u8>> {
        let total: usize = samples.iter().map(Vec::len).sum();
        let size = DICTIONARY_BYTES.min(total / 10);
        (size >= 1024).then(|| zstd::dict::from_samples(samples, size).ok()).flatten()
    }
}

/// The dictionaries of a database, as far as they were needed.
#[derive(Default)]
pub(crate) struct Dictionaries(Mutex<HashMap<i64, Arc<Dictionary>>>);

impl Dictionaries {
    pub(crate) fn get(&self, key: i64) -> Option<Arc<Dictionary>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    pub(crate) fn put(&self, key: i64, bytes: &[u8]) -> Arc<Dictionary> {
        let dictionary = Arc::new(Dictionary::new(bytes));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&dictionary));
        dictionary
    }
}

/// A body as it lies in the database.
pub(crate) struct Packed {
    pub(crate) size: u64,
    pub(crate) packing: i64,
    pub(crate) bytes: Vec<u8>,
}

impl Packed {
    /// The body as it was written.
    pub(crate) fn unpack(self, dictionary: Option<&Dictionary>) -> Result<Vec<u8>> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let unpacked = match (self.packing, dictionary) {
            (RAW, _) => Ok(self.bytes),
            (PLAIN, _) => zstd::bulk::decompress(&self.bytes, size),
            (_, Some(dictionary)) => Decompressor::with_prepared_dictionary(&dictionary.decoder)
                .and_then(|mut decompressor| decompressor.decompress(&self.bytes, size)),
            (key, None) => Err(io::Error::other(format!("dictionary {key} is missing"))),
        };
        let bytes =
            unpacked.map_err(|error| LedgerError::damaged(format!("a body does not unpack: {error}")))?;
        if bytes.len() != size {
            return Err(LedgerError::damaged(format!("a body has {} bytes instead of {size}", bytes.len())));
        }
        Ok(bytes)
    }
}

/// Packs a body; nothing where that would not make it smaller.
pub(crate) fn pack(bytes: &[u8], dictionary: Option<(i64, &Dictionary)>) -> Option<(i64, Vec<u8>)> {
    if bytes.len() < SMALLEST {
        return None;
    }
    let (packing, packed) = match dictionary {
        Some((key, dictionary)) => {
            let compressor = Compressor::with_prepared_dictionary(&dictionary.encoder);
            (key, compressor.and_then(|mut compressor| compressor.compress(bytes)))
        }
        None => (PLAIN, zstd::bulk::compress(bytes, LEVEL)),
    };
    let packed = packed.ok().filter(|packed| packed.len() < bytes.len())?;
    Some((packing, packed))
}
