//! Whose a call is: the ledger's owner's, or told by a keyed hash of its credential, so that equal openings of two customers never meet.

use std::fmt;
use std::str::FromStr;

use epitome::TenantId;
use epitome::ledger::{Ledger, LedgerError, Paging};
use http::HeaderMap;

/// Where the key of the hash is kept.
const SCOPE: &str = "proxy key";

/// Whose calls are whose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tenants {
    /// All are the ledger's owner's, whatever credential they bring.
    One,
    /// Each credential has sessions of its own.
    #[default]
    Key,
}

impl fmt::Display for Tenants {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Tenants::One => "one",
            Tenants::Key => "key",
        })
    }
}

impl FromStr for Tenants {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "one" => Ok(Tenants::One),
            "key" => Ok(Tenants::Key),
            _ => Err(format!("tenants = {text:?} is not known: one and key are what there is")),
        }
    }
}

/// Tells tenants by their credentials. The credentials themselves are kept nowhere.
pub(super) struct Identities {
    key: [u8; 32],
    /// The name of the key, which says nothing of it.
    pub(super) name: String,
}

impl Identities {
    /// By a key that is made from this secret.
    pub(super) fn by(secret: &str) -> Self {
        let key = blake3::derive_key("epitome 2026 tenants of the proxy", secret.as_bytes());
        let name = blake3::derive_key("epitome 2026 name of the key of tenants", secret.as_bytes());
        let name = blake3::Hash::from_bytes(name).to_hex().chars().take(16).collect();
        Self { key, name }
    }

    /// Whose credential this is.
    pub(super) fn tenant(&self, credential: &str) -> TenantId {
        let mut bytes = [0; 16];
        blake3::Hasher::new_keyed(&self.key).update(credential.as_bytes()).finalize_xof().fill(&mut bytes);
        TenantId::from_uuid(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

/// A secret that nobody has.
pub(super) fn new_secret() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// The secret of a ledger; one that has none takes this.
pub(super) async fn secret_of(
    ledger: &Ledger,
    otherwise: impl FnOnce() -> String,
) -> Result<String, LedgerError> {
    if let Some(secret) = first(ledger).await? {
        return Ok(secret);
    }
    let secret = otherwise();
    ledger.put_memo(TenantId::LOCAL, SCOPE, uuid::Uuid::new_v4().to_string(), secret.as_str()).await?;
    // Of several servers that begin at once, the first one's counts.
    Ok(first(ledger).await?.unwrap_or(secret))
}

async fn first(ledger: &Ledger) -> Result<Option<String>, LedgerError> {
    let memos = ledger.memos(TenantId::LOCAL, SCOPE, Paging::first(1)).await?;
    Ok(memos.items.into_iter().next().map(|memo| memo.value))
}

/// What a call proves with whose it is.
pub(super) fn credential(headers: &HeaderMap) -> Option<&str> {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = named("authorization").map(|value| value.split_once(' ').map_or(value, |(_, token)| token));
    named("x-api-key").or(bearer).map(str::trim).filter(|credential| !credential.is_empty())
}
