//! Orders in a model's words that nobody gave.
//!
//! Code sets the user's orders beside a model's words as they were said. So an order of which the messages say little is worth nothing
//! where it was put in other words, and does harm where it was made up: it goes.

use epitome_core::loss::{self, Sources};
use epitome_core::statements::{self, Kind};

/// Of an order, this part must stand together in the messages.
const LEAST: f32 = 0.6;

/// A text without such orders, and how many there were.
pub(super) fn struck(text: &str, sources: &Sources<'_>) -> (String, usize) {
    let orders = |line: &str| -> Vec<String> {
        let all = statements::read(line).into_iter();
        all.filter(|said| said.kind == Kind::Constraint).map(|said| said.text.to_owned()).collect()
    };
    let given: Vec<String> = text.lines().flat_map(orders).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let said = loss::coverage(&given, sources);
    let strange: Vec<&str> =
        given.into_iter().zip(said).filter(|(_, said)| *said < LEAST).map(|(order, _)| order).collect();
    if strange.is_empty() {
        return (text.to_owned(), 0);
    }
    (text.lines().filter_map(|line| without(line, &strange)).collect::<Vec<_>>().join("\n"), strange.len())
}

// A line without these; nothing where no word is left of it.
fn without(line: &str, strange: &[&str]) -> Option<String> {
    let rest = strange.iter().fold(line.to_owned(), |line, order| line.replace(order, ""));
    let is_left = rest == line || rest.chars().any(char::is_alphabetic);
    is_left.then(|| rest.trim_end().to_owned())
}
