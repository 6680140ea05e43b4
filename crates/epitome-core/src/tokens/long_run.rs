//! Exact counts of text without a boundary: megabytes of one letter, of spaces, of dashes, of ideographs.
//!
//! Merging such a run as the one piece it is takes memory and more than linear time. It is merged window
//! by window instead. Two encodings may be joined where the last token of the one and the first token of the
//! other, merged together, yield just these two tokens: a sequence of tokens is the encoding of its text if
//! and only if every two neighbours are the encoding of theirs, because a merge across a joint would have to
//! begin with the two tokens that meet there.

use std::ops::Range;

use tiktoken::CoreBpe;

use super::boundary;

/// Bytes merged at a time. Merging costs more than linear time, so less is faster; joints cost, too.
const WINDOW: usize = 4 << 10;
/// Last tokens of a window that are not tried as joints: the cut has disturbed them.
const DISTURBED: usize = 2;
/// Joints tried before a run is given up and merged whole.
const TRIES: usize = 32;

/// The tokens of `run`, which starts and ends at a boundary.
pub(super) fn count(core: &CoreBpe, run: &str) -> usize {
    let windows = Run::of(run).and_then(|kind| count_by_window(core, run, kind, WINDOW));
    windows.unwrap_or_else(|| core.count(run))
}

/// Runs in which a piece that is cut between two like characters yields two pieces, and the pieces around
/// them stay as they are.
///
/// That fails where caseless letters meet letters with case, where line breaks stand between other white
/// space and punctuation, and for characters of unknown kind. Such runs are merged whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Ascii,
    Caseless,
    LineBreaks,
}

impl Run {
    fn of(run: &str) -> Option<Self> {
        let all = |kind: Run| run.chars().skip(1).all(|c| kind.kind(c).is_some());
        let kinds = [Run::LineBreaks, Run::Caseless].into_iter().find(|kind| all(*kind));
        kinds.or_else(|| run.is_ascii().then_some(Run::Ascii))
    }

