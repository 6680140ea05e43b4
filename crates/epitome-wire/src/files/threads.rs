//! Threads: the lines of conversation in a tree of messages.

use super::transcript::{Thread, ThreadKind};

/// How the messages of a file hang together.
pub(super) struct Shape {
    /// The message that each one continues.
    pub(super) parents: Vec<Option<usize>>,
    /// Messages that take part in no thread.
    pub(super) hidden: Vec<bool>,
    /// The sub-agent that each belongs to.
    pub(super) sidechains: Vec<Option<String>>,
    /// Their ids.
    pub(super) ids: Vec<Option<String>>,
    /// Where the main thread ends.
    pub(super) head: Option<usize>,
}

/// The threads of a tree, the main one first; each message is in at most one.
pub(super) fn threads(shape: &Shape) -> Vec<Thread> {
    let count = shape.parents.len();
    let mut has_child = vec![false; count];
    for parent in shape.parents.iter().flatten() {
        if let Some(has_child) = has_child.get_mut(*parent) {
            *has_child = true;
        }
    }
    let is_side = |message: usize| shape.sidechains.get(message).is_some_and(Option::is_some);
    // A file of nothing but a sub-agent's conversation has that as its main thread.
    let newest = (0..count).rev().find(|message| !is_side(*message)).or(count.checked_sub(1));
    let Some(head) = shape.head.or(newest) else { return Vec::new() };

    let mut taken = vec![false; count];
    let mut threads = vec![thread(shape, head, ThreadKind::Main, &mut taken)];
    for leaf in (0..count).filter(|message| !has_child.get(*message).copied().unwrap_or(false)) {
        if taken.get(leaf).copied().unwrap_or(true) {
            continue;
        }
        let kind = if is_side(leaf) { ThreadKind::Sidechain } else { ThreadKind::Branch };
        let found = thread(shape, leaf, kind, &mut taken);
        if !found.messages.is_empty() {
            threads.push(found);
        }
    }
    threads
}

// Walks up from `leaf` to the first message that another thread has. Because every message is taken at
// most once, links that run in a circle end the walk, too.
fn thread(shape: &Shape, leaf: usize, kind: ThreadKind, taken: &mut [bool]) -> Thread {
    let mut messages = Vec::new();
    let mut at = Some(leaf);
    let mut after = None;
    while let Some(message) = at {
        let Some(taken) = taken.get_mut(message) else { break };
        if *taken {
            after = Some(message);
            break;
        }
        *taken = true;
        if !shape.hidden.get(message).copied().unwrap_or(false) {
            messages.push(message);
        }
        at = shape.parents.get(message).copied().flatten();
    }
    messages.reverse();
    let agent =
        (kind == ThreadKind::Sidechain).then(|| shape.sidechains.get(leaf).cloned().flatten()).flatten();
    let id = agent.or_else(|| shape.ids.get(leaf).cloned().flatten()).unwrap_or_else(|| leaf.to_string());
    Thread { id, kind, after, messages }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(parents: &[i32], sides: &[usize], head: Option<usize>) -> Shape {
        let count = parents.len();
        Shape {
            parents: parents.iter().map(|parent| usize::try_from(*parent).ok()).collect(),
            hidden: vec![false; count],
            sidechains: (0..count)
                .map(|message| sides.contains(&message).then(|| "agent".to_owned()))
                .collect(),
            ids: vec![None; count],
            head,
        }
    }

    fn drawn(shape: &Shape) -> Vec<String> {
        let draw = |thread: Thread| format!("{:?} {:?} {:?}", thread.kind, thread.after, thread.messages);
        threads(shape).into_iter().map(draw).collect()
    }

    #[test]
    fn every_message_is_in_one_thread() {
        assert_eq!(drawn(&shape(&[-1, 0, 1], &[], None)), ["Main None [0, 1, 2]"]);
        assert_eq!(drawn(&shape(&[-1, 0, 0, 2], &[], None)), ["Main None [0, 2, 3]", "Branch Some(0) [1]"]);
        assert_eq!(
            drawn(&shape(&[-1, 0, 0, 2], &[], Some(1))),
            ["Main None [0, 1]", "Branch Some(0) [2, 3]"]
        );
        assert_eq!(
            drawn(&shape(&[-1, 0, -1, 2], &[2, 3], None)),
            ["Main None [0, 1]", "Sidechain None [2, 3]"]
        );
        assert_eq!(drawn(&shape(&[-1, 0], &[0, 1], None)), ["Main None [0, 1]"]);
        assert!(drawn(&shape(&[], &[], None)).is_empty());
    }

    #[test]
    fn circles_end() {
        assert_eq!(drawn(&shape(&[1, 0], &[], None)), ["Main Some(1) [0, 1]"]);
        assert_eq!(drawn(&shape(&[7], &[], None)), ["Main None [0]"]);
    }
}
