//! Coming down to a limit in bytes: conversations are planned in tokens, so tokens are tried until the bytes are right.

use epitome_core::Tokens;

/// How often a conversation is planned anew.
const MOST_ATTEMPTS: usize = 8;
/// Whatever fits and has this share of the room is near enough.
const NEAR: f64 = 0.9;

/// A search for the most tokens whose result has no more bytes than allowed.
pub(super) struct Search {
    /// Bytes that the conversation may have.
    room: f64,
    /// The most tokens that are known to fit, and the least that are known not to.
    fits: u64,
    exceeds: u64,
    left: usize,
}

impl Search {
    /// A search for what has so many bytes beside `fixed` ones, from the least tokens on to the whole conversation.
    ///
    /// None where there is no room for any conversation: then it is not the conversation that has to become smaller.
    pub(super) fn new(limit: usize, fixed: usize, least: Tokens, whole: Tokens) -> Option<Self> {
        let room = limit.checked_sub(fixed).filter(|room| *room > 0)? as f64;
        Some(Self { room, fits: least.0.saturating_sub(1), exceeds: whole.0, left: MOST_ATTEMPTS })
    }

    /// What to try first of a conversation that has so many bytes.
    pub(super) fn first(&self, bytes: usize) -> Option<Tokens> {
        self.guess(self.exceeds, bytes.max(1))
    }

    /// What to try next, where so many tokens gave so many bytes of conversation.
    pub(super) fn next(&mut self, tried: Tokens, bytes: usize) -> Option<Tokens> {
        let share = bytes as f64 / self.room;
        match share <= 1.0 {
            true => self.fits = self.fits.max(tried.0),
            false => self.exceeds = self.exceeds.min(tried.0),
        }
        self.left -= 1;
        let apart = self.exceeds.saturating_sub(self.fits);
        let settled = (NEAR..=1.0).contains(&share) || apart <= self.exceeds / 50;
        if settled || self.left == 0 { None } else { self.guess(tried.0, bytes.max(1)) }
    }

    // By the bytes that a token had last, or half-way where that was tried before.
    fn guess(&self, tried: u64, bytes: usize) -> Option<Tokens> {
        let by_share = (tried as f64 * self.room / bytes as f64 * 0.97) as u64;
        let between = self.fits + 1..self.exceeds;
        let guess = if between.contains(&by_share) { by_share } else { self.fits.midpoint(self.exceeds) };
        between.contains(&guess).then_some(Tokens(guess))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Tries until the search ends; the best that fitted.
    fn found(limit: usize, bytes_of: impl Fn(Tokens) -> usize) -> Option<usize> {
        let whole = Tokens(70_000);
        let mut search = Search::new(limit, 100, Tokens(256), whole)?;
        let (mut tokens, mut best) = (search.first(bytes_of(whole)), None);
        while let Some(tried) = tokens {
            let bytes = bytes_of(tried);
            best = best.max(Some(bytes).filter(|bytes| bytes + 100 <= limit));
            tokens = search.next(tried, bytes);
        }
        best
    }

    #[test]
    fn it_comes_near_the_limit() {
        for limit in [3_000, 30_000, 100_000] {
            for bytes_per_token in [2, 4, 7] {
                let best = found(limit, |tokens| tokens.0 as usize * bytes_per_token);
                assert!(
                    best.is_some_and(|best| best > limit * 8 / 10),
                    "{limit}, {bytes_per_token}: {best:?}"
                );
            }
            // What cannot be had in between is not waited for.
            let best = found(limit, |tokens| tokens.0 as usize / 1_000 * 2_500);
            assert!(best.is_some(), "{limit}");
        }
        assert_eq!(found(50, |tokens| tokens.0 as usize), None, "there is no room");
        assert_eq!(found(400, |tokens| tokens.0 as usize * 2), None, "the least is too much");
    }
}
