//! A path as the writes that record it: turns, and compactions between them.

use epitome_core::compact::{Compaction, Level, Placement, Segment, Wording};
use epitome_core::{BlockKind, Role, Tokens};
use epitome_ledger::model::{NewCompaction, NewMessage, NewReply, NewTurn, TurnId};

use super::paths::{Compacted, Framing, Material, PathThrough, Ready};

/// So many messages, or so many bytes, are written at once.
const MESSAGES: usize = 512;
const BYTES: usize = 4 << 20;

/// The words around a summary that another tool wrote: none.
pub(super) const AS_IT_STANDS: &str = "{summary}";

/// A path that is recorded up to some message, and the rest of it.
pub(super) struct Rest<'m> {
    material: &'m Material,
    path: &'m PathThrough,
    at: usize,
    /// The message that the frame of the file goes with.
    framed: Option<usize>,
    /// Lines that the next message brings along, and that are recorded.
    recorded: Vec<u8>,
    start: usize,
}

impl<'m> Rest<'m> {
    pub(super) fn new(material: &'m Material, path: &'m PathThrough, at: usize) -> Self {
        Self { material, path, at, framed: None, recorded: Vec::new(), start: at }
    }

    /// The same, with what surrounds the messages in their file before the first of them.
    pub(super) fn framed(self) -> Self {
        Self { framed: Some(self.at), ..self }
    }

    /// The same, where these lines behind the last message are recorded with it.
    pub(super) fn behind(self, lines: &[u8]) -> Self {
        Self { recorded: lines.to_vec(), ..self }
    }

    fn new_messages(&self, range: std::ops::Range<usize>) -> Vec<NewMessage> {
        let framing = |place| if self.framed == Some(place) { Framing::Framed } else { Framing::Bare };
        let message = |place| {
            let mut new = self.material.new_message(self.message(place)?, framing(place));
            let rest =
                new.body.strip_prefix(self.recorded.as_slice()).and_then(|rest| rest.strip_prefix(b"\n"));
            if let Some(rest) = rest.filter(|_| place == self.start && !self.recorded.is_empty()) {
                new.body = rest.to_vec();
            }
            Some(new)
        };
        range.filter_map(message).collect()
    }

