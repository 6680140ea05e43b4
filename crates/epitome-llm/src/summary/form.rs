//! What an answer has to be, and how it is read.

use epitome_core::checkpoint::Checkpoint;
use epitome_core::compact::Level;
use thiserror::Error;

use super::delta::{Delta, DeltaError};
use super::thinking::is_all_thought;
use crate::call::{Answer, Ending};

/// The form that an answer was asked for in.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Changes to this checkpoint.
    Changes(Box<Checkpoint>),
    /// A checkpoint.
    Checkpoint,
    /// Text.
    Prose,
}

/// An answer that is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unfit {
    #[error("the answer is empty")]
    Empty,
    #[error("the model spent its whole output on thinking")]
    Thinking,
    #[error("the model would not answer")]
    Declined,
    #[error("the model called a tool instead of answering")]
    Unfinished,
    #[error("the answer is data where a text was asked for")]
    Data,
    #[error("the answer has {0} of the headings that were asked for")]
    Sections(usize),
    #[error(transparent)]
    Changes(#[from] DeltaError),
}

impl Form {
    /// The form of a summary that is written anew.
    pub(super) fn of(level: Level) -> Self {
        match level {
            Level::Checkpoint => Form::Checkpoint,
            Level::Narrative | Level::Rolling | Level::Topic | Level::Bulk => Form::Prose,
        }
    }

    /// The summary in an answer.
    pub(super) fn read(&self, answer: &Answer) -> Result<String, Unfit> {
        match answer.ending {
            Ending::Declined => return Err(Unfit::Declined),
            Ending::Unfinished => return Err(Unfit::Unfinished),
            Ending::Whole | Ending::MaxOutput | Ending::Window => {}
        }
        if is_all_thought(answer) {
            return Err(Unfit::Thinking);
        }
        let text = match answer.ending {
            Ending::MaxOutput | Ending::Window if !matches!(self, Form::Changes(_)) => {
                whole_lines(&answer.text)
            }
            _ => &answer.text,
        };
        if text.trim().is_empty() {
            return Err(Unfit::Empty);
        }
        match self {
            Form::Changes(base) => Ok(Delta::read(text)?.apply(base)?.render()),
            Form::Checkpoint => checkpoint(text),
            Form::Prose => prose(text),
        }
    }
}

// What a cap cut off may say the opposite of what it was going to say.
fn whole_lines(text: &str) -> &str {
    text.trim_end().rsplit_once('\n').map_or(text, |(whole, _)| whole)
}

fn checkpoint(text: &str) -> Result<String, Unfit> {
    const FEWEST: usize = 2;
    let parsed = Checkpoint::parse(text);
    if parsed.checkpoint.is_empty() {
        return Err(Unfit::Empty);
    }
    if parsed.known_headings < FEWEST {
        return Err(Unfit::Sections(parsed.known_headings));
    }
    Ok(parsed.checkpoint.render())
}

// Without thoughts, fences, greetings and closing words.
fn prose(text: &str) -> Result<String, Unfit> {
    let mut text = text.rsplit_once("</think>").map_or(text, |(_, after)| after).trim();
    if let Some(inside) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        text = inside.split_once('\n').map_or(inside, |(_, lines)| lines).trim();
    }
    for ignored in Checkpoint::parse(text).ignored {
        let ignored = ignored.trim();
        let shorter = text.strip_prefix(ignored).or_else(|| text.strip_suffix(ignored));
        text = shorter.map_or(text, str::trim);
    }
    let is_data = text.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(text).is_ok();
    match text {
        "" => Err(Unfit::Empty),
        _ if is_data => Err(Unfit::Data),
        text => Ok(text.to_owned()),
    }
}
