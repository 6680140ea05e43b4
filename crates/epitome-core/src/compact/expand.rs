//! Showing again what a compaction hides: an undo of a part, which makes the context larger on purpose.

use std::ops::Range;

use super::backing::current;
use super::case::Case;
use super::request::Request;
use super::run::Compacted;
use super::segment::Compaction;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::Count;

/// The compaction with the messages of these ranges shown as they were again, beside the summaries they are part of.
///
/// It is never refused for its size; the report says by how much the budget is exceeded.
pub fn expand(
    path: &[Entry],
    messages: &[Message],
    request: &Request<'_>,
    compaction: &Compaction,
    ranges: &[Range<usize>],
    count: &dyn Count,
) -> Compacted {
    let current = current(request.previous, path.len());
    let case = Case::new(path, messages, request, &current, count);
    let show = |compaction: Compaction, range: &Range<usize>| compaction.revealed(path, range.clone());
    let expanded = ranges.iter().fold(compaction.clone(), show);
    let shown = ranges.iter().map(|range| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}–{}", range.start, range.end.saturating_sub(1)),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let note = (!shown.is_empty()).then(|| format!("shown again as they were: {shown}"));
    let mut report = case.account(&expanded, note.into_iter().collect());
    if case.trigger().is_none() {
        report.reason = "messages that were hidden are shown again".to_owned();
    }
    Compacted { compaction: Some(expanded), report }
}
