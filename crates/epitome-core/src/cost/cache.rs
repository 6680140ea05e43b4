//! A provider's prompt cache, simulated: how much of a request it serves, takes or leaves alone.
//!
//! The rule is that of the large providers: a prefix is served if the same bytes were sent lately, part by part from the
//! very first. Whatever is used is kept for the lifetime from then on; whatever is shorter than the minimum is not kept.

use std::collections::HashMap;

use super::tariff::Tariff;
use crate::hash::ContentHash;
use crate::message::Usage;
use crate::units::{Time, Tokens};

/// A part of a request, in the order in which it is sent: the tools, the instructions, a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its tokens.
    pub tokens: Tokens,
}

/// What a provider keeps of the requests that were sent to it.
#[derive(Clone, Debug)]
pub struct PromptCache {
    minimum: Tokens,
    lifetime_millis: u64,
    /// When each prefix was last used, by the chain of its parts.
    used: HashMap<ContentHash, Time>,
}

impl PromptCache {
    /// An empty cache of a provider with these prices, which keeps for so many milliseconds what nobody uses.
    pub fn new(tariff: &Tariff, lifetime_millis: u64) -> Self {
        Self { minimum: tariff.minimum, lifetime_millis, used: HashMap::new() }
    }

    /// Sends a request, and says how its input is billed.
    pub fn send<'a>(&mut self, now: Time, parts: impl IntoIterator<Item = Part<'a>>) -> Usage {
        let (mut total, mut served) = (Tokens::ZERO, Tokens::ZERO);
        let mut chain = ContentHash::of(&[]);
        // Once a prefix is not there, no longer one is looked for: it would end in other bytes.
        let mut unbroken = true;
        for part in parts {
            chain = linked(chain, part.bytes);
            total += part.tokens;
            if total < self.minimum {
                continue;
            }
            let before = self.used.insert(chain, now);
            unbroken &= before.is_some_and(|used| now.since(used) < self.lifetime_millis);
            served = if unbroken { total } else { served };
        }
        let rest = total - served;
        let taken = if total < self.minimum { Tokens::ZERO } else { rest };
        Usage { input: rest - taken, cache_read: served, cache_write: taken, output: Tokens::ZERO }
    }
}

// The bytes are hashed by themselves, so that where one part ends and the next begins counts.
fn linked(chain: ContentHash, bytes: &[u8]) -> ContentHash {
    let mut both = [0; 64];
    let (left, right) = both.split_at_mut(32);
    left.copy_from_slice(chain.as_bytes());
    right.copy_from_slice(ContentHash::of(bytes).as_bytes());
    ContentHash::of(&both)
}
