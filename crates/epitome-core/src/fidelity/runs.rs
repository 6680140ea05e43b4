//! Runs: eight tokens in a row, white space not counted.

use std::collections::HashSet;

use super::lexer::{Token, mix};
use super::reading::Passage;
use super::texts::Voice;

/// How many tokens make a run.
const LENGTH: usize = 8;

/// The hashes of all runs of these tokens, each with the number of its first token.
pub(super) fn runs(tokens: &[Token]) -> impl Iterator<Item = (usize, u64)> {
    tokens.windows(LENGTH).map(hash).enumerate()
}

// Those that can be asked for: a run inside a single word, such as a long path, is an item and no run.
fn typed(tokens: &[Token]) -> impl Iterator<Item = u64> {
    let is_spaced = |window: &&[Token]| window.iter().skip(1).any(|token| !token.glued);
    tokens.windows(LENGTH).filter(is_spaced).map(hash)
}

fn hash(window: &[Token]) -> u64 {
    window.iter().fold(0, |hash, token| mix(hash, token.hash))
}

/// The runs that the agent types into calls behind the cut and can only know from before it, with their words.
pub(super) fn asked(
    system: &[Passage],
    before: &[Vec<Passage>],
    after: &[Vec<Passage>],
) -> Vec<(u64, String)> {
    let calls = after.iter().flatten().filter(|passage| passage.voice == Voice::Call);
    let typed: HashSet<u64> = calls.flat_map(|call| typed(&call.tokens)).collect();
    let known = before.iter().flatten().flat_map(hashes);
    let mut open: HashSet<u64> = known.filter(|run| typed.contains(run)).collect();
    for run in system.iter().flat_map(hashes) {
        open.remove(&run);
    }
    let mut asked = Vec::new();
    for passage in after.iter().flatten() {
        let found = runs(&passage.tokens).filter(|(_, run)| open.remove(run));
        match passage.voice {
            Voice::Call => {
                asked.extend(found.map(|(at, run)| (run, passage.words(at..at + LENGTH).to_owned())));
            }
            _ if passage.is_supplied() => found.for_each(drop),
            _ => {}
        }
    }
    asked
}

fn hashes(passage: &Passage) -> impl Iterator<Item = u64> {
    runs(&passage.tokens).map(|(_, run)| run)
}
