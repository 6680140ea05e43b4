//! Long runs of the letters that tokens are made of, found in leaps.

use std::ops::Range;

/// No token that is known by its form is shorter.
pub(super) const LEAST: usize = 20;

/// Whether a token may hold this byte.
pub(super) fn is_token_byte(byte: u8) -> bool {
    TOKEN_BYTES.get(usize::from(byte)).copied().unwrap_or(false)
}

const TOKEN_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let letter = byte as u8;
        table[byte] = letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// The runs of token bytes that are long enough for a token.
pub(super) struct LongRuns<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> LongRuns<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for LongRuns<'_> {
    type Item = Range<usize>;

    // Most words are short. So each window is looked at from its end, and the first byte that no token holds
    // is where the next window starts: most bytes are never looked at.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.at;
            let window = self.bytes.get(start..start + LEAST)?;
            match window.iter().rposition(|byte| !is_token_byte(*byte)) {
                Some(gap) => self.at = start + gap + 1,
                None => {
                    let rest = self.bytes.get(start + LEAST..).unwrap_or_default();
                    let more = rest.iter().take_while(|byte| is_token_byte(**byte)).count();
                    let end = start + LEAST + more;
                    self.at = end + 1;
                    return Some(start..end);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_wherever_they_start() {
        let token = "a".repeat(LEAST);
        for before in 0..2 * LEAST {
            let text = format!("{} {token}x y", "-".repeat(before));
            let runs: Vec<_> = LongRuns::of(text.as_bytes()).collect();
            let last = before + 1..before + 1 + LEAST + 1;
            assert_eq!(runs.last(), Some(&last), "after {before}");
            assert_eq!(runs.len(), 1 + usize::from(before >= LEAST));
        }
    }

    #[test]
    fn short_runs_are_passed_over() {
        let text = "a text of words, none of them long; almost-a-token no";
        assert_eq!(LongRuns::of(text.as_bytes()).count(), 0);
        assert_eq!(LongRuns::of(b"").count(), 0);
    }
}
