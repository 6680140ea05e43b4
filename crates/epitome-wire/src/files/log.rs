//! The damage log: where a file cannot be read, and whether that ends the reading.

use super::error::{Damaged, FileError};

/// What to do about damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Damage {
    /// The first damaged place is an error.
    #[default]
    Stop,
    /// Damaged places are reported with the transcript, and the rest is read.
    KeepGoing,
}

/// Collects damage of a text.
pub(super) struct Log<'a> {
    text: &'a str,
    mode: Damage,
    first_line: usize,
    /// Where the last place was, so that places in ascending order cost one walk over the text.
    last: Position,
    damage: Vec<Damaged>,
}

#[derive(Clone, Copy)]
struct Position {
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> Log<'a> {
    /// A log of `text`, which starts at line `first_line` of its file.
    pub(super) fn new(text: &'a str, first_line: usize, mode: Damage) -> Self {
        let last = Position { at: 0, line: first_line, column: 1 };
        Self { text, mode, first_line, last, damage: Vec::new() }
    }

    /// Notes damage at byte `at`; an error where damage ends the reading.
    pub(super) fn report(&mut self, at: usize, reason: impl Into<String>) -> Result<(), FileError> {
        let damaged = self.place(at, reason.into());
        match self.mode {
            Damage::Stop => Err(FileError::Damaged(damaged)),
            Damage::KeepGoing => {
                self.damage.push(damaged);
                Ok(())
            }
        }
    }

    /// Byte `at` as line and column.
    pub(super) fn place(&mut self, at: usize, reason: String) -> Damaged {
        let from = match at >= self.last.at {
            true => self.last,
            false => Position { at: 0, line: self.first_line, column: 1 },
        };
        let between = self.text.as_bytes().get(from.at..at).unwrap_or_default();
        let lines = memchr::memchr_iter(b'\n', between).count();
        let (start, column) = match memchr::memrchr(b'\n', between) {
            Some(newline) => (newline + 1, 1),
            None => (0, from.column),
        };
        let in_line = between.get(start..).unwrap_or_default();
        // Every byte that does not continue a character starts one.
        let characters = in_line.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        self.last = Position { at, line: from.line + lines, column: column + characters };
        Damaged { line: self.last.line, column: self.last.column, reason }
    }

    pub(super) fn into_damage(self) -> Vec<Damaged> {
        self.damage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_characters() {
        let text = "a\u{e9}b\n\nxyz";
        let mut log = Log::new(text, 7, Damage::Stop);
        let cases = [
            (0, 7, 1),
            (1, 7, 2),
            (3, 7, 3),
            (4, 7, 4),
            (5, 8, 1),
            (6, 9, 1),
            (8, 9, 3),
            (9, 9, 4),
            (1, 7, 2),
        ];
        for (at, line, column) in cases {
            let found = log.place(at, String::new());
            assert_eq!((found.line, found.column), (line, column), "byte {at}");
        }
    }
}
