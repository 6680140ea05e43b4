//! Whose a call is: the ledger's owner's, or told by a keyed hash of its credential, so that equal openings of two customers never meet.

use std::fmt;
use std::str::FromStr;

use epitome::TenantId;
use epitome::ledger::model::Memo;
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
pub(super) struct Identities([u8; 32]);

impl Identities {
    /// With the key of a ledger, which is made when it is first needed.
    pub(super) async fn of(ledger: &Ledger) -> Result<Self, LedgerError> {
        if let Some(key) = Self::first(ledger).await? {
            return Ok(Self(key));
        }
        let name = uuid::Uuid::new_v4().to_string();
        let value = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        ledger.put_memo(TenantId::LOCAL, SCOPE, name, value).await?;
        // Of several servers that begin at once, the first one's counts.
        let key = Self::first(ledger).await?;
        Ok(Self(key.unwrap_or_default()))
    }

    async fn first(ledger: &Ledger) -> Result<Option<[u8; 32]>, LedgerError> {
        let memos = ledger.memos(TenantId::LOCAL, SCOPE, Paging::first(1)).await?;
        let key =
            |memo: &Memo| blake3::derive_key("epitome 2026 tenants of the proxy", memo.value.as_bytes());
        Ok(memos.items.first().map(key))
    }

    /// Whose credential this is.
    pub(super) fn tenant(&self, credential: &str) -> TenantId {
        let mut bytes = [0; 16];
        blake3::Hasher::new_keyed(&self.0).update(credential.as_bytes()).finalize_xof().fill(&mut bytes);
        TenantId::from_uuid(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

/// What a call proves with whose it is.
pub(super) fn credential(headers: &HeaderMap) -> Option<&str> {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = named("authorization").map(|value| value.split_once(' ').map_or(value, |(_, token)| token));
    named("x-api-key").or(bearer).map(str::trim).filter(|credential| !credential.is_empty())
}
