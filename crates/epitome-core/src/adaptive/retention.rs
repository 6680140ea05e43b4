//! Priority-based retention: which old messages are worth keeping as they are.
//!
//! Scores come from cheap features of the text: words of decision, constraint, preference, fact and repair, and who
//! said them. A wrong guess costs a little room and loses nothing: what is not kept is in the summary.

use std::ops::Range;

use crate::message::{Block, BlockKind, Message, Role};
use crate::outline::{Entry, Outline};
use crate::turn::{exchanges, is_plain_user_message};
use crate::units::Tokens;

/// What a message must score to be kept.
pub const WORTH_KEEPING: f32 = 0.5;

/// At most so many pieces are kept: each splits the summary around it in two.
pub const MOST_PIECES: usize = 8;

/// No piece may take more than this part of the room.
const LARGEST_PIECE: u64 = 2;

/// So much of a text is read; what matters is mostly said at once.
const READ_BYTES: usize = 2_000;

/// What a text can be about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feature {
    Decision,
    Constraint,
    Preference,
    Fact,
    Repair,
}

impl Feature {
    const ALL: [Feature; 5] =
        [Feature::Decision, Feature::Constraint, Feature::Preference, Feature::Fact, Feature::Repair];

    fn weight(self) -> f32 {
        match self {
            Feature::Decision | Feature::Constraint => 0.35,
            Feature::Preference => 0.3,
            Feature::Repair => 0.25,
            Feature::Fact => 0.15,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Phrases in English, German, French and Spanish, in lower case and set apart by `|`. They are looked for at the
/// start of a word; a blank at their end asks for the end of one.
const PHRASES: &[(Feature, &str)] = &[
    (
        Feature::Decision,
        "decided|decision|let's go with|lets go with|go with|we'll use|we will use|we should use|agreed|the plan is|\
         settled on|chose |choose |approved|instead of|entschieden|entscheidung|wir nehmen|décidé|on prend|\
         au lieu de|decidido|vamos con|en lugar de",
    ),
    (
        Feature::Constraint,
        "must |mustn't|never |always |do not |don't |make sure|only use|at most|at least|no more than|required|\
         requirement|constraint|deadline|not allowed|budget|muss |müssen |niemals|höchstens|mindestens|doit |\
         jamais|toujours|debe |nunca|siempre",
    ),
    (
        Feature::Preference,
        "i prefer|prefer |preference|i'd like|i would like|i want|i like|please use|my name is|call me|bevorzuge|\
         lieber |ich möchte|ich will|je préfère|je veux|prefiero|quiero",
    ),
    (
        Feature::Fact,
        "http://|https://|version |password|api key|endpoint|port |id is|located at|is called|turns out|note that|\
         remember|important|beachte|wichtig",
    ),
    (
        Feature::Repair,
        "fixed|the fix|root cause|the problem was|the issue was|the bug|works now|solved|resolved|workaround|\
         turned out|error:|failed because|behoben|ursache|lag an|corrigé|la cause|solucionado|la causa",
    ),
];

/// How much each message is worth keeping as it is, from 0 to 1.
///
/// A message scores for who speaks (user 0.2, assistant 0.1) and for each feature that its texts show; what the
/// assistant says counts for four fifths. Tool results score only where they end in an error (0.2): their content
/// is a look-up away. Instructions score 1, as they are always kept.
pub fn scores(path: &[Entry], messages: &[Message]) -> Vec<f32> {
    let index = Phrases::new();
    path.iter().enumerate().map(|(at, entry)| score(&index, &entry.outline, messages.get(at))).collect()
}

/// Which messages before `cut` deserve to stay in the `room` that is left, ascending: at most [`MOST_PIECES`] pieces,
/// the best first, of equals the newest.
///
/// A piece is a whole exchange, so that every tool call keeps its result; or, where the exchange is too large, the user
/// message that opens it.
pub fn keep_longer(path: &[Entry], messages: &[Message], cut: usize, room: Tokens) -> Vec<usize> {
    let old = path.get(..cut).unwrap_or(path);
    let scores = scores(old, messages);
    let largest = Tokens(room.0 / LARGEST_PIECE);
    let mut pieces: Vec<Piece> = Vec::new();
    for range in exchanges(old.iter().map(|entry| entry.outline.as_ref())) {
        // The exchange that the cut goes through stays together on the other side or in the summary.
        let goes_on =
            range.end == cut && path.get(cut).is_some_and(|entry| !is_plain_user_message(&entry.outline));
        let best =
            |range: Range<usize>| scores.get(range).unwrap_or_default().iter().copied().fold(0.0, f32::max);
        let opening = range.start..range.start + 1;
        let whole = (!goes_on).then_some(range);
        for range in whole.into_iter().chain([opening]) {
            let tokens =
                old.get(range.clone()).unwrap_or_default().iter().map(|entry| entry.outline.tokens).sum();
            let score = best(range.clone());
            if score >= WORTH_KEEPING && tokens <= largest {
                pieces.push(Piece { range, tokens, score });
                break;
            }
        }
    }
    pieces.sort_by(|left, right| {
        right.score.total_cmp(&left.score).then(right.range.start.cmp(&left.range.start))
    });
    let mut left = room;
    let mut kept: Vec<usize> = Vec::new();
    let mut count = 0;
    for piece in pieces {
        if count < MOST_PIECES && piece.tokens <= left {
            left = left - piece.tokens;
            count += 1;
            kept.extend(piece.range);
        }
    }
    kept.sort_unstable();
    kept
}

struct Piece {
    range: Range<usize>,
    tokens: Tokens,
    score: f32,
}

fn score(index: &Phrases, outline: &Outline, message: Option<&Message>) -> f32 {
    let (base, trust) = match outline.role {
        Role::System | Role::Developer => return 1.0,
        Role::User => (0.2, 1.0),
        Role::Assistant => (0.1, 0.8),
        _ => (0.0, 0.0),
    };
    let failed =
        outline.blocks.iter().any(|block| block.kind == BlockKind::ToolResult && block.error_tail.0 > 0);
    let texts = message.into_iter().flat_map(|message| &message.blocks).filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let mut found = 0;
    let mut said = false;
    for text in texts {
        said |= !text.trim_start().is_empty();
        found |= index.features(start_of(text));
    }
    let features: f32 = Feature::ALL
        .iter()
        .filter(|feature| found & feature.bit() != 0)
        .map(|feature| feature.weight())
        .sum();
    let repair = if failed { 0.2 } else { 0.0 };
    let base = if said { base } else { 0.0 };
    (base + trust * features + repair).min(1.0)
}

fn start_of(text: &str) -> &str {
    let mut end = text.len().min(READ_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The phrases by their first byte, so that a text is read once.
struct Phrases {
    by_start: Vec<Vec<(&'static [u8], u8)>>,
}

impl Phrases {
    fn new() -> Self {
        let mut by_start = vec![Vec::new(); 256];
        for (feature, phrases) in PHRASES {
            for phrase in phrases.split('|') {
                if let Some(start) =
                    phrase.bytes().next().and_then(|byte| by_start.get_mut(usize::from(byte)))
                {
                    start.push((phrase.as_bytes(), feature.bit()));
                }
            }
        }
        Self { by_start }
    }

    // A set of feature bits.
    fn features(&self, text: &str) -> u8 {
        let bytes = text.as_bytes();
        let mut found = 0;
        let mut in_word = false;
        for (at, byte) in bytes.iter().enumerate() {
            let part_of_word = byte.is_ascii_alphanumeric() || *byte >= 0x80;
            if !in_word
                && part_of_word
                && let Some(phrases) = self.by_start.get(usize::from(byte.to_ascii_lowercase()))
            {
                let rest = bytes.get(at..).unwrap_or_default();
                for (phrase, bit) in phrases {
                    let same =
                        rest.get(..phrase.len()).is_some_and(|start| start.eq_ignore_ascii_case(phrase));
                    found |= if same { *bit } else { 0 };
                }
            }
            in_word = part_of_word;
        }
        found
    }
}
