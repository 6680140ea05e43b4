//! Where finished stretches are kept, so that a failure or a restart does not cost them twice.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use epitome_core::ContentHash;

/// Keeps summaries of stretches by the hash of all that they were asked with, and of who was asked.
pub trait Kept: Send + Sync + Debug {
    /// The summary, if it is kept.
    fn get(&self, key: &ContentHash) -> Option<String>;

    /// Keeps a summary. Nobody is told if that fails: it is only written again then.
    fn put(&self, key: &ContentHash, summary: &str);
}

/// Keeps summaries as long as the program runs.
#[derive(Debug, Default)]
pub struct KeptInMemory(Mutex<HashMap<ContentHash, String>>);

impl Kept for KeptInMemory {
    fn get(&self, key: &ContentHash) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn put(&self, key: &ContentHash, summary: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(*key, summary.to_owned());
    }
}