    fn message(&self, place: usize) -> Option<&'m Ready> {
        self.path.messages.get(place).and_then(|at| self.material.messages.get(*at))
    }

    /// Where it stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The compaction that the message before carries.
    pub(super) fn compaction_due(&self) -> Option<&'m Compacted> {
        let carrier = self.at.checked_sub(1)?;
        self.path.compactions.iter().find(|compaction| compaction.at == carrier)
    }

    /// Takes the messages of the model that come next.
    pub(super) fn reply(&mut self) -> Option<NewReply> {
        let start = self.at;
        while self.message(self.at).is_some_and(|message| message.role == Role::Assistant)
            && !(self.at > start && self.compaction_due().is_some())
        {
            self.at += 1;
        }
        let messages: Vec<&Ready> = (start..self.at).filter_map(|place| self.message(place)).collect();
        let last = messages.last()?;
        let is_call = |kind: &&BlockKind| **kind == BlockKind::ToolUse;
        let calls = messages.iter().flat_map(|message| &message.blocks).filter(is_call).count();
        Some(NewReply {
            model: messages.iter().rev().find_map(|message| message.model.clone()),
            usage: messages.iter().rev().find_map(|message| message.usage),
            tool_calls: calls as u64,
            time: last.time,
            messages: self.new_messages(start..self.at),
            ..NewReply::default()
        })
    }

    // Takes what goes into the next call, and what came out. What carries a summary is a turn of its own.
    fn turn(&mut self) -> Option<NewTurn> {
        let start = self.at;
        while self.message(self.at).is_some_and(|message| message.role != Role::Assistant) {
            if self.at > start && self.path.compactions.iter().any(|compaction| compaction.at == self.at) {
                break;
            }
            self.at += 1;
            if self.compaction_due().is_some() {
                break;
            }
        }
        let end = self.at;
        let input: Vec<&Ready> = (start..end).filter_map(|place| self.message(place)).collect();
        let reply = if self.at > start && self.compaction_due().is_some() { None } else { self.reply() };
        if input.is_empty() && reply.is_none() {
            return None;
        }
        let answered = reply.as_ref().and_then(|reply| reply.time);
        Some(NewTurn {
            model: reply.as_ref().and_then(|reply| reply.model.clone()),
            time: input.iter().find_map(|message| message.time).or(answered),
            reply,
            ..NewTurn::of(self.new_messages(start..end))
        })
    }

    /// Takes the turns that come next: some at once, at most up to a compaction.
    pub(super) fn turns(&mut self) -> Vec<NewTurn> {
        let (mut turns, mut bytes, start) = (Vec::new(), 0, self.at);
        while self.at - start < MESSAGES && bytes < BYTES {
            let before = self.at;
            let Some(turn) = self.turn() else { break };
            bytes +=
                (before..self.at).filter_map(|place| self.message(place)).map(Ready::bytes).sum::<usize>();
            turns.push(turn);
            if self.compaction_due().is_some() {
                break;
            }
        }
        turns
    }

    /// The compaction that is due here.
    pub(super) fn compaction(&self, due: &Compacted) -> Option<NewCompaction> {
        let segments = self.segments(due)?;
        let shown = |range: std::ops::Range<usize>| -> Tokens {
            range.filter_map(|place| self.message(place)).map(|message| message.tokens).sum()
        };
        let kept = segments.iter().map(|segment| match segment {
            Segment::Verbatim { range } => shown(range.clone()),
            Segment::Summary { .. } => due.summary_tokens,
            _ => Tokens::ZERO,
        });
        let compaction = Compaction {
            placement: Placement::default(),
            wording: Wording { summary: AS_IT_STANDS.to_owned(), ..Wording::default() },
            segments: segments.clone(),
        };
        let carrier = self.message(due.at);
        Some(NewCompaction {
            id: TurnId::generate(),
            compaction,
            strategy: self.material.tool.clone(),
            trigger: "imported".to_owned(),
            tokens_before: due.tokens_before.unwrap_or_else(|| shown(0..due.at)),
            tokens_after: kept.sum(),
            report: None,
            model: carrier.and_then(|message| message.model.clone()),
            time: carrier.and_then(|message| message.time),
        })
    }

    // Instructions of the operator, then the summary, then what stayed visible beside it. The message that carries the
    // summary is recorded, too; what the model sees of it is the summary.
    fn segments(&self, due: &Compacted) -> Option<Vec<Segment>> {
        let operator = |place: &usize| {
            self.message(*place).is_some_and(|message| matches!(message.role, Role::System | Role::Developer))
        };
        let leading = (0..due.first_kept).take_while(operator).count();
        let hidden = leading..due.first_kept;
        if hidden.is_empty() {
            return None;
        }
        let (carrier, behind) = (due.at, due.at + 1);
        let verbatim =
            |range: std::ops::Range<usize>| (!range.is_empty()).then_some(Segment::Verbatim { range });
        let mut segments: Vec<Segment> = verbatim(0..leading).into_iter().collect();
        if due.summary.is_empty() {
            let note = format!("compacted by {} in a form that only the provider reads", self.material.tool);
            segments.push(Segment::Omitted { range: hidden, note });
            segments.extend(verbatim(due.first_kept..behind));
            return Some(segments);
        }
        segments.push(Segment::Summary { range: hidden, text: due.summary.clone(), level: Level::Narrative });
        segments.extend(verbatim(due.first_kept..carrier));
        let note = "the record of the summary that stands before".to_owned();
        segments.push(Segment::Omitted { range: carrier..behind, note });
        Some(segments)
    }
}
