//! Chain hashes: a message's hash together with that of everything before it.

use std::fmt;

use epitome_core::ContentHash;

/// What a path up to a message hashes to: equal hashes mean equal conversations up to there.
///
/// Clients of stateless protocols send the whole history with each request. The chain hashes of what they send say how
/// much of it is known, and where in the ledger it stands. Sixteen bytes: collisions take 2^64 messages of one tenant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainHash([u8; Self::LENGTH]);

impl ChainHash {
    /// Bytes of a hash.
    pub const LENGTH: usize = 16;

    /// The hash of a path without messages.
    pub const ROOT: ChainHash = ChainHash([0; Self::LENGTH]);

    /// The hash behind one more message, of which `digest` is the hash of the canonical form.
    #[must_use]
    pub fn then(self, digest: &ContentHash) -> Self {
        self.then_bytes(digest.as_bytes())
    }

    pub(crate) fn then_bytes(self, digest: &[u8; 32]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("epitome 2026 chain of messages");
        hasher.update(&self.0).update(digest);
        let mut hash = [0; Self::LENGTH];
        hasher.finalize_xof().fill(&mut hash);
        Self(hash)
    }

    /// The hashes behind each of these messages, from the first.
    pub fn along<'d>(digests: impl IntoIterator<Item = &'d ContentHash>) -> Vec<Self> {
        let follow = |chain: &mut ChainHash, digest| {
            *chain = chain.then(digest);
            Some(*chain)
        };
        digests.into_iter().scan(Self::ROOT, follow).collect()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
