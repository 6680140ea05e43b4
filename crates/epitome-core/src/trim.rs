//! Trimming by message count: the hard backstop of the `none` strategy, which leaves out the oldest messages whole.

use std::ops::Range;

use crate::message::Role;
use crate::outline::Entry;
use crate::turn::is_plain_user_message;

/// The messages to leave out so that at most `most` remain beside the leading system messages.
///
/// What remains starts with a plain user message, so that no tool result loses its call and no assistant speaks
/// first. Where none stands in the last `most` messages, the nearest one before them is taken: then more than `most` remain.
pub fn oldest_beyond(path: &[Entry], most: usize) -> Range<usize> {
    let leading = |entry: &&Entry| matches!(entry.outline.role, Role::System | Role::Developer);
    let start = path.iter().take_while(leading).count();
    let excess = (path.len() - start).saturating_sub(most);
    if excess == 0 {
        return start..start;
    }
    let opens = |at: &usize| is_plain_user_message(&path[*at].outline);
    let wanted = start + excess;
    let cut = (wanted..path.len()).find(opens).or_else(|| (start..wanted).rev().find(opens));
    start..cut.unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::{Block, Message, ToolResult};
    use crate::outline::Outline;
    use crate::tokens::{Bpe, Counter, ImagePricing};

    // One letter a message: system, user, assistant, result of a tool.
    fn path(notation: &str) -> Vec<Entry> {
        let counter = Counter::new(Bpe::o200k(), ImagePricing::Anthropic);
        let message = |letter: char| match letter {
            's' => Message::text(Role::System, "rules"),
            'u' => Message::text(Role::User, "ask"),
            'a' => Message::text(Role::Assistant, "answer"),
            _ => {
                let result = ToolResult {
                    call_id: "1".into(),
                    name: None,
                    content: vec![],
                    is_error: false,
                    extra: vec![],
                };
                Message::new(Role::User, vec![Block::ToolResult(result)])
            }
        };
        let outline = |letter| Arc::new(Outline::of(&message(letter), &counter, 10));
        notation.chars().map(|letter| Entry { outline: outline(letter), time: None }).collect()
    }

    #[test]
    fn the_oldest_go_and_an_exchange_starts_what_remains() {
        let cases = [
            ("", 2, 0..0),
            ("uaua", 4, 0..0),
            ("uaua", 3, 0..2),
            ("uaua", 2, 0..2),
            ("suaua", 2, 1..3),
            ("uaruaruaru", 4, 0..6),
            ("uararara", 3, 0..0),
            ("uauararara", 3, 0..2),
            ("aaaa", 2, 0..0),
            ("ss", 1, 2..2),
        ];
        for (notation, most, expected) in cases {
            assert_eq!(oldest_beyond(&path(notation), most), expected, "{notation} to {most}");
        }
    }
}
