//! Where conversations stand that a provider holds: by the ids that it gave to their replies.
//!
//! Such a client sends only what is new and names the reply before it. What is at hand is in memory; the rest is in the ledger, as
//! memos that bear the name of their session, so that they go with it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use epitome::ledger::{Ledger, LedgerError, Paging};
use epitome::{SessionId, TenantId, TurnId};
use tokio::sync::watch;

/// So many are kept at hand.
const MOST: usize = 16_384;
/// Longer ids are nobody's.
const LONGEST: usize = 256;
/// Of so many sessions that have the same name the latest counts.
const SESSIONS: usize = 32;

/// A place in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) session: SessionId,
    /// The turn of the reply.
    pub(super) turn: TurnId,
    /// So many messages the session had then.
    pub(super) messages: u64,
}

/// All that are known.
pub(super) struct Links {
    known: Mutex<Known>,
    /// Calls that are being made, whose replies will have an id; of each the conversation that goes on with it, if it has a name.
    expected: watch::Sender<Vec<Option<String>>>,
}

#[derive(Default)]
struct Known {
    links: HashMap<(TenantId, String), Link>,
    order: VecDeque<(TenantId, String)>,
}

/// A call whose reply is expected, until this is dropped.
pub(super) struct Expected(Arc<Links>, Option<String>);

impl Links {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { known: Mutex::default(), expected: watch::Sender::new(Vec::new()) })
    }

    /// A call is made whose reply will be named.
    pub(super) fn expect(self: &Arc<Self>, conversation: Option<String>) -> Expected {
        self.expected.send_modify(|expected| expected.push(conversation.clone()));
        Expected(Arc::clone(self), conversation)
    }

    /// Where what bears this name stands; what is being recorded just now is waited for.
    pub(super) async fn find(
        &self,
        ledger: &Ledger,
        tenant: TenantId,
        name: &str,
        patience: Duration,
    ) -> Result<Option<Link>, LedgerError> {
        let key = (tenant, name.to_owned());
        let mut expected = self.expected.subscribe();
        // A conversation is where its last reply is.
        let is_open =
            |expected: &Vec<Option<String>>| expected.iter().any(|one| one.as_deref() == Some(name));
        let _ = tokio::time::timeout(patience, expected.wait_for(|expected| !is_open(expected))).await;
        if let Some(link) = self.at_hand(&key) {
            return Ok(Some(link));
        }
        if name.len() > LONGEST {
            return Ok(None);
        }
        let memos = ledger.memos(tenant, scope(name), Paging::first(SESSIONS)).await?;
        let latest = memos.items.into_iter().max_by_key(|memo| memo.time);
        if let Some(link) = latest.and_then(|memo| read(&memo.name, &memo.value)) {
            self.remember(key, link);
            return Ok(Some(link));
        }
        // Whoever names a reply has seen it: it is recorded in a moment, or by nobody.
        let settled = expected.wait_for(|expected| expected.is_empty() || self.at_hand(&key).is_some());
        let _ = tokio::time::timeout(patience, settled).await;
        Ok(self.at_hand(&key))
    }

    /// All places that were given this name, the latest first.
    pub(super) async fn all(
        &self,
        ledger: &Ledger,
        tenant: TenantId,
        name: &str,
    ) -> Result<Vec<Link>, LedgerError> {
        if name.len() > LONGEST {
            return Ok(Vec::new());
        }
        let mut memos = ledger.memos(tenant, scope(name), Paging::first(SESSIONS)).await?.items;
        memos.sort_by_key(|memo| std::cmp::Reverse(memo.time));
        Ok(memos.iter().filter_map(|memo| read(&memo.name, &memo.value)).collect())
    }

    /// What bears this name stands here from now on.
    pub(super) async fn keep(
        &self,
        ledger: &Ledger,
        tenant: TenantId,
        name: &str,
        link: Link,
    ) -> Result<(), LedgerError> {
        if name.len() > LONGEST {
            return Ok(());
        }
        self.remember((tenant, name.to_owned()), link);
        let value = format!("{} {}", link.turn, link.messages);
        ledger.put_memo(tenant, scope(name), link.session.to_string(), value).await.map(drop)
    }

    fn at_hand(&self, key: &(TenantId, String)) -> Option<Link> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).links.get(key).copied()
    }

    fn remember(&self, key: (TenantId, String), link: Link) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.links.insert(key.clone(), link).is_none() {
            known.order.push_back(key);
        }
        while known.order.len() > MOST {
            let Some(oldest) = known.order.pop_front() else { break };
            known.links.remove(&oldest);
        }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.0.expected.send_modify(|expected| {
            if let Some(at) = expected.iter().position(|one| *one == self.1) {
                expected.swap_remove(at);
            }
        });
    }
}

fn scope(name: &str) -> String {
    format!("proxy link {name}")
}

fn read(session: &str, value: &str) -> Option<Link> {
    let (turn, messages) = value.split_once(' ')?;
    let (session, turn) = (session.parse().ok()?, turn.parse().ok()?);
    Some(Link { session, turn, messages: messages.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read_and_what_was_not_is_not() {
        let link = Link { session: SessionId::generate(), turn: TurnId::generate(), messages: 7 };
        let value = format!("{} {}", link.turn, link.messages);
        assert_eq!(read(&link.session.to_string(), &value), Some(link));
        for (session, value) in [("", value.as_str()), ("s", "t"), (&*link.session.to_string(), "t 7")] {
            assert_eq!(read(session, value), None);
        }
    }

    #[test]
    fn those_that_were_not_used_longest_go() {
        let links = Links::new();
        let link = Link { session: SessionId::generate(), turn: TurnId::generate(), messages: 1 };
        for number in 0..MOST + 5 {
            links.remember((TenantId::LOCAL, number.to_string()), link);
        }
        assert_eq!(links.at_hand(&(TenantId::LOCAL, "4".to_owned())), None);
        assert_eq!(links.at_hand(&(TenantId::LOCAL, "5".to_owned())), Some(link));
    }
}
