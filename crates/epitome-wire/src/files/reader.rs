//! The reader: transcripts of an input one by one, in memory that the largest of them bounds.

use std::collections::VecDeque;
use std::io::BufRead;

use super::detect::{detect, holds_object, opens_document};
use super::error::{Damaged, FileError};
use super::format::Format;
use super::input::{Input, InputLine};
use super::lines::objects;
use super::log::{Damage, Log};
use super::session::session;
use super::transcript::Transcript;
use super::{plain, session::Source};
use crate::json::Span;
use crate::node::Node;

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
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, damage: Damage::Stop, max_bytes: 1 << 32 }
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
    /// What belongs to the first conversation because it stands before it.
    prefix: Prefix,
    /// The last conversation, which is handed out once it is known what follows it.
    held: Option<Transcript>,
    ready: VecDeque<Result<Transcript, FileError>>,
}

enum State {
    Start,
    Conversations,
    Done,
}

#[derive(Default)]
struct Prefix {
    text: String,
    damage: Vec<Damaged>,
    lines: usize,
}

impl<R: BufRead> Reader<R> {
    /// A reader of `input`.
    pub fn new(input: R, options: ReadOptions) -> Self {
        Self {
            input: Input::new(input, options.damage, options.max_bytes),
            options,
            state: State::Start,
            buffered: VecDeque::new(),
            prefix: Prefix::default(),
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
        let source = Source { text, damage, mode: self.options.damage };
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

    // Reads one line of conversations; usually that is one.
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
        let mut log = Log::new(&line.text, line.number, self.options.damage);
        let found = objects(&line.text, &mut log)?;
        let prefix = std::mem::take(&mut self.prefix);
        let mut read = Vec::new();
        for (place, object) in found.iter().enumerate() {
            if !is_conversation(Node::new(&line.text, object.span)) {
                log.report(object.span.start, "no conversation: it has no messages")?;
                continue;
            }
            let own = object.span.shifted(prefix.text.len());
            let next = found.get(place + 1).map(|next| next.span.shifted(prefix.text.len()).start);
            let start = if read.is_empty() { 0 } else { own.start };
            read.push((Span { start, end: next.unwrap_or(usize::MAX) }, own));
        }
        let Prefix { mut damage, lines, .. } = prefix;
        let text = prefix.text + &line.text;
        damage.extend(line.damage);
        damage.extend(log.into_damage());
        if read.is_empty() {
            match &mut self.held {
                Some(held) => {
                    held.text.push_str(&text);
                    held.damage.extend(damage);
                }
                None => self.prefix = Prefix { text, damage, lines: lines + 1 },
            }
            return Ok(());
        }
        for (part, object) in read {
            let part = Span { start: part.start, end: part.end.min(text.len()) };
            let own = part.of(&text).to_owned();
            let at = Span { start: object.start - part.start, end: object.end - part.start };
            let first_line = if part.start == 0 { line.number - lines } else { line.number };
            let mut log = Log::new(&own, first_line, self.options.damage);
            let (assembly, dialect) =
                plain::read(&own, Node::new(&own, at), Format::Conversations, &mut log)?;
            let mut damage = std::mem::take(&mut damage);
            damage.extend(log.into_damage());
            let transcript = assembly.finish(Format::Conversations, dialect, own, damage);
            self.ready.extend(self.held.replace(transcript).map(Ok));
        }
        Ok(())
    }
}

fn is_conversation(node: Node<'_>) -> bool {
    let object = node.object().ok().flatten();
    object.is_some_and(|object| object.get("messages").is_some() || object.get("input").is_some())
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
