//! The input as lines of text: gzip undone, sizes bounded, invalid UTF-8 named.

use std::io::{BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::{Damaged, FileError, NO_TEXT};
use super::log::Damage;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Lines of an input, plain or gzipped.
pub(super) struct Input<R: BufRead> {
    source: Source<R>,
    mode: Damage,
    max_bytes: u64,
    /// Lines read so far.
    line: usize,
}

type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

enum Source<R: BufRead> {
    New(R),
    Plain(Peeked<R>),
    Gzip(Box<BufReader<MultiGzDecoder<Peeked<R>>>>),
    Over,
}

/// A line of the input, its line break included.
pub(super) struct InputLine {
    pub(super) text: String,
    /// Its number, counted from 1.
    pub(super) number: usize,
    pub(super) damage: Vec<Damaged>,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(input: R, mode: Damage, max_bytes: u64) -> Self {
        Self { source: Source::New(input), mode, max_bytes, line: 0 }
    }

    /// The next line; `None` at the end.
    pub(super) fn next_line(&mut self) -> Result<Option<InputLine>, FileError> {
        self.open()?;
        let mut bytes = Vec::new();
        let limit = self.max_bytes.saturating_add(1);
        let read = match &mut self.source {
            Source::Plain(input) => input.take(limit).read_until(b'\n', &mut bytes).map_err(FileError::Read),
            Source::Gzip(input) => input.take(limit).read_until(b'\n', &mut bytes).map_err(FileError::Gzip),
            Source::New(_) | Source::Over => return Ok(None),
        };
        let mut damage = Vec::new();
        match read {
            Err(FileError::Gzip(error)) if self.mode == Damage::KeepGoing => {
                self.source = Source::Over;
                let reason = format!("damaged gzip data: {error}");
                damage.push(Damaged { line: self.line + 1, column: 1, reason });
            }
            Err(error) => return Err(error),
            Ok(_) if bytes.is_empty() => return Ok(None),
            Ok(_) => {}
        }
        if bytes.len() as u64 > self.max_bytes {
            return Err(FileError::TooLarge(self.max_bytes));
        }
        self.line += 1;
        let text = self.text(bytes, &mut damage)?;
        Ok(Some(InputLine { text, number: self.line, damage }))
    }

    fn text(&self, bytes: Vec<u8>, damage: &mut Vec<Damaged>) -> Result<String, FileError> {
        let error = match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        let lossy = String::from_utf8_lossy(error.as_bytes());
        let column = lossy.chars().position(|char| char == char::REPLACEMENT_CHARACTER).unwrap_or(0) + 1;
        let damaged = Damaged { line: self.line, column, reason: NO_TEXT.to_owned() };
        if self.mode == Damage::Stop {
            return Err(FileError::Damaged(damaged));
        }
        damage.push(damaged);
        Ok(lossy.into_owned())
    }

    // Looks at the first bytes to see whether they are gzip's.
    fn open(&mut self) -> Result<(), FileError> {
        let mut input = match std::mem::replace(&mut self.source, Source::Over) {
            Source::New(input) => input,
            opened => {
                self.source = opened;
                return Ok(());
            }
        };
        let mut magic = Vec::new();
        input.by_ref().take(2).read_to_end(&mut magic)?;
        let is_gzip = magic == GZIP_MAGIC;
        let input = Cursor::new(magic).chain(input);
        self.source = match is_gzip {
            true => Source::Gzip(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(input)))),
            false => Source::Plain(input),
        };
        Ok(())
    }
}
