//! Another body in place of the client's: what the engine has sent of the conversation, and all else byte for byte.

use std::collections::HashSet;

use bytes::Bytes;
use epitome::wire::json::Span;
use epitome::wire::{Gone, append_system, count_breakpoints, keep_breakpoints, without_breakpoints};
use epitome::{Context, Dialect, ToSend};

use super::request::Request;

/// What is needed to write it.
#[derive(Clone)]
pub(super) struct Rewrite {
    dialect: Dialect,
    /// Where all messages stand, those of the operator included.
    messages: Vec<Span>,
    leading: usize,
    /// The places on the path of the client's messages, as far as they are recorded.
    ordinals: Vec<u64>,
    /// So many of them were recorded before the call.
    known: usize,
    /// Cache breakpoints beside the conversation.
    outside: usize,
}

impl Rewrite {
    pub(super) fn of(request: &Request<'_>, ordinals: Vec<u64>, known: usize) -> Self {
        let messages = request.body.messages().to_vec();
        let field = |name| request.body.field(name).map_or(0, count_breakpoints);
        let own = request.body.field("cache_control").is_some_and(|value| value != "null");
        let outside = field("system") + field("tools") + usize::from(own);
        Self { dialect: request.dialect, messages, leading: request.leading, ordinals, known, outside }
    }

    /// The body to be sent; nothing where it is the client's own.
    pub(super) fn body(&self, text: &str, send: &ToSend) -> Option<Bytes> {
        let (context, rest) = match send {
            ToSend::AsSaid => return None,
            ToSend::Behind(context) => (context, self.known),
            ToSend::Whole(context) => (context, self.ordinals.len()),
        };
        let mut parts: Vec<Part> = (0..self.leading).map(Part::Kept).collect();
        self.conversation(context, &mut parts);
        parts.extend((self.leading + rest..self.messages.len()).map(Part::Kept));
        if self.dialect == Dialect::Anthropic {
            self.keep_breakpoints(text, &mut parts);
        }
        let (first, last) = (self.messages.first()?, self.messages.last()?);
        let body =
            format!("{}{}{}", text.get(..first.start)?, self.list(text, &parts), text.get(last.end..)?);
        let body = match (&context.system, self.dialect) {
            (Some(more), Dialect::Anthropic) => append_system(&body, more).ok()?,
            _ => body,
        };
        (body != text).then(|| Bytes::from(body))
    }

    fn conversation(&self, context: &Context, parts: &mut Vec<Part>) {
        let mut places: Vec<(u64, usize)> = self.ordinals.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let of = |ordinal: u64| {
            let from = places.partition_point(|(place, _)| *place < ordinal);
            places
                .iter()
                .skip(from)
                .take_while(move |(place, _)| *place == ordinal)
                .map(|(_, at)| self.leading + at)
        };
        for message in context.messages() {
            match message.ordinal {
                // What the client left out of a reply is not sent in its place.
                Some(ordinal) if message.is_whole => parts.extend(of(ordinal).map(Part::Kept)),
                // It was recorded with the breakpoints that it had then.
                Some(ordinal) => {
                    let json = without_breakpoints(&message.json).into_owned();
                    parts.push(Part::Changed(of(ordinal).next(), json));
                }
                None => parts.push(Part::Changed(None, message.json.to_string())),
            }
        }
    }

    // Breakpoints of messages that are not sent as the client wrote them move to what is sent in their place.
    fn keep_breakpoints(&self, text: &str, parts: &mut [Part]) {
        let kept: HashSet<usize> = parts.iter().filter_map(Part::kept).collect();
        let message = |at: usize| self.messages.get(at).map_or("", |span| span.of(text));
        let mut gone = Vec::new();
        for at in (self.leading..self.messages.len()).filter(|at| !kept.contains(at)) {
            let json = message(at);
            if count_breakpoints(json) == 0 {
                continue;
            }
            let changed =
                parts.iter().position(|part| matches!(part, Part::Changed(Some(of), _) if *of == at));
            let behind = || parts.iter().position(|part| part.kept().is_some_and(|kept| kept > at));
            let place = changed.map(|changed| changed + 1).or_else(behind).unwrap_or(parts.len());
            gone.push(Gone { json, at: place });
        }
        if gone.is_empty() {
            return;
        }
        let json = |part: &Part| match part {
            Part::Kept(at) => message(*at).to_owned(),
            Part::Changed(_, json) => json.clone(),
        };
        let before: Vec<String> = parts.iter().map(json).collect();
        let mut after = before.clone();
        keep_breakpoints(self.outside, &gone, &mut after);
        for ((part, before), after) in parts.iter_mut().zip(before).zip(after) {
            if before != after {
                *part = Part::Changed(None, after);
            }
        }
    }

    // Between messages that stood beside each other stands what stood there.
    fn list(&self, text: &str, parts: &[Part]) -> String {
        let mut json = String::with_capacity(text.len());
        let mut before: Option<usize> = None;
        for (number, part) in parts.iter().enumerate() {
            let span = part.kept().and_then(|at| self.messages.get(at));
            let beside = part.kept().filter(|at| before.is_some_and(|before| before + 1 == *at));
            let last = beside.and(before).and_then(|before| self.messages.get(before));
            match (last, span) {
                (Some(last), Some(span)) => json.push_str(Span { start: last.end, end: span.start }.of(text)),
                _ if number > 0 => json.push(','),
                _ => {}
            }
            match (part, span) {
                (Part::Changed(_, changed), _) => json.push_str(changed),
                (Part::Kept(_), Some(span)) => json.push_str(span.of(text)),
                (Part::Kept(_), None) => {}
            }
            before = part.kept();
        }
        json
    }
}

/// A part of the list that is sent.
enum Part {
    /// The client's message of this number, byte for byte.
    Kept(usize),
    /// Another in the place of the client's message of this number, or of several.
    Changed(Option<usize>, String),
}

impl Part {
    fn kept(&self) -> Option<usize> {
        match self {
            Part::Kept(at) => Some(*at),
            Part::Changed(..) => None,
        }
    }
}
