//! Claude Code's tree of lines as a tree of messages.

use std::collections::HashMap;

use epitome_core::{Block, Role, Tokens};

use super::assembly::{Assembly, Draft};
use super::reader::Summaries;
use super::transcript::RecordedCompaction;

/// A line of a session file.
#[derive(Default)]
pub(super) struct Line {
    pub(super) record: usize,
    pub(super) id: Option<String>,
    pub(super) parent: Option<String>,
    /// The sub-agent that wrote it; empty where the file does not say which.
    pub(super) agent: Option<String>,
    pub(super) kind: LineKind,
    /// The message, or the part of one, that it holds.
    pub(super) draft: Option<Draft>,
    /// The id of the API's reply that it is a part of.
    pub(super) message_id: Option<String>,
    /// Whether it says that the reply ends with it.
    pub(super) ended: bool,
    /// The line that it says something about, where it is no message.
    pub(super) about: Option<String>,
    pub(super) tokens_before: Option<Tokens>,
    pub(super) first_kept: Option<String>,
}

/// What a line means for the conversation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LineKind {
    /// No more than it says.
    #[default]
    Plain,
    /// History before it is no longer sent.
    Boundary,
    /// It summarises that history.
    Summary,
}

/// Turns `lines` into the messages, parents and compactions of `assembly`.
pub(super) fn assemble(mut lines: Vec<Line>, summaries: Summaries, assembly: &mut Assembly) {
    let drafts: Vec<Option<Draft>> = lines.iter_mut().map(|line| line.draft.take()).collect();
    let parents = parents(&lines, &drafts);
    let grouped = group(&lines, drafts, &parents);
    let merged = merge_user_lines(grouped, &lines, summaries);
    let Tree { mut messages, of_line } = merged;
    mark_open(&lines, &of_line, &mut messages);
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.kind == LineKind::Summary) {
        let Some(position) = of_line.get(at).copied().flatten() else { continue };
        let boundary = parents.get(at).copied().flatten().and_then(|parent| lines.get(parent));
        let kept = boundary.and_then(|line| line.first_kept.as_deref());
        let kept = kept.and_then(|id| lines.iter().position(|line| line.id.as_deref() == Some(id)));
        assembly.compactions.push(RecordedCompaction {
            position,
            summary: messages.get(position).and_then(summary).unwrap_or_default(),
            first_kept: kept.and_then(|line| of_line.get(line).copied().flatten()),
            tokens_before: boundary.and_then(|line| line.tokens_before),
        });
    }
    assembly.messages = messages;
    // The newest message is the last line that says something in the main conversation.
    let newest = lines
        .iter()
        .enumerate()
        .rev()
        .find(|(at, line)| line.agent.is_none() && of_line.get(*at).is_some_and(Option::is_some));
    assembly.head = newest.and_then(|(at, _)| of_line.get(at).copied().flatten());
}

/// Messages, and which of them each line belongs to.
struct Tree {
    messages: Vec<Draft>,
    of_line: Vec<Option<usize>>,
}

// The line that each line continues. A line whose parent is missing continues the one before it: lines get
// lost, and compactions of older versions say nothing about what came before.
fn parents(lines: &[Line], drafts: &[Option<Draft>]) -> Vec<Option<usize>> {
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(id) = &line.id {
            by_id.entry(id).or_insert(at);
        }
    }
    let mut last: HashMap<Option<&str>, usize> = HashMap::new();
    let mut parents = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let agent = line.agent.as_deref();
        let before = last.get(&agent).copied();
        parents.push(match &line.parent {
            Some(id) => by_id.get(id.as_str()).copied().filter(|parent| *parent != at).or(before),
            None if line.kind == LineKind::Boundary => before,
            None => None,
        });
        if drafts.get(at).is_some_and(Option::is_some) || line.kind == LineKind::Boundary {
            last.insert(agent, at);
        }
    }
    parents
}

// Puts the lines of one reply together, and the results of one reply's calls.
fn group(lines: &[Line], drafts: Vec<Option<Draft>>, parents: &[Option<usize>]) -> Tree {
    let mut tree = Tree { messages: Vec::new(), of_line: vec![None; lines.len()] };
    let mut callers: HashMap<String, usize> = HashMap::new();
    let mut answers: HashMap<usize, usize> = HashMap::new();
    let mut firsts: Vec<usize> = Vec::new();
    for (at, (line, draft)) in lines.iter().zip(drafts).enumerate() {
        let Some(mut draft) = draft else { continue };
        draft.records.push(line.record);
        draft.sidechain = line.agent.clone();
        draft.message.meta.id = line.message_id.clone().or_else(|| line.id.clone());
        let is_reply = draft.message.role == Role::Assistant;
        let caller = draft.message.blocks.iter().find_map(|block| match block {
            Block::ToolResult(result) => callers.get(&result.call_id).copied(),
            _ => None,
        });
        let known = match (is_reply, caller) {
            (true, _) => continued(&tree, parents, at, line.message_id.as_deref()),
            (false, Some(caller)) => answers.get(&caller).copied(),
            (false, None) => None,
        };
        let calls: Vec<String> = draft
            .message
            .blocks
            .iter()
            .filter_map(|block| if let Block::ToolUse(call) = block { Some(call.id.clone()) } else { None })
            .collect();
        let message = match known {
            Some(message) => {
                if let Some(known) = tree.messages.get_mut(message) {
                    known.join(draft);
                }
                message
            }
            None => {
                draft.parent = caller;
                tree.messages.push(draft);
                firsts.push(at);
                tree.messages.len() - 1
            }
        };
        if is_reply {
            callers.extend(calls.into_iter().map(|call| (call, message)));
        } else if let Some(caller) = caller {
            answers.insert(caller, message);
        }
        if let Some(of_line) = tree.of_line.get_mut(at) {
            *of_line = Some(message);
        }
    }
    let above = messages_above(&tree.of_line, parents);
    for (message, first) in firsts.into_iter().enumerate() {
        let Some(draft) = tree.messages.get_mut(message) else { continue };
        // Results hang on the reply whose calls they answer, wherever their lines say they hang.
        draft.parent =
            draft.parent.or(above.get(first).copied().flatten()).filter(|parent| *parent != message);
    }
    tree
}

