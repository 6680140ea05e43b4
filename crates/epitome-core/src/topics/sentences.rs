//! The sentences that a person wrote in a message: without code, quotations and what a program put in.

/// How much of the start of a message is read: people announce a new topic first.
const START: usize = 1_000;
/// How much of its end: or last.
const END: usize = 300;

/// The sentences of a text, in lower case, each with the sign that ended it.
///
/// Of a long text only its start and its end are read, so the cost of a message is bounded.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let start = up_to(text, START);
    let rest = &text[start.len()..];
    let end = from_end(rest, END);
    let mut sentences = read(start);
    if !end.is_empty() {
        // The first sentence of the end began before it.
        sentences.extend(read(end).into_iter().skip(usize::from(end.len() < rest.len())));
    }
    sentences
}

/// The start of a text, at most so many bytes of it.
pub(crate) fn up_to(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

fn from_end(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(text.len())..]
}

fn read(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        // Quoted mail, tags that programs wrap around what they add, tables and diffs are nobody's announcement.
        if fenced || line.starts_with(['>', '<', '|', '+', '@', '$', '»']) {
            continue;
        }
        split(line, &mut sentences);
    }
    sentences
}

fn split(line: &str, sentences: &mut Vec<String>) {
    let mut open = String::new();
    let mut quoted: Option<char> = None;
    let mut letters = line.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        if let Some(end) = quoted {
            if letter == end {
                quoted = None;
            }
        } else if let Some(end) = closing(letter, before) {
            quoted = Some(end);
            // Something was said here, but not by this person.
            open.push('"');
        } else {
            match plain(letter) {
                letter if letter.is_ascii() => open.push(letter.to_ascii_lowercase()),
                letter => open.extend(letter.to_lowercase()),
            }
            if ends(letter, next) {
                push(&mut open, sentences);
            }
        }
        before = letter;
    }
    push(&mut open, sentences);
}

fn push(open: &mut String, sentences: &mut Vec<String>) {
    if open.chars().any(char::is_alphanumeric) {
        sentences.push(open.trim().to_owned());
    }
    open.clear();
}

// A sign that opens a quotation, or code; an apostrophe inside a word opens nothing.
fn closing(letter: char, before: char) -> Option<char> {
    match letter {
        '"' => Some('"'),
        '`' => Some('`'),
        '“' | '„' => Some('”'),
        '«' => Some('»'),
        '「' => Some('」'),
        '『' => Some('』'),
        '\'' | '‘' if !before.is_alphanumeric() => Some(if letter == '‘' { '’' } else { '\'' }),
        _ => None,
    }
}

// One sign for each of its spellings.
fn plain(letter: char) -> char {
    match letter {
        '’' | '‘' | 'ʼ' => '\'',
        '–' | '—' | '―' => '-',
        '，' | '、' => ',',
        '：' => ':',
        '\u{a0}' | '\u{3000}' | '\t' => ' ',
        other => other,
    }
}

fn ends(letter: char, next: Option<char>) -> bool {
    match letter {
        '。' | '！' | '？' | '…' => true,
        // A dot inside a number, a name or a path ends nothing.
        '.' | '!' | '?' | ';' => next.is_none_or(char::is_whitespace),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_apart() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("Done. Let’s move on!", &["done.", "let's move on!"]),
            ("see src/main.rs, v1.2 first", &["see src/main.rs, v1.2 first"]),
            ("he said \"new topic\" again", &["he said \" again"]),
            ("'new topic' isn't one", &["\" isn't one"]),
            ("> new topic\nhello", &["hello"]),
            ("```\nnew topic\n```\nhello", &["hello"]),
            ("<system-reminder>new topic</system-reminder>", &[]),
            ("好的。新话题：天气", &["好的。", "新话题:天气"]),
            ("`new topic`\n- item", &["- item"]),
        ];
        for (text, expected) in cases {
            assert_eq!(&sentences(text), expected, "{text}");
        }
    }

    #[test]
    fn of_a_long_text_start_and_end_are_read() {
        let text = format!("First. {} Last one.", "é filler words. ".repeat(1_000));
        let found = sentences(&text);
        assert_eq!(found.first().map(String::as_str), Some("first."));
        assert_eq!(found.last().map(String::as_str), Some("last one."));
        assert!(found.len() < 100);
    }
}
