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

/// The cues, sorted by how they begin, and a sketch of that: most sentences have no word that begins a cue, and are left
/// at once.
struct Cues {
    sorted: Vec<Cue>,
    /// How cues of less than five letters begin, and how the others do.
    short: Sketch,
    long: Sketch,
}

/// A set of numbers below 2^15.
struct Sketch(Vec<u64>);

impl Sketch {
    fn add(&mut self, number: usize) {
        if let Some(bits) = self.0.get_mut(number / 64) {
            *bits |= 1 << (number % 64);
        }
    }

    #[inline]
    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|bits| bits >> (number % 64) & 1 == 1)
    }
}

static ALL: LazyLock<Cues> = LazyLock::new(|| {
    let split = |(kind, guard, list): &(Kind, Guard, &'static str)| {
        let (kind, guard) = (*kind, *guard);
        list.split('|').map(move |words| Cue { kind, guard, words }).collect::<Vec<_>>()
    };
    let mut sorted: Vec<Cue> = CUES.iter().flat_map(split).collect();
    sorted.sort_by_key(|cue| start(cue.words.as_bytes()));
    let empty = || Sketch(vec![0; (1 << 15) / 64]);
    let (mut short, mut long) = (empty(), empty());
    for cue in &sorted {
        match cue.words.len() {
            0..5 => short.add(three(cue.words.as_bytes())),
            _ => long.add(five(cue.words.as_bytes())),
        }
    }
    Cues { sorted, short, long }
});

impl Cues {
    // Whether a cue may begin with this word.
    #[inline]
    fn may_begin(&self, word: &[u8]) -> bool {
        self.long.has(five(word)) || self.short.has(three(word))
    }
}

// A letter of either case, and any sign as the blank that it stands for, in five bits.
fn bits(word: &[u8], at: usize) -> usize {
    match word.get(at) {
        Some(byte) if byte.is_ascii_alphabetic() || *byte >= 0x80 => usize::from(byte & 0x1f),
        _ => 0,
    }
}

fn three(word: &[u8]) -> usize {
    bits(word, 0) << 10 | bits(word, 1) << 5 | bits(word, 2)
}

fn five(word: &[u8]) -> usize {
    (three(word) ^ bits(word, 3) << 7 ^ bits(word, 4) << 2) & 0x7fff
}

// How a word begins: three bytes, a sign among them as the blank that it stands for.
fn start(word: &[u8]) -> [u8; 3] {
    let letter = |at: usize| match word.get(at).copied().unwrap_or(b' ') {
        letter if letter.is_ascii_alphanumeric() || letter >= 0x80 || letter == b'\'' => letter,
        _ => b' ',
    };
    [letter(0), letter(1), letter(2)]
}

/// What a sentence does; `None` where it only tells. `buffer` is room to work in.
pub(super) fn kind(sentence: &str, buffer: &mut String) -> Option<Kind> {
    let asks = sentence.ends_with(['?', '？']) || sentence.ends_with("吗。") || sentence.ends_with("か。");
    if !has_cue(sentence) {
        return asks.then_some(Kind::Question);
    }
    normalise(sentence, buffer);
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

// Whether a word of the sentence may begin a cue.
fn has_cue(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    // Other scripts, and signs that are written in several ways, have to be looked at closely.
    let other = bytes.iter().any(|byte| (0xe2..=0xe9).contains(byte));
    other || word_starts(bytes).any(|at| ALL.may_begin(bytes.get(at..).unwrap_or_default()))
}

// Where words begin. What stands behind an apostrophe, a dash or a dot is no beginning.
fn word_starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut inside = false;
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        let word = byte.is_ascii_alphanumeric() || *byte >= 0x80;
        let begins = word && !inside;
        inside = word || matches!(byte, b'\'' | b'_' | b'-' | b'.' | b'/' | b'`');
        begins.then_some(at)
    })
}

fn strongest(text: &str, asks: bool) -> Option<Kind> {
    let bytes = text.as_bytes();
    let mut best: Option<Kind> = None;
    for at in word_starts(bytes) {
        if ALL.may_begin(bytes.get(at..).unwrap_or_default()) {
            best = cues_at(&ALL.sorted, text, at, asks).chain(best).min();
            if best == Some(Kind::Constraint) {
                return best;
            }
        }
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
