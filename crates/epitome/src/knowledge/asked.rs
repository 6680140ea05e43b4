//! What is asked for, as words to be looked for: some of them will do, and none must stand there as it was typed.

/// So many words are looked for.
const MOST: usize = 64;

/// Words that stand in any question.
const EMPTY: &str = "the and for are with that this what which how does has have had was were can could you your our not but \
    from into its who why when where will would should did use der die das und ist wie wir mit von für les des une est que qui \
    los las para por con una";

/// The words of a question, apart by spaces: all of them, or else those that are likely to be rare.
pub(super) fn words(query: &str) -> String {
    let mut words: Vec<Word> = Vec::new();
    for word in query.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
        let low = word.to_lowercase();
        if word.chars().any(is_dense) {
            let letters: Vec<char> = word.chars().collect();
            let pair = |pair: &[char]| Word { text: pair.iter().collect(), is_name: false };
            words.extend(letters.windows(2).map(pair));
        } else if word.chars().count() > 1 && !EMPTY.split_ascii_whitespace().any(|empty| empty == low) {
            words.push(Word { text: low, is_name: is_name(word) });
        }
    }
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(word.text.clone()));
    if words.len() > MOST {
        words.sort_by_key(|word| (!word.is_name, std::cmp::Reverse(word.text.len())));
        words.truncate(MOST);
    }
    let texts: Vec<String> = words.into_iter().map(|word| word.text).collect();
    texts.join(" ")
}

/// A word that may be looked for.
struct Word {
    text: String,
    is_name: bool,
}

// Numbers, ids and what programs call things: they stand in few texts. So do long words, rather than short ones.
fn is_name(word: &str) -> bool {
    let inner = |letter: char| letter.is_uppercase() || letter.is_numeric() || letter == '_';
    word.starts_with(char::is_numeric) || word.chars().skip(1).any(inner)
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

    #[test]
    fn of_a_long_question_names_and_long_words_are_kept() {
        let short: Vec<String> =
            ('a'..='z').flat_map(|one| ['x', 'y', 'z'].map(|two| format!("{one}{two}"))).collect();
        let query = format!("{} E0382 lighthouse parse_http readAll 5433 Zebra", short.join(" "));
        let kept = words(&query);
        let kept: Vec<&str> = kept.split(' ').collect();
        assert_eq!(kept.len(), super::MOST);
        assert_eq!(kept[..7], ["parse_http", "readall", "e0382", "5433", "lighthouse", "zebra", "ax"]);
    }
}
