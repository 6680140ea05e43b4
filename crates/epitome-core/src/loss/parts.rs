//! The parts of a comparison: whose text stands where, and whether it is still shown.

use super::claims::{Claim, Form, claims};
use crate::checkpoint::Section;
use crate::message::{Block, Role};

/// A text of the source.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// The number of its message in the path; `None` where it stands outside.
    pub(super) message: Option<usize>,
    /// Whose words these are.
    pub(super) role: Role,
    /// Whether it is said to somebody, not to or by a tool.
    pub(super) spoken: bool,
    /// What became of it.
    pub(super) state: State,
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is shown as it was.
    Shown,
    /// It is not, or not as it was.
    Hidden,
    /// It never was a part of the conversation; it only tells where a summary has something from, and may be anybody's words.
    Beside,
    /// It is said in a message that the summary is not of.
    Seen,
}

/// The parts of blocks of a message that all met the same.
pub(super) fn parts<'a>(
    number: Option<usize>,
    speaker: Role,
    blocks: &'a [Block],
    state: State,
    into: &mut Vec<Part<'a>>,
) {
    let mut push = |text: &'a str, role: Role, spoken: bool| {
        if !text.is_empty() {
            into.push(Part { text, message: number, role, spoken, state });
        }
    };
    for block in blocks {
        match block {
            Block::Text(text) => push(&text.text, speaker, speaker != Role::Tool),
            Block::Thinking(thinking) => push(&thinking.text, speaker, false),
            Block::ToolUse(call) | Block::ServerToolUse(call) => {
                push(&call.name, speaker, false);
                push(&call.input, speaker, false);
            }
            Block::ToolResult(result) | Block::ServerToolResult(result) => {
                for content in &result.content {
                    if let Block::Text(text) = content {
                        push(&text.text, Role::Tool, false);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The parts of a text beside a conversation. Lines of an earlier summary that say to be a tool's are that.
pub(super) fn beside<'a>(text: &'a str, into: &mut Vec<Part<'a>>) {
    let mut push = |range: std::ops::Range<usize>, role: Role| {
        let text = text.get(range).unwrap_or_default();
        if !text.trim().is_empty() {
            into.push(Part { text, message: None, role, spoken: true, state: State::Beside });
        }
    };
    let mut at = 0;
    for claim in claims(text).iter().filter(|claim| is_tools(claim)) {
        // Several claims may stand in one line.
        if claim.line.start >= at {
            push(at..claim.line.start, Role::System);
            push(claim.line.clone(), Role::Tool);
            at = claim.line.end;
        }
    }
    push(at..text.len(), Role::System);
}

fn is_tools(claim: &Claim<'_>) -> bool {
    let speaker = claim.source.map(|source| source.role).or(claim.speaker);
    let is_nobodys = claim.form == Form::Excerpt && speaker.is_none();
    speaker == Some(Role::Tool) || is_nobodys || claim.section == Some(Section::Failed)
}
