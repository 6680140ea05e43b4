//! Letters as a search compares them: lower case, without accents.

/// The letter that a letter is searched by; nothing for marks that only change the letter before them.
pub(crate) fn fold(letter: char) -> Option<char> {
    match letter {
        'A'..='Z' => Some(letter.to_ascii_lowercase()),
        '\0'..='\x7f' => Some(letter),
        '\u{300}'..='\u{36f}' => None,
        '\u{c0}'..='\u{17f}' => Some(latin(letter)),
        _ => letter.to_lowercase().next(),
    }
}

/// A text as a search compares it.
pub(crate) fn folded(text: &str) -> String {
    text.chars().filter_map(fold).collect()
}

// The base letters of U+00C0 to U+017F, in order; a dot stands for a letter that is its own.
const LATIN: &str = "aaaaaaaceeeeiiiidnooooo.ouuuuy.saaaaaaaceeeeiiiidnooooo.ouuuuy.y\
aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll\
lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

fn latin(letter: char) -> char {
    let place = (letter as usize).saturating_sub(0xc0);
    match LATIN.as_bytes().get(place) {
        Some(b'.') | None => letter.to_lowercase().next().unwrap_or(letter),
        Some(base) => char::from(*base),
    }
}

/// Whether a letter belongs to a script that writes no spaces between words.
pub(crate) fn is_dense(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a letter is part of a word or an identifier.
pub(crate) fn is_word(letter: char) -> bool {
    (letter.is_alphanumeric() || letter == '_' || matches!(letter, '\u{300}'..='\u{36f}'))
        && !is_dense(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_case_do_not_matter() {
        assert_eq!(folded("Ångström ÉCOLE žluťoučký ŁÓDŹ ŒUVRE ſ"), "angstrom ecole zlutoucky lodz ouvre s");
        assert_eq!(folded("e\u{301}cole ΣΑΣ Привет 漢字"), "ecole σασ привет 漢字");
        assert_eq!(LATIN.len(), 0x180 - 0xc0);
    }
}
