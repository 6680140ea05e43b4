//! A transcript as it will be recorded: its messages, and the paths through them that become sessions.

use std::path::Path;

use epitome_core::tokens::Counter;
use epitome_core::{Block, BlockKind, ContentHash, Message, RecallId, Role, Time, Tokens, Usage};
use epitome_ledger::model::{ChainHash, NewMessage, Notation};
use epitome_wire::files::{RecordedCompaction, Thread, ThreadKind, Transcript};

/// Texts shorter than a marker are never replaced by one.
const SHORTEST_RECALLED: usize = 32;
/// Characters of a label.
const LABEL: usize = 60;

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
    pub(super) fn of(path: &Path, transcript: Transcript, agent: Option<&str>, counter: &Counter) -> Self {
        let tool = transcript.format.name().to_owned();
        let channel = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let paths = transcript.threads.iter().map(|thread| path_through(&transcript, thread, counter));
        let paths = paths.filter(|path| !path.messages.is_empty()).collect();
        Self {
            agent: agent.unwrap_or(&tool).to_owned(),
            channel: channel.display().to_string(),
            bytes: transcript.text.len() as u64,
            damage: transcript.damage.iter().map(ToString::to_string).collect(),
            notation: Notation(transcript.notation().number()),
            frame: transcript.frame(),
            paths,
            messages: messages(&transcript, counter),
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

fn path_through(transcript: &Transcript, thread: &Thread, counter: &Counter) -> PathThrough {
    let messages = transcript.path(thread);
    // The ids of branches change as they grow; those of sessions and sub-agents last.
    let external = match thread.kind {
        ThreadKind::Main => transcript.id.clone(),
        ThreadKind::Sidechain => transcript.id.as_ref().map(|id| format!("{id}/{}", thread.id)),
        ThreadKind::Branch => None,
    };
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

// What the user says first names a session best. Tools put words of their own in front, in angle brackets.
fn label(message: &Message) -> Option<String> {
    let texts = message.blocks.iter().filter(|_| message.role == Role::User);
    let texts = texts.filter_map(|block| if let Block::Text(text) = block { Some(&text.text) } else { None });
    let mut lines = texts.flat_map(|text| text.lines()).map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('<'))?;
    let mut label: String = line.chars().filter(|letter| !letter.is_control()).take(LABEL).collect();
    if line.chars().nth(LABEL).is_some() {
        label.push('…');
    }
    Some(label)
}
