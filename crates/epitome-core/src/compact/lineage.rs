//! What the Nexus seed records of a compaction, read from its segments: they know it already.

use super::segment::{Compaction, Segment};

impl Compaction {
    /// The last message that a summary stands for (`summarizedThroughTurnId`).
    pub fn summarized_through(&self) -> Option<usize> {
        let last = self.segments.iter().rfind(|segment| matches!(segment, Segment::Summary { .. }));
        last.map(|segment| segment.range().end - 1)
    }

    /// The first message that is shown behind everything that is not (`firstKeptTurnId`).
    pub fn first_kept(&self) -> Option<usize> {
        let kept = self.standing();
        (kept < self.covered()).then_some(kept)
    }

    /// All summaries, oldest first, as the model reads them.
    pub fn summary(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .segments
            .iter()
            .filter_map(|segment| match segment {
                Segment::Summary { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Where the part ends that summaries stand for or that is left out; zero where everything is shown.
    pub(crate) fn standing(&self) -> usize {
        let hidden =
            |segment: &&Segment| matches!(segment, Segment::Summary { .. } | Segment::Omitted { .. });
        self.segments.iter().rfind(hidden).map_or(0, |segment| segment.range().end)
    }

    /// Whether a message is shown, whole or pruned.
    pub(crate) fn shows(&self, message: usize) -> bool {
        let at = self.segments.partition_point(|segment| segment.range().end <= message);
        !matches!(self.segments.get(at), Some(Segment::Summary { .. } | Segment::Omitted { .. }))
    }
}
