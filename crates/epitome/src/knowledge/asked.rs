//! What is asked for, as words to be looked for: some of them will do, and none must stand there as it was typed.

/// So many words are looked for.
const MOST: usize = 32;

/// Words that stand in any question.
const EMPTY: &str = "the and for are with that this what which how does has have had was were can could you your our not but \
    from into its who why when where will would should did use der die das und ist wie wir mit von für les des une est que qui \
    los las para por con una";

/// The words of a question, apart by spaces.
pub(super) fn words(query: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in query.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let low = word.to_lowercase();
        if word.chars().any(is_dense) {
            let letters: Vec<char> = word.chars().collect();
            words.extend(letters.windows(2).map(|pair| pair.iter().collect()));
        } else if word.chars().count() > 1 && !EMPTY.split_ascii_whitespace().any(|empty| empty == low) {
            words.push(low);
        }
    }
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(word.clone()));
    words.truncate(MOST);
    words.join(" ")
}

// A letter of a script that parts no words.
fn is_dense(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn questions_become_words() {
        let cases = [
            ("Which port has the database?", "port database"),
            ("open \"src/main.rs\" (again, again)", "open src main rs again"),
            ("データ?", "デー ータ"),
            ("set max_size to 3", "set max_size to"),
            ("?!", ""),
        ];
        for (query, expected) in cases {
            assert_eq!(words(query), expected, "{query}");
        }
    }
}