// The reply that a line is a further part of: the one that it hangs on, or whose results it hangs on. Some versions write
// a whole conversation twice, with the same replies under another root; those are no parts of each other.
fn continued(tree: &Tree, parents: &[Option<usize>], line: usize, id: Option<&str>) -> Option<usize> {
    let id = id?;
    let mut at = line;
    for _ in 0..parents.len() {
        at = parents.get(at).copied().flatten().filter(|parent| *parent < at)?;
        let Some(message) = tree.of_line.get(at).copied().flatten() else { continue };
        let above = tree.messages.get(message)?;
        let reply = if above.message.role == Role::Assistant { message } else { above.parent? };
        let is_same = tree.messages.get(reply)?.message.meta.id.as_deref() == Some(id);
        return is_same.then_some(reply);
    }
    None
}

// A reply has ended when a line of it says so, when something is noted about it, or when its conversation went on with something
// else than the results of its calls.
fn mark_open(lines: &[Line], of_line: &[Option<usize>], messages: &mut [Draft]) {
    let of_id: HashMap<&str, usize> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((line.id.as_deref()?, at))).collect();
    let mut latest: HashMap<Option<&str>, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        let about = line.about.as_deref().and_then(|id| of_id.get(id).copied());
        if let Some(noted) = about.and_then(|about| of_line.get(about).copied().flatten()) {
            messages.get_mut(noted).into_iter().for_each(|draft| draft.open = false);
        }
        let Some(message) = of_line.get(at).copied().flatten() else { continue };
        let before = latest.get(&line.agent.as_deref()).copied();
        let Some(draft) = messages.get_mut(message) else { continue };
        if draft.message.role == Role::Assistant {
            draft.open = !line.ended;
        } else if draft.parent == before && draft.message.blocks.iter().any(is_result) {
            continue;
        }
        if let Some(before) =
            latest.insert(line.agent.as_deref(), message).filter(|before| *before != message)
        {
            messages.get_mut(before).into_iter().for_each(|draft| draft.open = false);
        }
    }
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult(_))
}

// The nearest message above each line, in one pass over all chains.
fn messages_above(of_line: &[Option<usize>], parents: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut above: Vec<Option<Option<usize>>> = vec![None; of_line.len()];
    for start in 0..of_line.len() {
        let mut chain = Vec::new();
        let mut at = start;
        let found = loop {
            if let Some(known) = above.get(at).copied().flatten() {
                break known;
            }
            chain.push(at);
            if chain.len() > of_line.len() {
                break None;
            }
            let Some(parent) = parents.get(at).copied().flatten() else { break None };
            if let Some(message) = of_line.get(parent).copied().flatten() {
                break Some(message);
            }
            at = parent;
        };
        for line in chain {
            if let Some(above) = above.get_mut(line) {
                *above = Some(found);
            }
        }
    }
    above.into_iter().map(Option::flatten).collect()
}

// A user message that continues a user message is one with it, as long as nothing else continues that one.
fn merge_user_lines(tree: Tree, lines: &[Line], summaries: Summaries) -> Tree {
    let mut children = vec![0_usize; tree.messages.len()];
    for parent in tree.messages.iter().filter(|draft| !draft.hidden).filter_map(|draft| draft.parent) {
        if let Some(children) = children.get_mut(parent) {
            *children += 1;
        }
    }
    let mut starts_anew = vec![false; tree.messages.len()];
    for (line, message) in lines.iter().zip(&tree.of_line) {
        if let Some(starts_anew) = message.and_then(|message| starts_anew.get_mut(message)) {
            *starts_anew |= line.kind == LineKind::Summary;
        }
    }
    let mut place: Vec<usize> = Vec::with_capacity(tree.messages.len());
    let mut messages: Vec<Draft> = Vec::new();
    for (at, draft) in tree.messages.into_iter().enumerate() {
        let into = draft.parent.filter(|parent| {
            *parent < at
                && !starts_anew.get(at).copied().unwrap_or(false)
                && (summaries == Summaries::Joined || !starts_anew.get(*parent).copied().unwrap_or(false))
                && children.get(*parent) == Some(&1)
                && draft.message.role == Role::User
        });
        let into = into.and_then(|parent| place.get(parent).copied());
        match into.and_then(|into| Some((into, messages.get_mut(into)?))) {
            Some((into, user)) if user.message.role == Role::User && user.sidechain == draft.sidechain => {
                user.join(draft);
                place.push(into);
            }
            _ => {
                place.push(messages.len());
                messages.push(draft);
            }
        }
    }
    for (at, draft) in messages.iter_mut().enumerate() {
        draft.parent =
            draft.parent.and_then(|parent| place.get(parent).copied()).filter(|parent| *parent != at);
    }
    let of_line =
        tree.of_line.into_iter().map(|message| message.and_then(|at| place.get(at).copied())).collect();
    Tree { messages, of_line }
}

// The line that summarises comes first; further ones may have been put together with it.
fn summary(draft: &Draft) -> Option<String> {
    draft.message.blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text.text.clone()),
        _ => None,
    })
}
