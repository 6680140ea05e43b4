//! Walks a path once and keeps, for each file, what became of it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::call::{self, Call};
use super::failure::{self, Verdict};
use super::failures::{Failed, Failures};
use super::{Deed, Effect};
use crate::message::{Block, Message, ToolResult, ToolUse};
use crate::outline::{BlockOutline, Entry};
use crate::turn::{Place, ToolPair, tool_pairs};

/// A file and the last message that touched it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    /// The file, as the call named it.
    pub file: String,
    /// The number of the message with the last call that touched it.
    pub message: usize,
}

/// What a conversation did outside of itself. A file is in one list only, by what became of it in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    /// Files that were looked at and left alone.
    pub read: Vec<Touched>,
    /// Files that were not there before.
    pub created: Vec<Touched>,
    /// Files that are others than before.
    pub modified: Vec<Touched>,
    /// Files that are gone.
    pub deleted: Vec<Touched>,
    /// Calls that failed.
    pub failed: Vec<Failed>,
}

/// Reads the artifacts of a path. Each list is in the order of the last touch.
pub fn of(path: &[Entry], messages: &[Message]) -> Artifacts {
    let pairs = tool_pairs(path.iter().map(|entry| entry.outline.as_ref()));
    let mut files = Files::default();
    let mut failures = Failures::default();
    for ToolPair { call, result } in pairs.pairs {
        let (Some(tool), Some(answer)) = (tool_use(messages, call), tool_result(messages, result)) else {
            continue;
        };
        let outline = path.get(result.message).and_then(|entry| entry.outline.blocks.get(result.block));
        take(&mut files, &mut failures, tool, answer, outline, call.message);
    }
    let mut artifacts = files.finish();
    artifacts.failed = failures.finish();
    artifacts
}

fn take(
    files: &mut Files,
    failures: &mut Failures,
    tool: &ToolUse,
    answer: &ToolResult,
    outline: Option<&BlockOutline>,
    message: usize,
) {
    let call = Call::read(&tool.name, &tool.input, &files.open);
    let verdict = failure::judge(&call, answer, outline);
    for effect in call.effects(&verdict, answer) {
        files.touch(effect, message);
    }
    match verdict {
        Verdict::Failed { error, place } => {
            let (tool, input) = (tool.name.clone(), call::short_input(&tool.input));
            failures.add(Failed { tool, input, error, place, message, times: 1, solved: None });
        }
        Verdict::Worked => {
            files.open = call.opens().or(files.open.take());
            if !failures.is_empty() {
                let input = call::short_input(&tool.input);
                failures.solve(&tool.name, input, message, files.changed.as_ref());
            }
        }
    }
}

fn tool_use(messages: &[Message], place: Place) -> Option<&ToolUse> {
    match messages.get(place.message)?.blocks.get(place.block)? {
        Block::ToolUse(tool) => Some(tool),
        _ => None,
    }
}

fn tool_result(messages: &[Message], place: Place) -> Option<&ToolResult> {
    match messages.get(place.message)?.blocks.get(place.block)? {
        Block::ToolResult(result) => Some(result),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Read,
    Created,
    Modified,
    Deleted,
}

struct Seen {
    state: State,
    message: usize,
    /// Which touch of all it was; one message may touch many files.
    touch: usize,
}

#[derive(Default)]
struct Files {
    seen: HashMap<String, Seen>,
    touches: usize,
    /// The file that an editor with a state of its own (SWE-agent's) has open.
    open: Option<String>,
    /// The file that was changed last, and by which message.
    changed: Option<(String, usize)>,
}

impl Files {
    fn touch(&mut self, effect: Effect, message: usize) {
        let before = self.seen.get(&effect.file).map(|seen| seen.state);
        let state = match (effect.deed, before) {
            (Deed::Delete, _) => State::Deleted,
            (Deed::Create, _) => State::Created,
            (Deed::Read, None | Some(State::Deleted)) => State::Read,
            (Deed::Read, Some(state)) => state,
            (Deed::Write | Deed::Modify, Some(State::Created)) => State::Created,
            (Deed::Write, None | Some(State::Deleted)) => State::Created,
            (Deed::Write, Some(_)) | (Deed::Modify, _) => State::Modified,
        };
        self.touches += 1;
        if effect.deed != Deed::Read {
            self.changed = Some((effect.file.clone(), message));
        }
        self.seen.insert(effect.file, Seen { state, message, touch: self.touches });
    }

    fn finish(self) -> Artifacts {
        let mut found = Artifacts::default();
        let gone = |file: &str, seen: &Seen| {
            let mut folders = file.match_indices('/').filter_map(|(at, _)| self.seen.get(file.get(..at)?));
            folders.any(|folder| folder.state == State::Deleted && folder.touch > seen.touch)
        };
        // A deleted folder stands for what was in it.
        for (file, seen) in self.seen.iter().filter(|(file, seen)| !gone(file, seen)) {
            let list = match seen.state {
                State::Read => &mut found.read,
                State::Created => &mut found.created,
                State::Modified => &mut found.modified,
                State::Deleted => &mut found.deleted,
            };
            list.push(Touched { file: file.clone(), message: seen.message });
        }
        for list in [&mut found.read, &mut found.created, &mut found.modified, &mut found.deleted] {
            list.sort_unstable_by(|left, right| {
                (left.message, &left.file).cmp(&(right.message, &right.file))
            });
        }
        found
    }
}
