//! Who finds out what is worth knowing.

use std::ops::Range;
use std::sync::Arc;

use epitome_core::Message;
use epitome_core::knowledge::{Finding, extract};

use crate::hooks::Told;

/// What is read for what is worth knowing.
#[derive(Clone, Debug)]
pub struct Source {
    /// The messages of the path; those that are hidden already may be empty.
    pub messages: Vec<Message>,
    /// The numbers of those that are being compacted.
    pub ranges: Vec<Range<usize>>,
}

impl Source {
    /// The stretches that are being compacted, each with the number of its first message.
    pub fn stretches(&self) -> impl Iterator<Item = (usize, &[Message])> {
        let stretch = |range: &Range<usize>| Some((range.start, self.messages.get(range.clone())?));
        self.ranges.iter().filter_map(stretch)
    }
}

/// Finds out what is worth knowing in messages that will no longer be shown.
///
/// It is asked before every compaction that hides something, and has as long as a hook has. One that fails, panics or takes too
/// long is reported in the notes of the compaction; nothing is learnt then.
pub trait Extractor: Send + Sync + 'static {
    /// The findings, by the numbers of the messages that say them.
    fn extract(&self, source: Arc<Source>) -> Told<Vec<Finding>>;
}

/// Reads sentences by the words in them ([`epitome_core::knowledge`]). It quotes, and needs no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Extractor for Offline {
    fn extract(&self, source: Arc<Source>) -> Told<Vec<Finding>> {
        Box::pin(async move {
            let read =
                move || source.stretches().flat_map(|(first, messages)| extract(messages, first)).collect();
            Ok(tokio::task::spawn_blocking(read).await?)
        })
    }
}
