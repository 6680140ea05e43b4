//! The form in which two spellings of one item are the same.

use std::borrow::Cow;

use super::date::month;
use super::{Found, Kind};

impl<'t> Found<'t> {
    /// What it is compared by: paths without `./`, numbers without grouping, currency and unit, dates as
    /// `2024-05-16`, addresses without scheme.
    pub fn key(&self) -> Cow<'t, str> {
        match self.kind {
            Kind::Path => Cow::Borrowed(path(self.text)),
            Kind::Url => Cow::Borrowed(url(self.text)),
            Kind::Number => number(self.text),
            Kind::Date => date(self.text),
            Kind::Email => lower(self.text),
            Kind::Version => Cow::Borrowed(self.text.trim_start_matches(['v', 'V'])),
            Kind::Id => Cow::Borrowed(self.text.trim_start_matches('#')),
            Kind::Identifier | Kind::Error => Cow::Borrowed(self.text),
        }
    }
}

fn path(text: &str) -> &str {
    let mut path = text;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    let short = path.trim_end_matches('/');
    if short.is_empty() { text } else { short }
}

fn url(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let short = rest.trim_end_matches('/');
    if short.is_empty() { text } else { short }
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

// Decimals that are zero say nothing, nor do zeros before the number.
fn number(text: &str) -> Cow<'_, str> {
    let start = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0);
    let bare = &text[start..];
    let exponent = bare.contains(['e', 'E']);
    let end = bare.rfind(|letter: char| letter.is_ascii_digit()).map_or(bare.len(), |last| last + 1);
    let bare = &bare[..end];
    let decimal = bare.contains('.') && !exponent;
    let bare = if decimal { bare.trim_end_matches('0').trim_end_matches('.') } else { bare };
    let short = bare.trim_start_matches('0');
    let bare = if short.is_empty() || short.starts_with('.') { bare } else { short };
    if bare.contains([',', '_']) { Cow::Owned(bare.replace([',', '_'], "")) } else { Cow::Borrowed(bare) }
}

// Year, month and day where they are told, then the time as it was written.
fn date(text: &str) -> Cow<'_, str> {
    let digit_first = text.starts_with(|letter: char| letter.is_ascii_digit());
    let named = text.split(|letter: char| !letter.is_alphabetic()).find_map(|word| month(word.as_bytes()));
    if digit_first && named.is_none() {
        return numeric_date(text);
    }
    let numbers = text.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty());
    let (years, days): (Vec<&str>, Vec<&str>) = numbers.partition(|part| part.len() == 4);
    let mut key = years.first().map_or(String::new(), |year| format!("{year}-"));
    key.push_str(&format!("{:02}", named.unwrap_or_default()));
    if let Some(day) = days.first().and_then(|day| day.parse::<u32>().ok()) {
        key.push_str(&format!("-{day:02}"));
    }
    Cow::Owned(key)
}

fn numeric_date(text: &str) -> Cow<'_, str> {
    let parts: Vec<&str> = text.split(['/', '.']).collect();
    match parts.as_slice() {
        [year, month, day] if year.len() == 4 => Cow::Owned(format!("{year}-{month:0>2}-{day:0>2}")),
        // Which of the two is the day nobody can tell where both could be; the common order of each sign is taken.
        [first, second, year] if year.len() == 4 && !text.contains(':') => {
            let day_first = text.contains('.') || first.parse::<u32>().is_ok_and(|number| number > 12);
            let (month, day) = if day_first { (second, first) } else { (first, second) };
            Cow::Owned(format!("{year}-{month:0>2}-{day:0>2}"))
        }
        _ => lower(text),
    }
}
