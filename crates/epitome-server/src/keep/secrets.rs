//! The secrets by which tenants are told while the ledger is out of reach, in a file beside the spool: the ledger's own as it was last
//! seen, or one that is made here and becomes the ledger's where that has none.
//!
//! What was told by a secret that turns out not to be the ledger's waits until its client calls again: both secrets make a tenant of its
//! credential, and so say whose it is. The credential itself is kept nowhere.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use epitome::TenantId;

use super::identity::{Identities, new_secret};
use super::spool::{Entry, replace};

/// So many clients are remembered; it is no use to whoever makes up credentials.
const MOST: usize = 65_536;

/// The secrets, the last one first.
pub(super) struct Secrets {
    file: PathBuf,
    /// What tells tenants until the ledger is reached.
    standing: Mutex<Option<Arc<Identities>>>,
    /// Of clients that called: their tenants by other secrets than the ledger's, and by that.
    claims: Mutex<HashMap<TenantId, TenantId>>,
}

impl Secrets {
    /// Beside the spool in this folder.
    pub(super) fn beside(spool: &Path) -> Self {
        let mut file = spool.as_os_str().to_owned();
        file.push(".secrets");
        Self { file: file.into(), standing: Mutex::default(), claims: Mutex::default() }
    }

    fn all(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    fn keep(&self, secrets: &[String]) -> io::Result<()> {
        replace(&self.file, (secrets.join("\n") + "\n").as_bytes())
    }

    /// What tells tenants until the ledger is reached.
    pub(super) fn standing(&self) -> io::Result<Arc<Identities>> {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(standing) = &*standing {
            return Ok(Arc::clone(standing));
        }
        let secret = match self.all().into_iter().next() {
            Some(secret) => secret,
            None => {
                let secret = new_secret();
                self.keep(std::slice::from_ref(&secret))?;
                secret
            }
        };
        Ok(Arc::clone(standing.insert(Arc::new(Identities::by(&secret)))))
    }

    /// The secret that a ledger which has none is to take: what waits may have been told by it, also before a crash.
    pub(super) fn for_ledger(&self) -> String {
        self.all().into_iter().next().unwrap_or_else(new_secret)
    }

    /// The ledger's secret is this one; what others tell that something may wait for.
    pub(super) fn settle(&self, secret: &str, is_anything_waiting: bool) -> Vec<Identities> {
        let before = self.all();
        let others: Vec<String> =
            before.iter().filter(|other| is_anything_waiting && *other != secret).cloned().collect();
        let now: Vec<String> = std::iter::once(secret.to_owned()).chain(others.clone()).collect();
        if now != before
            && let Err(error) = self.keep(&now)
        {
            tracing::warn!(%error, "whose calls are whose cannot be told should the next start be without the ledger");
        }
        others.iter().map(|other| Identities::by(other)).collect()
    }

    /// Whose a turn is that was told by one of these secrets; nothing until its client calls.
    pub(super) fn owner(&self, entry: &Entry, others: &[Identities]) -> Option<TenantId> {
        // What nobody can claim stays with whom it was told to be of.
        if !others.iter().any(|other| entry.by.as_ref() == Some(&other.name)) {
            return Some(entry.tenant);
        }
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.tenant).copied()
    }

    /// A client calls: what waits for it is this tenant's.
    pub(super) fn claim(&self, credential: &str, tenant: TenantId, others: &[Identities]) {
        if others.is_empty() {
            return;
        }
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        if claims.len() < MOST {
            claims.extend(others.iter().map(|other| (other.tenant(credential), tenant)));
        }
    }
}
