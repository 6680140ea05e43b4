//! The paths through a file, in the order in which they came to be, and how much of each is whole.
//!
//! A file may be imported while its tool writes it. So whatever stands in a file, what is made of it must be what would have been
//! made of its beginning, and more: the name of a session stays with the path that was answered first, and an answer that may
//! still grow is nothing yet.

use std::cmp::Ordering;
use std::collections::HashMap;

use epitome_core::Role;
use epitome_wire::files::{ThreadKind, Transcript};

/// A path from the first message to the end of a thread.
pub(super) struct Named {
    /// The name under which its tool knows the session, where that lasts.
    pub(super) external: Option<String>,
    /// Its messages, by their numbers.
    pub(super) messages: Vec<usize>,
}

/// The paths of a transcript: those of the conversation, the one that was answered first before the others, then sub-agents'.
pub(super) fn paths(transcript: &Transcript) -> Vec<Named> {
    let (mut own, mut others): (Vec<Vec<usize>>, Vec<Named>) = (Vec::new(), Vec::new());
    for thread in &transcript.threads {
        let messages = transcript.path(thread);
        match (thread.kind, &transcript.id) {
            (ThreadKind::Sidechain, id) => {
                let external = id.as_ref().map(|id| format!("{id}/{}", thread.id));
                others.push(Named { external, messages });
            }
            _ => own.push(messages),
        }
    }
    let first_answers = first_answers(transcript, &own);
    own.sort_by(|one, other| answered_first(one, other, &first_answers));
    let mut name = match (&transcript.id, &transcript.agent) {
        (Some(id), Some(agent)) => Some(format!("{id}/{agent}")),
        (id, _) => id.clone(),
    };
    // Branches have no name that lasts.
    let own = own.into_iter().map(|messages| Named { external: name.take(), messages });
    own.collect::<Vec<_>>().into_iter().chain(others).collect()
}

// The first answer at or behind each message, on any path through it.
fn first_answers(transcript: &Transcript, paths: &[Vec<usize>]) -> HashMap<usize, usize> {
    let mut first: HashMap<usize, usize> = HashMap::new();
    for path in paths {
        let mut answer = usize::MAX;
        for at in path.iter().rev() {
            if is_reply(transcript, *at) {
                answer = *at;
            }
            let known = first.entry(*at).or_insert(usize::MAX);
            *known = answer.min(*known);
        }
    }
    first
}

fn answered_first(one: &[usize], other: &[usize], first_answers: &HashMap<usize, usize>) -> Ordering {
    let key = |at: &usize| (first_answers.get(at).copied(), *at);
    let parting = one.iter().zip(other).find(|(one, other)| one != other);
    parting.map_or(one.len().cmp(&other.len()), |(one, other)| key(one).cmp(&key(other)))
}

/// How many messages of a path are whole: all up to the last answer that cannot grow any more.
///
/// A session that nobody would know what to call is not begun yet.
pub(super) fn whole(transcript: &Transcript, path: &[usize]) -> usize {
    let mut length = path.len();
    let last = |length: usize| length.checked_sub(1).and_then(|last| path.get(last).copied());
    loop {
        while last(length).is_some_and(|at| !is_reply(transcript, at)) {
            length -= 1;
        }
        let Some(reply) = last(length) else { break };
        if !transcript.may_grow(reply) {
            break;
        }
        while last(length).is_some_and(|at| is_reply(transcript, at)) {
            length -= 1;
        }
    }
    let mut whole = path.iter().take(length).filter_map(|at| transcript.messages.get(*at));
    if whole.any(|message| super::label::label(message).is_some()) { length } else { 0 }
}

fn is_reply(transcript: &Transcript, at: usize) -> bool {
    transcript.messages.get(at).is_some_and(|message| message.role == Role::Assistant)
}
