//! What is pruned in the part of a path that is shown.

use crate::compact::plan::Limits;
use crate::compact::segment::Segment;
use crate::message::Message;
use crate::outline::Entry;
use crate::prune::{self, Budget, Count, Mark, Marked, PathSizes, Size, ThinkingRule};
use crate::settings::Settings;
use crate::units::Tokens;

/// The marks on messages from `from` on: what pruning wants there, and what was pruned before.
///
/// Thinking is not looked at: whether it may stay depends on the whole plan.
pub(crate) fn marks(
    path: &[Entry],
    messages: &[Message],
    from: usize,
    limits: &Limits<'_>,
    settings: &Settings,
    count: &dyn Count,
) -> Vec<Marked> {
    let shown = path.get(from..).unwrap_or_default();
    let mut sizes = PathSizes::new(messages, count).behind(from);
    let tokens = (limits.budget < Tokens(u64::MAX)).then_some(limits.budget);
    let budget = Budget { tokens, bytes: None, fixed: Size::default() };
    let plan = prune::plan(shown, &settings.prune, budget, &mut sizes, ThinkingRule::Free);
    let fresh = plan.marks.into_iter().map(|marked| Marked { message: marked.message + from, ..marked });
    merged(earlier(limits, from), fresh.collect())
}

// A pruned block stays pruned: what was sent once is sent again, and the context does not grow back.
fn earlier(limits: &Limits<'_>, from: usize) -> Vec<Marked> {
    let segments = limits.previous.map(|previous| previous.segments.as_slice()).unwrap_or_default();
    let marks = segments.iter().filter_map(|segment| match segment {
        Segment::Pruned { marks, .. } => Some(marks),
        _ => None,
    });
    marks.flatten().filter(|marked| marked.message >= from).cloned().collect()
}

fn merged(earlier: Vec<Marked>, fresh: Vec<Marked>) -> Vec<Marked> {
    if earlier.is_empty() {
        return fresh;
    }
    let place = |marked: &Marked| (marked.message, marked.block);
    let mut marks = Vec::with_capacity(earlier.len() + fresh.len());
    let mut fresh = fresh.into_iter().peekable();
    for old in earlier {
        while let Some(new) = fresh.next_if(|new| place(new) < place(&old)) {
            marks.push(new);
        }
        let stronger = |new: &Marked| matches!(new.mark, Mark::Clear { .. } | Mark::Remove);
        match fresh.next_if(|new| place(new) == place(&old)) {
            Some(new) if stronger(&new) && !stronger(&old) => marks.push(new),
            _ => marks.push(old),
        }
    }
    marks.extend(fresh);
    marks
}
