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

/// Collects damage of a text, in ascending order of place.
pub(super) struct Log<'a> {
    text: &'a str,
    mode: Damage,
    first_line: usize,
    // The start of the line that was last reported, and its number.
    line: (usize, usize),
    damage: Vec<Damaged>,
}

impl<'a> Log<'a> {
    /// A log of `text`, which starts at line `first_line` of its file.
    pub(super) fn new(text: &'a str, first_line: usize, mode: Damage) -> Self {
        Self { text, mode, first_line, line: (0, first_line), damage: Vec::new() }
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
        let (start, line) = if at >= self.line.0 { self.line } else { (0, self.first_line) };
        let between = self.text.as_bytes().get(start..at).unwrap_or_default();
        let line = line + memchr::memchr_iter(b'\n', between).count();
        let start = memchr::memrchr(b'\n', between).map_or(start, |newline| start + newline + 1);
        self.line = (start, line);
        let column =
            String::from_utf8_lossy(self.text.as_bytes().get(start..at).unwrap_or_default()).chars().count()
                + 1;
        Damaged { line, column, reason }
    }

    pub(super) fn into_damage(self) -> Vec<Damaged> {
        self.damage
    }
}
