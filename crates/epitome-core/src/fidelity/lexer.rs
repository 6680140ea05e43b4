//! A plain lexer: words and single marks, with the line each stands on. It knows no language.

/// A word or a mark of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// A hash of its letters: equal tokens have equal hashes, and 64 bits keep others apart.
    pub(super) hash: u64,
    /// Where it starts, in bytes.
    pub(super) start: usize,
    /// Its line.
    pub(super) line: usize,
    /// Whether it stands directly behind the token before it.
    pub(super) glued: bool,
}

/// The tokens of a text whose first line has this number.
pub(super) fn lex(text: &str, first_line: usize) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut line = first_line;
    let mut end = None;
    let mut characters = text.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        if character == '\n' {
            line += 1;
        }
        if character.is_whitespace() {
            continue;
        }
        let mut after = start + character.len_utf8();
        if is_word(character) {
            while let Some((at, next)) = characters.next_if(|(_, next)| is_word(*next)) {
                after = at + next.len_utf8();
            }
        }
        let hash = hash(text.get(start..after).unwrap_or_default().as_bytes());
        tokens.push(Token { hash, start, line, glued: end == Some(start) });
        end = Some(after);
    }
    tokens
}

/// How many lines a text takes.
pub(super) fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// Whether a character belongs to a word.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

// FNV-1a: short words, and the same on every machine.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash, u64::from(*byte)))
}

/// One step of a hash.
pub(super) fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}
