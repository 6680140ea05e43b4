//! Runs: eight tokens in a row, white space not counted.

use super::lexer::{Token, mix};

/// How many tokens make a run.
pub(super) const LENGTH: usize = 8;

/// The hashes of all runs of these tokens.
///
/// A run inside a single word, such as a long path, is an item and no run.
pub(super) fn runs(tokens: &[Token]) -> impl Iterator<Item = u64> {
    let spaced = |window: &&[Token]| window.iter().skip(1).any(|token| !token.glued);
    tokens
        .windows(LENGTH)
        .filter(spaced)
        .map(|window| window.iter().fold(0, |hash, token| mix(hash, token.hash)))
}
