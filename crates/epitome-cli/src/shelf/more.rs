//! How to see more: the command that was run, with the cursor of its next page.

use super::place;
use crate::print::{FAINT, paint, say};

/// Says how to go on behind a page.
pub(super) fn say_more(cursor: impl std::fmt::Display) {
    let given = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    say(paint(FAINT, format_args!("more: epitome {} --after {cursor}", without_cursor(given))));
}

// The arguments as they are typed, but for a cursor that was given and for passwords.
fn without_cursor(mut arguments: impl Iterator<Item = String>) -> String {
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--after" {
            arguments.next();
        } else if !argument.starts_with("--after=") {
            kept.push(quoted(&place::shown(&argument)));
        }
    }
    kept.join(" ")
}

fn quoted(argument: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_=:./,@+%…".contains(letter);
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_can_be_typed_again() {
        let cases: [(&[&str], &str); 4] = [
            (&["sessions", "--limit", "1"], "sessions --limit 1"),
            (&["sessions", "--after", "3", "--json"], "sessions --json"),
            (&["search", "--newest", "it's here", "--after=3"], "search --newest 'it'\\''s here'"),
            (&["events", "--db", "postgres://me:secret@host/db"], "events --db postgres://me:…@host/db"),
        ];
        for (given, expected) in cases {
            assert_eq!(without_cursor(given.iter().map(|argument| (*argument).to_owned())), expected);
        }
    }
}
