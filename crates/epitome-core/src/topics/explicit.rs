//! Recognises that somebody says they change the topic.
//!
//! A phrase counts only at the start of a sentence of the person's own, so that a task that mentions the
//! words, a quotation or a listing raises no alarm.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::phrases::{FILLERS, Follow, PHRASES, PIECES, SAME, TRAILERS};
use super::sentences::sentences;
use crate::message::{Block, Message};

/// The phrase with which a message announces a new topic.
pub(crate) fn announced(message: &Message) -> Option<&'static str> {
    let mut first = true;
    for block in &message.blocks {
        let Block::Text(text) = block else { continue };
        for sentence in sentences(&text.text) {
            let found = in_sentence(&sentence, first);
            if found.is_some() {
                return found;
            }
            first = false;
        }
    }
    None
}

type ByLetter = HashMap<char, Vec<(Follow, &'static str)>>;

// Longest first, so that the phrase that is reported is the one that was said.
static BY_LETTER: LazyLock<ByLetter> = LazyLock::new(|| {
    let mut by_letter = ByLetter::new();
    for (follow, phrases) in PHRASES {
        for phrase in phrases.split('|') {
            let Some(letter) = phrase.chars().next() else { continue };
            by_letter.entry(letter).or_default().push((*follow, phrase));
        }
    }
    by_letter
        .values_mut()
        .for_each(|phrases| phrases.sort_by_key(|(_, phrase)| std::cmp::Reverse(phrase.len())));
    by_letter
});

static FILLERS_BY_LETTER: LazyLock<HashMap<char, Vec<&'static str>>> = LazyLock::new(|| {
    let mut by_letter: HashMap<char, Vec<&'static str>> = HashMap::new();
    for filler in list(FILLERS) {
        by_letter.entry(filler.chars().next().unwrap_or(' ')).or_default().push(filler);
    }
    by_letter
});

fn in_sentence(sentence: &str, first: bool) -> Option<&'static str> {
    // Something quoted is left as a quotation mark, which no phrase starts with.
    let mut rest =
        Some(sentence.trim_start_matches(|letter: char| !letter.is_alphanumeric() && letter != '"'));
    let mut aside = None;
    while let Some(text) = rest {
        let candidates = text.chars().next().and_then(|letter| BY_LETTER.get(&letter));
        match candidates.into_iter().flatten().find(|(follow, phrase)| said(text, *follow, phrase)) {
            // "anyway, new topic" says more after the aside.
            Some((Follow::Aside, phrase)) => aside = aside.or(first.then_some(*phrase)),
            Some((_, phrase)) => return Some(phrase),
            None => {}
        }
        rest = after_filler(text);
    }
    aside
}

fn said(rest: &str, follow: Follow, phrase: &str) -> bool {
    let Some(after) = rest.strip_prefix(phrase).filter(|after| ends_word(phrase, after)) else {
        return false;
    };
    match follow {
        Follow::Anything => true,
        Follow::Alone => stands_alone(after),
        Follow::Onward => stands_alone(after) || leads_elsewhere(after),
        Follow::Aside => turns_away(after),
    }
}

// Scripts without spaces do not tell where a word ends.
fn ends_word(word: &str, after: &str) -> bool {
    word.chars().last().is_some_and(is_unspaced)
        || !after.starts_with(|letter: char| letter.is_alphanumeric())
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

fn stands_alone(after: &str) -> bool {
    let after = after.trim_start();
    let trailer = list(TRAILERS).find_map(|trailer| {
        after.strip_prefix(trailer).filter(|after| ends_word(trailer, after) && is_sign(after))
    });
    is_sign(after) || trailer.is_some()
}

// Nothing, or a sign that parts what follows; a hyphen would tie it to what follows.
fn is_sign(after: &str) -> bool {
    let after = after.trim_start_matches(['"', ')', '*', '_']);
    after.is_empty()
        || after.starts_with([':', ',', '.', '!', '?', ';', '。', '！', '？', '…', '('])
        || after.trim_start().starts_with("- ")
}

fn leads_elsewhere(after: &str) -> bool {
    let Some(to) = after.trim_start().strip_prefix("to ") else { return false };
    let end = to
        .find([',', '.', ':', ';', '!', '?'])
        .filter(|end| to[*end..].len() == 1 || to[end + 1..].starts_with(' '));
    let clause = &to[..end.unwrap_or(to.len())];
    let mut words = clause.split_whitespace().take(6).peekable();
    let names_work = |word: &str| {
        let is_name =
            word.contains(['/', '_', '.', '"', '#', '(']) || word.chars().any(|c| c.is_ascii_digit());
        is_name || list(PIECES).any(|piece| piece == word) || (word.len() > 5 && word.ends_with("ing"))
    };
    words.peek().is_some() && !words.any(names_work)
}

fn turns_away(after: &str) -> bool {
    let Some(rest) =
        after.strip_prefix([',', '.', '…', '-']).or_else(|| after.trim_start().strip_prefix("- "))
    else {
        return false;
    };
    let rest = rest.trim_start_matches([' ', '.', '-', ',']);
    let goes_on = list(SAME).any(|word| rest.strip_prefix(word).is_some_and(|after| ends_word(word, after)));
    !rest.is_empty() && !goes_on
}

// What follows a filler, if the text starts with one; the longest counts.
fn after_filler(text: &str) -> Option<&str> {
    let fillers = text.chars().next().and_then(|letter| FILLERS_BY_LETTER.get(&letter));
    let rests = fillers.into_iter().flatten().filter_map(|filler| {
        let after = text.strip_prefix(filler).filter(|after| ends_word(filler, after))?;
        Some(after.trim_start_matches([' ', ',', '.', '!', '-', ':', '~']))
    });
    rests.min_by_key(|rest| rest.len()).filter(|rest| !rest.is_empty())
}

fn list(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.split('|')
}
