//! The reader: transcripts of an input one by one, in memory that the largest of them bounds.

use std::collections::VecDeque;
use std::io::BufRead;

use super::conversations::{Between, read_line};
use super::detect::{detect, holds_object, opens_document};
use super::error::FileError;
use super::format::Format;
use super::input::{Input, InputLine};
use super::log::Damage;
use super::session::{Source, session};
use super::transcript::Transcript;

/// How many lines are read before a file counts as one document.
const LINES: usize = 200;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// The format; found by itself where it is not given.
    pub format: Option<Format>,
    /// What to do about damage.
    pub damage: Damage,
    /// How many bytes one session may have, decompressed.
    pub max_bytes: u64,
    /// Where summaries that a tool wrote stand.
    pub summaries: Summaries,
}

/// Where a summary stands that a tool wrote in the user's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Summaries {
    /// In one message with what the user says next, where the tool sends them as one.
    #[default]
    Joined,
    /// In a message of its own, as it was before the user said anything.
    Apart,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, damage: Damage::Stop, max_bytes: 1 << 32, summaries: Summaries::Joined }
    }
}

/// Iterator over the transcripts of an input, plain or gzipped.
///
/// A file of conversations yields one a line as it is read; all other files are one session. Joined in
/// order, the texts of all transcripts are the file, save for bytes that are not UTF-8.
pub struct Reader<R: BufRead> {
    input: Input<R>,
    options: ReadOptions,
    state: State,
    /// Lines that were read to find the format.
    buffered: VecDeque<InputLine>,
    /// Lines between conversations.
    between: Between,
    /// The last conversation.
    held: Option<Transcript>,
    ready: VecDeque<Result<Transcript, FileError>>,
}

enum State {
    Start,
    Conversations,
    Done,
}

impl<R: BufRead> Reader<R> {
    /// A reader of `input`.
    pub fn new(input: R, options: ReadOptions) -> Self {
        Self {
            input: Input::new(input, options.damage, options.max_bytes),
            options,
            state: State::Start,
            buffered: VecDeque::new(),
            between: Between::default(),
            held: None,
            ready: VecDeque::new(),
        }
    }

    // Reads on until the format can be told, then either all the rest or, of conversations, nothing more.
    fn start(&mut self) -> Result<(), FileError> {
        let mut head = String::new();
        let (mut lines, mut objects, mut document) = (0, 0, false);
        while objects < 2 && lines < LINES && !document {
            let Some(line) = self.input.next_line()? else { break };
            if !line.text.trim().is_empty() {
                lines += 1;
                document |= lines == 1 && opens_document(&line.text);
                // Whatever follows the first object tells that it is not alone.
                objects += usize::from(objects > 0 || holds_object(&line.text));
            }
            head.push_str(&line.text);
            self.buffered.push_back(line);
        }
        if head.trim_start_matches('\u{feff}').trim().is_empty() && lines == 0 {
            return Err(FileError::Empty);
        }
        let found = match self.options.format {
            Some(format) => format,
            // Without an object on one line, only the whole document can tell.
            None if objects == 0 || document => return self.whole(None),
            None => detect(&head)?,
        };
        if found == Format::Conversations {
            self.state = State::Conversations;
            return Ok(());
        }
        drop(head);
        self.whole(Some(found))
    }

    fn whole(&mut self, format: Option<Format>) -> Result<(), FileError> {
        let (mut text, mut damage) = (String::new(), Vec::new());
        while let Some(line) = self.next_line()? {
            text.push_str(&line.text);
            damage.extend(line.damage);
            if text.len() as u64 > self.options.max_bytes {
                return Err(FileError::TooLarge(self.options.max_bytes));
            }
        }
        let found = match format {
            Some(format) => format,
            None => detect(&text)?,
        };
        let forced = self.options.format.is_some();
        let ReadOptions { damage: mode, summaries, .. } = self.options;
        let source = Source { text, damage, mode, summaries };
        let transcript = session(source, found)?;
        if forced && transcript.messages.is_empty() {
            return Err(FileError::WrongFormat { format: found, reason: "no message in it" });
        }
        self.ready.push_back(Ok(transcript));
        self.state = State::Done;
        Ok(())
    }

    fn next_line(&mut self) -> Result<Option<InputLine>, FileError> {
        match self.buffered.pop_front() {
            Some(line) => Ok(Some(line)),
            None => self.input.next_line(),
        }
    }

    // Reads one line of conversations. The last one is held back until it is known what follows it.
    fn conversations(&mut self) -> Result<(), FileError> {
        let Some(line) = self.next_line()? else {
            self.state = State::Done;
            if self.held.is_none() {
                let format = Format::Conversations;
                return Err(FileError::WrongFormat { format, reason: "no line in it is a conversation" });
            }
            self.ready.extend(self.held.take().map(Ok));
            return Ok(());
        };
        for transcript in read_line(&mut self.between, line, self.options.damage)? {
            self.ready.extend(self.held.replace(transcript).map(Ok));
        }
        if let Some(held) = &mut self.held {
            self.between.append_to(held);
        }
        Ok(())
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Transcript, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let step = match self.state {
                State::Start => self.start(),
                State::Conversations => self.conversations(),
                State::Done => return None,
            };
            if let Err(error) = step {
                self.state = State::Done;
                // What was read before the damage is still good.
                self.ready.extend(self.held.take().map(Ok));
                self.ready.push_back(Err(error));
            }
        }
    }
}
