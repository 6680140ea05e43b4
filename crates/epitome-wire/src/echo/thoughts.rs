//! Thoughts in the midst of text, between marks.

/// What a text says behind the thought that it begins with, if it begins with one.
pub(super) fn behind(text: &str) -> Option<&str> {
    let marks = [("<think>", "</think>"), ("<thinking>", "</thinking>")];
    let thought = |(open, close)| text.trim_start().strip_prefix(open)?.split_once(close);
    marks.into_iter().find_map(thought).map(|(_, words)| words)
}

/// The same of what a model said. Where the prompt opened the thought, only its end shows.
pub(super) fn left_of(text: &str) -> Option<&str> {
    behind(text).or_else(|| text.split_once("</think>").map(|(_, words)| words))
}