    /// What a character is among its like, or nothing where this run must not be cut beside it.
    fn kind(self, c: char) -> Option<Kind> {
        match (self, c) {
            (Run::LineBreaks, '\n') => Some(Kind::LineBreak),
            (Run::Ascii, 'a'..='z') => Some(Kind::Lower),
            (Run::Ascii, 'A'..='Z') => Some(Kind::Upper),
            (Run::Ascii, ' ' | '\t') => Some(Kind::Space),
            (Run::Ascii, '0'..='9' | '\r' | '\n' | '\x0b' | '\x0c' | '/' | '\'') => None,
            (Run::Ascii, '\0'..='\x7f') => Some(Kind::Mark),
            (Run::Caseless, c) => boundary::is_caseless_letter(c).then_some(Kind::Caseless),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Space,
    LineBreak,
    Mark,
    Caseless,
}

fn count_by_window(core: &CoreBpe, run: &str, kind: Run, window: usize) -> Option<usize> {
    let mut total = 0;
    let mut rest = run;
    let mut tokens = core.encode(head(rest, window));
    while rest.len() > window {
        let joint = find_joint(core, rest, kind, &tokens, window)?;
        total += joint.tokens;
        rest = rest.get(joint.offset..)?;
        tokens = joint.next;
    }
    Some(total + tokens.len())
}

struct Joint {
    /// Tokens before the joint.
    tokens: usize,
    /// Bytes before the joint.
    offset: usize,
    /// The encoding of the window that starts at the joint.
    next: Vec<u32>,
}

/// Finds where the encoding of the first window of `rest` can be left for that of another window.
fn find_joint(core: &CoreBpe, rest: &str, run: Run, tokens: &[u32], window: usize) -> Option<Joint> {
    let mut end = head(rest, window).len();
    let mut tries = 0;
    for count in (1..=tokens.len()).rev() {
        let before = tokens.get(..count)?;
        let last = token_len(core, before.last()?);
        if tokens.len() - count >= DISTURBED
            && rest.is_char_boundary(end)
            && uniform(run, rest, end - last..end)
        {
            tries += 1;
            // Runs mostly repeat themselves, and then so does the encoding.
            let (this, that) = (head(rest, window), head(rest.get(end..)?, window));
            let next = if this == that { tokens.to_vec() } else { core.encode(that) };
            if joins(core, rest, run, before, &next, end) {
                return Some(Joint { tokens: count, offset: end, next });
            }
        }
        if tries == TRIES {
            return None;
        }
        end -= last;
    }
    None
}

/// Whether the encodings `before` and `after` meet at byte `at` of `text` as one encoding would have it.
///
/// Tokens may hold a part of a character, so the two that meet are looked at together with as many of
/// their neighbours as make whole characters.
fn joins(core: &CoreBpe, text: &str, run: Run, before: &[u32], after: &[u32], at: usize) -> bool {
    let (mut start, mut left) = (at, before);
    while let Some((token, others)) = left.split_last() {
        start -= token_len(core, token);
        left = others;
        if text.is_char_boundary(start) {
            break;
        }
    }
    let (mut end, mut right) = (at, after);
    while let Some((token, others)) = right.split_first() {
        end += token_len(core, token);
        right = others;
        if text.is_char_boundary(end) {
            break;
        }
    }
    let met = before.iter().skip(left.len()).chain(after.iter().take(after.len() - right.len()));
    uniform(run, text, start..end)
        && text.get(start..end).is_some_and(|both| core.encode(both).iter().eq(met))
}

fn token_len(core: &CoreBpe, token: &u32) -> usize {
    core.decode(&[*token]).len()
}

/// Whether the characters in and on either side of `text[span]` are of one kind.
fn uniform(run: Run, text: &str, span: Range<usize>) -> bool {
    let start = floor(text, span.start);
    let (Some(left), Some(right)) = (text.get(..start), text.get(start..)) else { return false };
    let inside = right.char_indices().take_while(|(offset, _)| start + offset < span.end + 2).map(|(_, c)| c);
    let mut kinds = left.chars().next_back().into_iter().chain(inside).map(|c| run.kind(c));
    let first = kinds.next().flatten();
    first.is_some() && kinds.all(|kind| kind == first)
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn head(text: &str, length: usize) -> &str {
    &text[..floor(text, length.min(text.len()))]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Bpe;
    use super::*;

    #[test]
    fn runs_are_counted_exactly_and_by_window() {
        let runs = [
            "a".repeat(20_000),
            " ".repeat(20_000) + "x",
            "=".repeat(20_000) + "\n",
            "A".repeat(20_000) + "b",
            "-=".repeat(10_000),
            "\0".repeat(20_000),
            "abcdefghij".repeat(2_000),
            "thequickbrownfoxjumpsoverthelazydog".repeat(600),
            "漢字仮名交文".repeat(2_000),
            "안녕하세요".repeat(2_000),
            "\n".repeat(20_000),
            "-".to_owned() + &"\n".repeat(20_000),
        ];
        for bpe in [Bpe::o200k(), Bpe::cl100k()] {
            for run in &runs {
                let counted = Run::of(run).and_then(|kind| count_by_window(bpe.core, run, kind, 2048));
                assert_eq!(counted, Some(bpe.core.count(run)), "{bpe:?} {:?}", head(run, 40));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn windows_never_change_a_count(run in "[a-z]{300,900}|[A-Z]{300,600}[a-z]{0,300}|[ \t]{400,800}|[!-.:-@]{300,900}|[ぁ-ん一-龥]{200,500}") {
            for bpe in [Bpe::o200k(), Bpe::cl100k()] {
                if let Some(counted) = Run::of(&run).and_then(|kind| count_by_window(bpe.core, &run, kind, 128)) {
                    prop_assert_eq!(counted, bpe.core.count(&run));
                }
            }
        }
    }
}
