//! Sentences, and those in which the user says what must or must not be done.

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

/// Shorter ones say nothing by themselves ("Only one."); longer ones are no sentences but data.
const LENGTHS: std::ops::RangeInclusive<usize> = 12..=400;

/// The sentences of a text, white space made single: lines end them, and so do full stops.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = String> {
    let sentences = text.lines().flat_map(of_line).map(normalized);
    sentences.filter(|sentence| LENGTHS.contains(&sentence.len()))
}

/// The sentences that are constraints.
pub(super) fn constraints(text: &str) -> impl Iterator<Item = String> {
    sentences(text).filter(|sentence| is_constraint(sentence))
}

/// A text with all white space made single spaces.
pub(super) fn normalized(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_line(line: &str) -> Vec<&str> {
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
    let mut pairs = text.char_indices().zip(text.chars().skip(1));
    let ends = |((_, mark), next): &((usize, char), char)| {
        matches!(mark, '.' | '!' | '?') && next.is_whitespace() || matches!(mark, '。' | '！' | '？')
    };
    pairs.find(ends).map(|((at, mark), _)| at + mark.len_utf8())
}

fn is_constraint(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let mut words = lower.split(|letter: char| !(letter.is_alphanumeric() || letter == '\''));
    words.any(|word| WORDS.contains(&word)) || PHRASES.iter().any(|phrase| has_phrase(&lower, phrase))
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    let apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + phrase.len()..).and_then(|after| after.chars().next());
        apart(before) && apart(after)
    })
}
