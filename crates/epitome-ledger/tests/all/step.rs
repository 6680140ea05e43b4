//! What can be done to a ledger, at random.

use epitome_ledger::model::NoteKind;
use proptest::prelude::*;

/// A step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Append {
        session: usize,
        input: usize,
        reply: bool,
    },
    Reply {
        session: usize,
    },
    Compact {
        session: usize,
        cut: usize,
        keep: usize,
    },
    Undo {
        session: usize,
        from: usize,
        length: usize,
    },
    Fork {
        session: usize,
        turn: usize,
    },
    Note {
        session: usize,
        kind: NoteKind,
        from: usize,
    },
    /// The last append is asked for again.
    Again,
    /// Somebody asks for an append, does not wait for the answer, and asks again.
    Impatient {
        session: usize,
        input: usize,
    },
    Purge {
        session: usize,
    },
    Pack,
    Reopen,
}

/// Any step.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    let session = 0..8usize;
    let kinds = prop_oneof![Just(NoteKind::Pin), Just(NoteKind::Unpin), Just(NoteKind::Seal)];
    prop_oneof![
        6 => (session.clone(), 0..4usize, any::<bool>())
            .prop_map(|(session, input, reply)| Step::Append { session, input, reply }),
        3 => session.clone().prop_map(|session| Step::Reply { session }),
        3 => (session.clone(), 0..40usize, 0..20usize)
            .prop_map(|(session, cut, keep)| Step::Compact { session, cut, keep }),
        1 => (session.clone(), 0..40usize, 1..20usize)
            .prop_map(|(session, from, length)| Step::Undo { session, from, length }),
        3 => (session.clone(), 0..30usize).prop_map(|(session, turn)| Step::Fork { session, turn }),
        2 => (session.clone(), kinds, 0..30usize)
            .prop_map(|(session, kind, from)| Step::Note { session, kind, from }),
        2 => Just(Step::Again),
        2 => (session.clone(), 0..4usize).prop_map(|(session, input)| Step::Impatient { session, input }),
        1 => session.prop_map(|session| Step::Purge { session }),
        1 => Just(Step::Pack),
        1 => Just(Step::Reopen),
    ]
}
