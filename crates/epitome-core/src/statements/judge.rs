//! What a sentence does, by the cues in it.

use std::sync::LazyLock;

use super::Kind;
use super::cues::{CUES, Guard, UNSPACED};

/// A cue as it is looked for.
struct Cue {
    kind: Kind,
    guard: Guard,
    words: &'static str,
}

/// The cues, sorted by how they begin, and a sketch of how they begin: most words begin no cue, and are left at once.
struct Cues {
    sorted: Vec<Cue>,
    begins: [u64; 64],
}

static ALL: LazyLock<Cues> = LazyLock::new(|| {
    let split = |(kind, guard, list): &(Kind, Guard, &'static str)| {
        let (kind, guard) = (*kind, *guard);
        list.split('|').map(move |words| Cue { kind, guard, words }).collect::<Vec<_>>()
    };
    let mut cues: Vec<Cue> = CUES.iter().flat_map(split).collect();
    cues.sort_by_key(|cue| start(cue.words.as_bytes()));
    let mut begins = [0; 64];
    for cue in &cues {
        let bit = sketch(start(cue.words.as_bytes()));
        if let Some(bits) = begins.get_mut(bit / 64) {
            *bits |= 1 << (bit % 64);
        }
    }
    Cues { sorted: cues, begins }
});

// How a word begins: three bytes, a sign among them as the blank that it stands for.
fn start(word: &[u8]) -> [u8; 3] {
    let letter = |at: usize| match word.get(at).copied().unwrap_or(b' ') {
        letter if letter.is_ascii_alphanumeric() || letter >= 0x80 || letter == b'\'' => letter,
        _ => b' ',
    };
    [letter(0), letter(1), letter(2)]
}

// A number below 64 * 64 for the way a word begins.
fn sketch([first, second, third]: [u8; 3]) -> usize {
    let bits = |letter: u8| usize::from(letter & 0x1f);
    (bits(first) << 7 ^ bits(second) << 3 ^ bits(third)) & 0xfff
}

/// What a sentence does; `None` where it only tells. `buffer` is room to work in.
pub(super) fn kind(sentence: &str, buffer: &mut String) -> Option<Kind> {
    normalise(sentence, buffer);
    let asks = sentence.ends_with(['?', '？']) || sentence.ends_with("吗。") || sentence.ends_with("か。");
    let spaced = strongest(buffer, asks);
    let unspaced =
        if buffer.bytes().any(|byte| (0xe3..=0xe9).contains(&byte)) { unspaced(buffer) } else { None };
    match spaced.into_iter().chain(unspaced).min() {
        // Who asks "could you please …?" asks for something; who asks "shall I?" wants to know.
        Some(kind @ (Kind::Constraint | Kind::Preference)) => Some(kind),
        _ if asks => Some(Kind::Question),
        found => found,
    }
}

// Small letters, one kind of apostrophe, single spaces, one space behind the last word.
fn normalise(sentence: &str, buffer: &mut String) {
    buffer.clear();
    let mut blank = true;
    for letter in sentence.chars() {
        let space = letter.is_ascii_whitespace() || !letter.is_ascii() && letter.is_whitespace();
        match letter {
            _ if space => {
                if !blank {
                    buffer.push(' ');
                }
            }
            letter if letter.is_ascii() => buffer.push(letter.to_ascii_lowercase()),
            '’' | '‘' | 'ʼ' => buffer.push('\''),
            letter => buffer.extend(letter.to_lowercase()),
        }
        blank = space;
    }
    buffer.push(' ');
}

fn strongest(text: &str, asks: bool) -> Option<Kind> {
    let bytes = text.as_bytes();
    let Cues { sorted, begins } = &*ALL;
    let mut best: Option<Kind> = None;
    let mut inside = false;
    for (at, byte) in bytes.iter().enumerate() {
        let word = byte.is_ascii_alphanumeric() || *byte >= 0x80;
        if word && !inside {
            let bit = sketch(start(bytes.get(at..).unwrap_or_default()));
            if begins.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 == 1) {
                best = cues_at(sorted, text, at, asks).chain(best).min();
                if best == Some(Kind::Constraint) {
                    return best;
                }
            }
        }
        // What stands behind an apostrophe, a dash or a dot is no beginning.
        inside = word || matches!(byte, b'\'' | b'_' | b'-' | b'.' | b'/' | b'`');
    }
    best
}

fn cues_at(cues: &[Cue], text: &str, at: usize, asks: bool) -> impl Iterator<Item = Kind> {
    let rest = text.get(at..).unwrap_or_default();
    let word = start(rest.as_bytes());
    let from = cues.partition_point(|cue| start(cue.words.as_bytes()) < word);
    let same = cues.get(from..).unwrap_or_default().iter();
    same.take_while(move |cue| start(cue.words.as_bytes()) == word)
        .filter(move |cue| {
            begins(rest, cue.words) && allows(cue.guard, text.get(..at).unwrap_or_default(), asks)
        })
        .map(|cue| cue.kind)
}

// The blank at the end of a cue stands for any end of a word.
fn begins(rest: &str, cue: &str) -> bool {
    match cue.strip_suffix(' ') {
        None => rest.starts_with(cue),
        Some(words) => rest.strip_prefix(words).is_some_and(|after| {
            after.starts_with(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '-' | '_'))
        }),
    }
}

fn allows(guard: Guard, before: &str, asks: bool) -> bool {
    const SPEAKERS: [&str; 17] = [
        "i", "we", "they", "it", "he", "she", "that", "which", "who", "this", "and i", "ich", "wir", "es",
        "sie", "er", "there",
    ];
    let before = before.trim_end();
    let last = before.rsplit(' ').next().unwrap_or_default();
    match guard {
        Guard::Free => true,
        Guard::Order => !SPEAKERS.contains(&last) && !last.ends_with("n't"),
        Guard::Upright => !asks,
        Guard::Opening => {
            before.is_empty()
                || before.ends_with([',', ':', ';', '(', '—', '–', '*', '"'])
                || last == "please"
                || last == "but"
        }
    }
}

fn unspaced(text: &str) -> Option<Kind> {
    let has = |(_, list): &&(Kind, &str)| list.split('|').any(|cue| text.contains(cue));
    UNSPACED.iter().filter(has).map(|(kind, _)| *kind).min()
}
