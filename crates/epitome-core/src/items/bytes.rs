//! What each byte can be part of, and safe ways to look at bytes.

/// A small letter.
pub(super) const LOWER: u8 = 1;
/// A capital letter.
pub(super) const UPPER: u8 = 1 << 1;
/// A digit.
pub(super) const DIGIT: u8 = 1 << 2;
/// A letter outside ASCII of a script that has words, or a part of one.
pub(super) const FOREIGN: u8 = 1 << 3;
/// `_`
pub(super) const UNDERSCORE: u8 = 1 << 4;
/// `.`
pub(super) const DOT: u8 = 1 << 5;
/// `/`
pub(super) const SLASH: u8 = 1 << 6;
/// `-`, `@`, `#`, `$`, `~`: signs inside or before names.
pub(super) const SIGN: u8 = 1 << 7;

/// What each byte can be; nothing where it ends a word.
pub(super) const CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = match at as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' => DOT,
            b'/' => SLASH,
            b'-' | b'@' | b'#' | b'$' | b'~' => SIGN,
            // Letters of two bytes (Latin, Greek, Cyrillic and others) begin with these. What begins with C2 or with E0
            // and above is punctuation or a script without spaces, both of which end a name.
            0xc3..=0xdf => FOREIGN,
            0x80..=0xbf => FOREIGN,
            _ => 0,
        };
        at += 1;
    }
    table
}

/// What a byte means between words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// A word begins.
    Ends,
    /// Nothing.
    GoesOn,
    /// More than one byte must be looked at.
    Perhaps,
}

/// What each byte means between words.
pub(super) const GAPS: [Gap; 256] = gaps();

const fn gaps() -> [Gap; 256] {
    let mut table = [Gap::GoesOn; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = match at as u8 {
            // A slash may belong to something that is no path, a backslash to an escape; from E3 on scripts have no spaces.
            b'/' | b'\\' | 0xe3..=0xed => Gap::Perhaps,
            // A byte inside a letter can only be what is left of one that begins no word.
            0x80..=0xbf => Gap::GoesOn,
            _ if CLASS[at] != 0 => Gap::Ends,
            _ => Gap::GoesOn,
        };
        at += 1;
    }
    table
}

/// The class of a byte.
#[inline(always)]
pub(super) fn class(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// The byte at a place; 0 beyond the ends.
#[inline(always)]
pub(super) fn at(bytes: &[u8], place: usize) -> u8 {
    bytes.get(place).copied().unwrap_or(0)
}

/// The byte before a place; 0 at the start.
pub(super) fn before(bytes: &[u8], place: usize) -> u8 {
    place.checked_sub(1).map_or(0, |place| at(bytes, place))
}

/// Where the run of bytes that pass ends.
pub(super) fn run(bytes: &[u8], from: usize, passes: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !passes(*byte)).unwrap_or(rest.len())
}

/// Where the digits from a place on end.
pub(super) fn digits(bytes: &[u8], from: usize) -> usize {
    run(bytes, from, |byte| byte.is_ascii_digit())
}

/// Whether a letter or a digit stands there.
pub(super) fn is_word(byte: u8) -> bool {
    class(byte) & (LOWER | UPPER | DIGIT | FOREIGN) != 0
}

/// A word in small letters, filled up with zeros; `None` where it is longer.
pub(super) fn lower<const LONGEST: usize>(word: &[u8]) -> Option<[u8; LONGEST]> {
    if word.len() > LONGEST {
        return None;
    }
    let mut letters = [0; LONGEST];
    for (lower, letter) in letters.iter_mut().zip(word) {
        *lower = letter.to_ascii_lowercase();
    }
    Some(letters)
}

/// How many small letters stand from a place on, eight at a time.
#[inline(always)]
pub(super) fn small_letters(bytes: &[u8], from: usize) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const FROM_A: u64 = 0x1f1f_1f1f_1f1f_1f1f;
    const BEYOND_Z: u64 = 0x0505_0505_0505_0505;
    let mut length = 0;
    while let Some(eight) = bytes.get(from + length..).and_then(|rest| rest.first_chunk::<8>()) {
        // Added to a byte below 128, these set its high bit from `a` on, and beyond `z`; nothing is carried over.
        let word = u64::from_le_bytes(*eight);
        let low = word & !HIGH;
        let others = !((low + FROM_A) & !(low + BEYOND_Z) & !word) & HIGH;
        length += others.trailing_zeros() as usize / 8;
        if others != 0 {
            break;
        }
    }
    length
}
