//! A transcript as it will be recorded: its messages, and the paths through them that become sessions.

use std::collections::HashSet;
use std::path::Path;

use epitome_core::tokens::Counter;
use epitome_core::{BlockKind, ContentHash, RecallId, Role, Time, Tokens, Usage};
use epitome_ledger::model::{ChainHash, NewMessage, Notation};
use epitome_wire::files::{RecordedCompaction, Transcript};

use super::label::label;
use super::threads::{Named, paths, whole};

/// Texts shorter than a marker are never replaced by one.
const SHORTEST_RECALLED: usize = 32;

/// A transcript, ready to be recorded.
pub(super) struct Material {
    /// The agent whose sessions these are.
    pub(super) agent: String,
    /// The tool that wrote it.
    pub(super) tool: String,
    /// The file.
    pub(super) channel: String,
    /// What surrounds its messages in the file.
    frame: Option<String>,
    /// The notation of its messages.
    pub(super) notation: Notation,
    /// Bytes of its text.
    pub(super) bytes: u64,
    /// Messages at its end that may not be whole yet.
    pub(super) left: u64,
    /// Lines that could not be read.
    pub(super) damage: Vec<String>,
    /// All messages of all paths.
    pub(super) messages: Vec<Ready>,
    /// The main path first.
    pub(super) paths: Vec<PathThrough>,
}

/// A message, ready to be recorded.
pub(super) struct Ready {
    pub(super) role: Role,
    body: Vec<u8>,
    pub(super) digest: ContentHash,
    pub(super) tokens: Tokens,
    recalls: Vec<RecallId>,
    /// What a session would be called after it.
    label: Option<String>,
    /// The kinds of its blocks.
    pub(super) blocks: Vec<BlockKind>,
    pub(super) time: Option<Time>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl Ready {
    /// The message as the ledger takes it.
    fn new_message(&self, notation: Notation, frame: &str) -> NewMessage {
        NewMessage {
            role: self.role,
            body: [frame.as_bytes(), &self.body].concat(),
            notation,
            digest: self.digest,
            tokens: self.tokens,
            recalls: self.recalls.clone(),
        }
    }

    /// The lines that were recorded behind it.
    pub(super) fn lines_behind<'s>(&self, stored: &'s [u8]) -> Option<&'s [u8]> {
        stored.strip_prefix(self.body.as_slice())?.strip_prefix(b"\n")
    }

    /// How many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }
}

/// A path from the first message to the end of a thread.
pub(super) struct PathThrough {
    /// The name under which its tool knows the session, where that lasts.
    pub(super) external: Option<String>,
    /// What people call it.
    pub(super) label: Option<String>,
    /// Its messages, by their numbers.
    pub(super) messages: Vec<usize>,
    /// The compactions on it, by places on it.
    pub(super) compactions: Vec<Compacted>,
}

/// A compaction of the tool's own, by places on a path.
pub(super) struct Compacted {
    /// The message that carries the summary.
    pub(super) at: usize,
    /// The first message that stayed visible beside it.
    pub(super) first_kept: usize,
    /// The summary; empty where only the provider can read it.
    pub(super) summary: String,
    /// Its tokens.
    pub(super) summary_tokens: Tokens,
    /// Tokens of the context before, where the tool says.
    pub(super) tokens_before: Option<Tokens>,
}

/// What is known about a file before it is read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    /// The agent whose sessions these are, where that was told.
    pub(super) agent: Option<&'a str>,
    /// Whether somebody may still be writing it.
    pub(super) growing: bool,
}

/// Whether the frame of a file goes with a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// It is the first that a session has of its own.
    Framed,
    /// It is not.
    Bare,
}

impl Material {
    /// The hashes of a path behind each of its messages.
    pub(super) fn chains(&self, path: &PathThrough) -> Vec<ChainHash> {
        ChainHash::along(self.on(path).map(|message| &message.digest))
    }

    /// How many messages of a path there are up to the first one of the model, that included.
    pub(super) fn answered(&self, path: &PathThrough) -> Option<usize> {
        self.on(path).position(|message| message.role == Role::Assistant).map(|first| first + 1)
    }

    /// What a fork is called that shares so many messages with another session: after what the user said else.
    pub(super) fn fork_label(&self, path: &PathThrough, shared: usize) -> Option<String> {
        let mut own = self.on(path).skip(shared).take_while(|message| message.role != Role::Assistant);
        let said = own.find_map(|message| message.label.clone());
        said.or_else(|| path.label.as_ref().map(|label| format!("fork of {label}")))
    }

