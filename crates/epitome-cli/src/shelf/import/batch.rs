//! Transcripts recorded at the same time, so that they share the waiting for the disk.
//!
//! What may be one conversation is recorded one after the other, in the order of the files, so that it does not depend on chance
//! what becomes a fork of what.

use std::collections::HashMap;

use futures_util::future::join_all;

use super::super::Shelf;
use super::paths::Material;
use super::record::{Recorded, record};

/// So many transcripts, or so many bytes of them, are recorded at the same time.
const TRANSCRIPTS: usize = 48;
const BYTES: u64 = 16 << 20;

/// Transcripts that wait to be recorded.
#[derive(Default)]
pub(super) struct Batch {
    materials: Vec<Material>,
    bytes: u64,
}

impl Batch {
    /// Adds a transcript; whether it is time to record them.
    pub(super) fn push(&mut self, material: Material) -> bool {
        self.bytes += material.bytes;
        self.materials.push(material);
        self.materials.len() >= TRANSCRIPTS || self.bytes >= BYTES
    }

    /// Records all that wait.
    pub(super) fn record(&mut self, shelf: &Shelf) -> anyhow::Result<Vec<Recorded>> {
        let Batch { materials, .. } = std::mem::take(self);
        let groups = groups(&materials).into_iter().map(|group| async move {
            let mut recorded = Vec::new();
            for material in group {
                for path in &material.paths {
                    recorded.push(record(shelf, material, path).await?);
                }
            }
            anyhow::Ok(recorded)
        });
        shelf.wait_any(async {
            let recorded: Result<Vec<_>, _> = join_all(groups).await.into_iter().collect();
            Ok(recorded?.into_iter().flatten().collect())
        })
    }
}

// Transcripts that have a path that opens alike or has the same name, together, in their order.
fn groups(materials: &[Material]) -> Vec<Vec<&Material>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_key: HashMap<String, usize> = HashMap::new();
    for (number, material) in materials.iter().enumerate() {
        let keys: Vec<String> = material.paths.iter().flat_map(|path| material.keys(path)).collect();
        let mut known: Vec<usize> = keys.iter().filter_map(|key| of_key.get(key).copied()).collect();
        known.sort_unstable();
        known.dedup();
        let into = known.first().copied().unwrap_or(groups.len());
        if into == groups.len() {
            groups.push(Vec::new());
        }
        for other in known.into_iter().skip(1) {
            let moved = groups.get_mut(other).map(std::mem::take).unwrap_or_default();
            groups.get_mut(into).into_iter().for_each(|group| group.extend(&moved));
            of_key.values_mut().filter(|group| **group == other).for_each(|group| *group = into);
        }
        groups.get_mut(into).into_iter().for_each(|group| group.push(number));
        of_key.extend(keys.into_iter().map(|key| (key, into)));
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.iter().map(|group| group.iter().filter_map(|number| materials.get(*number)).collect()).collect()
}
