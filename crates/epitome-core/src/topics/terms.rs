//! The terms of an exchange: words that carry its subject, names and paths above all.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::sentences::up_to;
use crate::message::{Block, Message};

/// How much of a block is read: its start tells what it is about.
const BLOCK: usize = 1_000;
/// How much of an exchange is read.
const EXCHANGE: usize = 6_000;
/// How much more an identifier or a path says than a word.
const NAME_WEIGHT: f64 = 2.0;

/// Terms by the hash of their spelling, with their weight.
pub(crate) type Terms = HashMap<u64, f64>;

/// The terms of an exchange. The cost is bounded, however large the exchange.
pub(crate) fn terms(exchange: &[Message]) -> Terms {
    let mut found: HashMap<u64, (f64, f64)> = HashMap::new();
    let mut room = EXCHANGE;
    for block in exchange.iter().flat_map(|message| &message.blocks) {
        let results = match block {
            Block::ToolResult(result) => result.content.as_slice(),
            _ => std::slice::from_ref(block),
        };
        for text in results.iter().filter_map(text) {
            let text = up_to(text, BLOCK.min(room));
            room -= text.len();
            for (term, weight) in text.split(is_gap).filter_map(term) {
                found.entry(term).or_insert((0.0, weight)).0 += 1.0;
            }
        }
    }
    // A word said ten times says little more than one said twice.
    found.into_iter().map(|(term, (times, weight))| (term, (1.0 + times).ln() * weight)).collect()
}

/// The terms of a text in which people talk, in their order.
pub(crate) fn word_terms(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.split(is_gap).filter_map(term).map(|(term, _)| term)
}

fn text(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) => Some(&text.text),
        Block::ToolUse(call) => Some(&call.input),
        _ => None,
    }
}

fn is_gap(letter: char) -> bool {
    !(letter.is_alphanumeric() || matches!(letter, '_' | '.' | '/' | '-'))
}

fn term(word: &str) -> Option<(u64, f64)> {
    let word = word.trim_matches(['_', '.', '/', '-']);
    // Of scripts without spaces a "word" is a whole clause, which would never come twice.
    if word.chars().take(3).count() < 3 || word.chars().count() > 80 {
        return None;
    }
    let lower = word.to_lowercase();
    if is_name(word) {
        return Some((hash(&lower), NAME_WEIGHT));
    }
    let few_digits = lower.len() < 4 && lower.bytes().all(|byte| byte.is_ascii_digit());
    (!few_digits && !STOPPED.contains(lower.as_str())).then(|| (hash(stem(&lower)), 1.0))
}

// A path, a dotted name, snake_case, camelCase, or letters and digits together.
fn is_name(word: &str) -> bool {
    let camel = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(left, right)| left.is_lowercase() && right.is_uppercase());
    let digits = word.chars().any(|letter| letter.is_ascii_digit());
    let letters = word.chars().any(char::is_alphabetic);
    word.contains(['/', '_', '.']) || camel || (digits && letters)
}

fn stem(word: &str) -> &str {
    let endings = ["ing", "ed", "es", "s"];
    let stem = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() >= 3));
    stem.unwrap_or(word)
}

// FNV-1a: the same on every machine and in every run, which the standard library's hash is not.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Words that stand in any conversation, whatever it is about.
const STOP_WORDS: &str = "about after again all also and any are been before being but can could did does done down each \
    else few for from get got had has have having help her here him his how into its just know let \
    like made make may might more most must need new not now off okay one only other our out over \
    own please same see shall she should some such sure than thank thanks that the their them then \
    there these they this those too two use used using very want was were what when where which who \
    why will with would yes you your aber auch auf aus bei bitte das dass dem den der des die ein \
    eine einen für haben hat ich ist kann mit nicht noch oder sich sie sind und von war wie wir wird \
    zum zur avec dans est les mais nous par pas pour que qui sur une vous como con del esta este los \
    las más para pero por una che non per sono não uma";

static STOPPED: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split(' ').collect());
