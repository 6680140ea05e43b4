//! The exact count of a text that grows, without recounting what has been counted.
//!
//! It remembers the text from the last place on that no later text can move (see `boundary`): usually
//! one word. Everything before is a number.

use super::boundary;
use super::bpe::Bpe;
use super::tokenizer::Tokenizer;
use crate::units::Tokens;

/// Numbers are split into pieces of this many digits from their first digit on.
const DIGITS: usize = 3;

/// A growing text's exact count, at every moment equal to that of the whole text.
///
/// A push costs the pushed text plus the word that was left open. Only a run that offers no boundary
/// (one endless word) stays open as it grows.
#[derive(Clone, Debug)]
pub struct Running {
    bpe: &'static Bpe,
    settled: Tokens,
    open: String,
}

impl Running {
    /// The count of the empty text.
    pub fn new(bpe: &'static Bpe) -> Self {
        Self { bpe, settled: Tokens::ZERO, open: String::new() }
    }

    /// Appends text.
    pub fn push(&mut self, text: &str) {
        let known = self.open.len();
        self.open.push_str(text);
        // What was open held no boundary, so one can only stand at its end or after.
        if let Some(cut) = boundary::last(&self.open, known..=self.open.len()) {
            self.settle(cut);
        }
        let digits = self.open.bytes().take_while(u8::is_ascii_digit).count();
        if digits >= DIGITS {
            self.settle(digits - digits % DIGITS);
        }
    }

    /// The tokens of everything pushed so far.
    pub fn total(&self) -> Tokens {
        self.settled + self.bpe.count(&self.open)
    }

    /// Bytes that the next push may count again.
    pub fn open_bytes(&self) -> usize {
        self.open.len()
    }

    fn settle(&mut self, cut: usize) {
        let (done, _) = self.open.split_at(cut);
        self.settled += self.bpe.count(done);
        self.open.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_word_stays_open() {
        let mut running = Running::new(Bpe::o200k());
        let text = "The year 1234567 ended; it's 漢字、かな。Grüße an alle 👩‍👩‍👧 — done.\n\n  next";
        for (index, c) in text.char_indices() {
            running.push(&text[index..index + c.len_utf8()]);
            assert_eq!(running.total(), Bpe::o200k().count(&text[..index + c.len_utf8()]));
            assert!(running.open_bytes() <= 32, "{} bytes are open", running.open_bytes());
        }
    }
}