    /// What two paths have in common that may be one conversation: their name, or how they open.
    pub(super) fn keys(&self, path: &PathThrough) -> impl Iterator<Item = String> {
        let opening = self.answered(path).unwrap_or(path.messages.len());
        let messages = self.on(path).take(opening);
        let opening = ChainHash::along(messages.map(|message| &message.digest)).pop();
        let name = path.external.as_ref().map(|name| format!("name {name}"));
        opening.map(|chain| chain.to_string()).into_iter().chain(name)
    }

    fn on<'m>(&'m self, path: &'m PathThrough) -> impl Iterator<Item = &'m Ready> {
        path.messages.iter().filter_map(|at| self.messages.get(*at))
    }

    /// A message as the ledger takes it.
    pub(super) fn new_message(&self, message: &Ready, framing: Framing) -> NewMessage {
        let frame = self.frame.as_deref().filter(|_| framing == Framing::Framed);
        message.new_message(self.notation, frame.unwrap_or_default())
    }

    /// Reads and counts everything, so that writing is all that is left to do.
    pub(super) fn of(path: &Path, transcript: Transcript, reading: Reading<'_>, counter: &Counter) -> Self {
        let tool = transcript.format.name().to_owned();
        let channel = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let growing = reading.growing && transcript.format.is_appended_to();
        let mut messages = messages(&transcript, counter);
        if let Some((at, lines)) = transcript.trailing().filter(|_| !growing)
            && let Some(message) = messages.get_mut(at)
        {
            message.body = [&message.body, lines.as_bytes()].join(&b'\n');
        }
        let (mut kept, mut left) = (Vec::new(), HashSet::new());
        for Named { external, mut messages } in paths(&transcript) {
            if growing {
                left.extend(messages.split_off(whole(&transcript, &messages)));
            }
            kept.push(path_through(&transcript, external, messages, counter));
        }
        for path in &kept {
            path.messages.iter().for_each(|at| {
                left.remove(at);
            });
        }
        let paths = kept.into_iter().filter(|path| !path.messages.is_empty()).collect();
        Self {
            agent: reading.agent.unwrap_or(&tool).to_owned(),
            left: left.len() as u64,
            channel: channel.display().to_string(),
            bytes: transcript.text.len() as u64,
            damage: transcript.damage.iter().map(ToString::to_string).collect(),
            notation: Notation(transcript.notation().number()),
            frame: transcript.frame(),
            paths,
            messages,
            tool,
        }
    }
}

fn messages(transcript: &Transcript, counter: &Counter) -> Vec<Ready> {
    let written = transcript.messages.iter().zip(&transcript.layouts).zip(transcript.kept());
    let ready = written.map(|((message, layout), kept)| {
        let outline = layout.outline(message, counter);
        let long = outline.blocks.iter().filter(|block| block.chars.0 >= SHORTEST_RECALLED);
        Ready {
            role: message.role,
            label: label(message),
            recalls: long.filter_map(|block| block.recall).collect(),
            blocks: outline.blocks.iter().map(|block| block.kind).collect(),
            tokens: outline.tokens,
            body: kept.body.into_bytes(),
            digest: kept.digest,
            time: message.meta.time,
            model: message.meta.model.clone(),
            usage: message.meta.usage,
        }
    });
    ready.collect()
}

fn path_through(
    transcript: &Transcript,
    external: Option<String>,
    messages: Vec<usize>,
    counter: &Counter,
) -> PathThrough {
    let place = |number: usize| messages.iter().position(|at| *at == number);
    let compacted = |found: &RecordedCompaction| {
        let at = place(found.position)?;
        Some(Compacted {
            at,
            first_kept: found.first_kept.and_then(place).filter(|first| *first < at).unwrap_or(at),
            summary_tokens: counter.text(&found.summary),
            summary: found.summary.clone(),
            tokens_before: found.tokens_before,
        })
    };
    let mut compactions: Vec<Compacted> = transcript.compactions.iter().filter_map(compacted).collect();
    compactions.sort_by_key(|compaction| compaction.at);
    let label = messages.iter().find_map(|at| label(transcript.messages.get(*at)?));
    PathThrough { external, label, messages, compactions }
}
