//! A question to a model while it is under way, and the accounts of what questions cost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use epitome_core::Tokens;

use super::caps::{Billed, Size, Spent};
use super::run::Asker;
use crate::failure::{Begun, Failure};
use crate::models::Minder;

/// What one compaction has spent so far, which its caps are held against: everybody who is asked for it draws on the same purse.
/// Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Purse(Arc<Mutex<Drawn>>);

/// What was drawn.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) spent: Spent,
    /// When the first question was asked.
    pub(super) started: Option<Duration>,
    /// The least output that leaves room for the thoughts of a model that was found to think.
    pub(super) thoughts: Tokens,
}

impl Purse {
    pub(super) fn drawn(&self) -> MutexGuard<'_, Drawn> {
        locked(&self.0)
    }
}

/// What one of those who draw on a purse has spent.
pub(super) type Account = Arc<Mutex<Spent>>;

/// What everybody who shares it has spent, to be read at any moment. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    accounts: Arc<Mutex<Vec<Account>>>,
    purse: Purse,
}

impl Tally {
    /// A tally of what is drawn on this purse.
    pub fn of(purse: &Purse) -> Self {
        Self { accounts: Arc::default(), purse: purse.clone() }
    }

    /// What was spent so far. Questions that are under way count as if nobody waited for their answers any longer: as not
    /// answered, and for what was sent by our own count.
    pub fn spent(&self) -> Spent {
        let accounts = locked(&self.accounts);
        let each = accounts.iter().map(|account| locked(account).cut_off());
        each.fold(Spent::default(), |sum, spent| sum + spent)
    }

    pub(super) fn take_in(&self, account: &Account) {
        locked(&self.accounts).push(Arc::clone(account));
    }

    pub(super) fn purse(&self) -> &Purse {
        &self.purse
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A question that is under way. Its requests go out one after the other, each booked before and settled when it is over; where the
/// question is dropped before its end, what was sent last is paid for.
pub(super) struct Question<'a> {
    asker: &'a Asker,
    input: Tokens,
    output: Tokens,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sent: usize,
    /// The request that is under way.
    open: Option<Size>,
}

impl<'a> Question<'a> {
    /// A question of this size.
    pub(super) fn new(asker: &'a Asker, input: Tokens, output: Tokens) -> Self {
        Self { asker, input, output, state: Mutex::default() }
    }

    /// Requests that were sent.
    pub(super) fn sent(&self) -> usize {
        locked(&self.state).sent
    }

    /// It was answered, and this was billed.
    pub(super) fn answered(self, billed: &Billed) {
        self.close(Some(billed), true);
    }

    fn close(&self, billed: Option<&Billed>, is_answered: bool) {
        let Some(size) = locked(&self.state).open.take() else { return };
        self.asker.purse.drawn().spent.end(&size, billed, is_answered);
        locked(&self.asker.account).end(&size, billed, is_answered);
    }
}

impl Minder for Question<'_> {
    fn may_send(&self, place: usize) -> bool {
        let size = Size { input: self.input, output: self.output, tariff: self.asker.tariff(place) };
        let mut drawn = self.asker.purse.drawn();
        let may = drawn.spent.allows(&self.asker.caps, &size);
        if may {
            drawn.spent.begin(&size);
            locked(&self.asker.account).begin(&size);
            let mut state = locked(&self.state);
            state.sent += 1;
            state.open = Some(size);
        }
        may
    }

    fn failed(&self, failure: &Failure) {
        let billed = failure.begun.as_deref().map(|begun| Billed::broken_off(self.input, begun));
        self.close(billed.as_ref(), false);
    }
}

impl Drop for Question<'_> {
    // Nobody waits for it any longer, and the server may have read what was sent.
    fn drop(&mut self) {
        self.close(Some(&Billed::broken_off(self.input, &Begun::default())), false);
    }
}
