//! Server-sent events out of bytes that come in pieces. It looks on: who passes the bytes on sends them as they came.

use memchr::memchr2;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// What the `event:` line says; empty where there is none.
    pub name: String,
    /// What the `data:` lines say, with a line break between two of them.
    pub data: String,
}

/// Reads events out of a stream.
///
/// ```
/// use epitome_wire::sse::Events;
///
/// let mut events = Events::default();
/// assert_eq!(events.push(b"event: ping\r\ndata: {").len(), 0);
/// let found = events.push(b"}\r\n\r\n: a comment\n\n");
/// assert_eq!((found[0].name.as_str(), found[0].data.as_str()), ("ping", "{}"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// The lines of the event that has not ended.
    name: String,
    data: Option<String>,
    /// A line ended with a carriage return; a line feed behind it belongs to it.
    after_return: bool,
    /// The first line may begin with a byte order mark.
    is_begun: bool,
}

impl Events {
    /// Takes the next bytes, and gives the events that end in them.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                return events;
            };
            let (line, rest) = bytes.split_at(end);
            self.line.extend_from_slice(line);
            self.after_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            events.extend(self.end_line());
        }
    }

    /// The event that the stream ended in, if it did not end with an empty line. Its data may be cut.
    pub fn end(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch()
    }

    /// The number of bytes that wait for the rest of their event.
    pub fn held(&self) -> usize {
        self.line.len() + self.name.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }

    // An event without data is none.
    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }
}
