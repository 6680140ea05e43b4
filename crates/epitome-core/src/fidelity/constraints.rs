//! Constraints: sentences in which the user says what must or must not be done.

/// Words that make a sentence a constraint.
const WORDS: &[&str] = &[
    "must",
    "never",
    "always",
    "should",
    "shall",
    "only",
    "cannot",
    "mustn't",
    "shouldn't",
    "don't",
    "can't",
    "won't",
    "ensure",
    "avoid",
    "required",
    "without",
    "except",
    "forbidden",
];

/// Words that do so together.
const PHRASES: &[&str] =
    &["do not", "make sure", "need to", "needs to", "have to", "has to", "no longer", "at least", "at most"];

const SHORTEST: usize = 12;
const LONGEST: usize = 400;

/// The constraints in a user's text, white space made single.
pub(super) fn constraints(text: &str) -> Vec<String> {
    let sentences = text.lines().flat_map(sentences).map(normalized);
    sentences
        .filter(|sentence| (SHORTEST..=LONGEST).contains(&sentence.len()) && is_constraint(sentence))
        .collect()
}

/// A text with all white space made single spaces.
pub(super) fn normalized(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line.trim_start_matches(|mark: char| mark.is_whitespace() || "-*#>•".contains(mark));
    while let Some(end) = end_of_sentence(rest) {
        let (sentence, after) = rest.split_at(end);
        found.push(sentence);
        rest = after;
    }
    found.push(rest);
    found
}

fn end_of_sentence(text: &str) -> Option<usize> {
    let pairs = text.char_indices().zip(text.chars().skip(1));
    pairs
        .filter(|((_, mark), next)| matches!(mark, '.' | '!' | '?') && next.is_whitespace())
        .map(|((at, mark), _)| at + mark.len_utf8())
        .next()
}

fn is_constraint(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let mut words = lower.split(|letter: char| !(letter.is_alphanumeric() || letter == '\''));
    words.any(|word| WORDS.contains(&word)) || PHRASES.iter().any(|phrase| has_phrase(&lower, phrase))
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    let apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) =
            (text.get(..at).unwrap_or_default(), text.get(at + phrase.len()..).unwrap_or_default());
        apart(before.chars().next_back()) && apart(after.chars().next())
    })
}
