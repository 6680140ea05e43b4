//! What can be done about a summary that lost or made up something: by code, so that it is done.
//!
//! What it made up is flagged or struck. What it left out and nobody can do without (what the user ordered, the goal,
//! errors, names that were used most) is appended in the words of the source, as far as there is room.

use serde::{Deserialize, Serialize};

use super::Sources;
use super::report::{Fault, Invented, Loss, Lost, What};
use crate::checkpoint::{Checkpoint, Item, Name, Section, Source, split_provenance};
use crate::message::{Block, Message, Role};

/// What is done about inventions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnInvention {
    /// They are marked as not verified.
    #[default]
    Flag,
    /// They are taken out, with the sentence they stand in.
    Strike,
}

/// A summary that was mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The summary.
    pub text: String,
    /// How many essentials were added.
    pub added: usize,
    /// How many inventions were flagged.
    pub flagged: usize,
    /// How many lines and names were struck.
    pub struck: usize,
}

/// The heading under which a summary that is no checkpoint gets what it left out.
pub const ADDED: &str = "## Added From the Source";

/// Mends a summary by its loss report; `fits` says whether a text is within the cap.
///
/// A summary that did not fit before is only ever made smaller.
pub fn mend(
    summary: &str,
    loss: &Loss,
    sources: &Sources<'_>,
    policy: OnInvention,
    fits: &dyn Fn(&str) -> bool,
) -> Mended {
    let mut mended = without_inventions(summary, &loss.invented, policy);
    if mended.flagged > 0 && !fits(&mended.text) {
        mended = without_inventions(summary, &loss.invented, OnInvention::Strike);
    }
    let essentials = essentials(loss);
    let goal = goal(sources);
    let page = Page::new(&mended.text, goal);
    // More is never shorter, so the most that fits is found by halves.
    let (mut low, mut high) = (0, essentials.len() + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if fits(&page.with(essentials.get(..middle).unwrap_or_default())) {
            low = middle
        } else {
            high = middle
        }
    }
    let text = page.with(essentials.get(..low).unwrap_or_default());
    if text != mended.text && fits(&text) {
        mended.text = text;
        mended.added = low + usize::from(page.adds_goal());
    }
    mended
}

fn without_inventions(summary: &str, invented: &[Invented], policy: OnInvention) -> Mended {
    let mut mended = Mended { text: String::with_capacity(summary.len()), added: 0, flagged: 0, struck: 0 };
    let mut at = 0;
    for line in summary.split_inclusive('\n') {
        let found: Vec<&Invented> = invented
            .iter()
            .filter(|found| found.line.start >= at && found.line.start < at + line.len())
            .collect();
        at += line.len();
        match policy {
            _ if found.is_empty() => mended.text.push_str(line),
            // A list of bare names has no room for a word about them.
            _ if found.iter().all(|found| found.section == Some(Section::Names)) => {
                mended.struck += found.len();
                mended.text.push_str(&without_names(line, &found));
            }
            OnInvention::Flag => {
                mended.flagged += found.len();
                mended.text.push_str(&flagged(line, &found));
            }
            OnInvention::Strike => mended.struck += 1,
        }
    }
    mended
}

fn without_names(line: &str, found: &[&Invented]) -> String {
    let kept = |word: &&str| found.iter().all(|found| *word != found.text);
    let names: Vec<&str> = line.split_whitespace().filter(kept).collect();
    if names.is_empty() { String::new() } else { format!(" {}\n", names.join(" ")) }
}

// The flag stands before what a line says about its source, which has to stay its end.
fn flagged(line: &str, found: &[&Invented]) -> String {
    let bare = line.trim_end_matches(['\n', '\r']);
    let (text, source) = split_provenance(bare);
    let items: Vec<&str> = found
        .iter()
        .filter(|found| found.text != found.claim && found.fault != Fault::Misattributed)
        .map(|found| found.text.as_str())
        .collect();
    let items = if items.is_empty() { String::new() } else { format!(": {}", items.join(", ")) };
    let source = source.map_or(String::new(), |source| format!(" {source}"));
    format!("{text} [unverified{items}]{source}{}", line.get(bare.len()..).unwrap_or_default())
}

// Orders first, then what was used most.
fn essentials(loss: &Loss) -> Vec<&Lost> {
    let orders = loss.missing.iter().chain(&loss.recoverable).filter(|lost| lost.what == What::Constraint);
    let is_name = |lost: &&Lost| {
        matches!(lost.what, What::Error | What::Path | What::Id | What::Url | What::Email)
            && (lost.uses > 1 || lost.role == Role::User)
    };
    orders.chain(loss.missing.iter().filter(is_name)).collect()
}

// How the first thing that the user says begins.
fn goal(sources: &Sources<'_>) -> Option<Item> {
    const LONGEST: usize = 300;
    let said = |message: &Message| match (message.role, message.blocks.first()) {
        (Role::User, Some(Block::Text(text))) if sources.first == 0 || sources.beside.is_empty() => {
            Some(text.text.trim().to_owned()).filter(|text| !text.is_empty())
        }
        _ => None,
    };
    let (at, text) =
        sources.messages.iter().enumerate().find_map(|(at, message)| Some((at, said(message)?)))?;
    let line = text.lines().next().unwrap_or_default();
    let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(end, _)| end);
    Item::new(line.get(..end)?, Some(Source { message: sources.first + at, role: Role::User }))
}

/// A summary and where in it something can be added.
enum Page {
    /// A checkpoint has a place for everything.
    Typed { checkpoint: Box<Checkpoint>, adds_goal: bool },
    /// Anything else gets a heading at its end.
    Plain(String),
}

impl Page {
    fn new(text: &str, goal: Option<Item>) -> Self {
        const LEAST_HEADINGS: usize = 2;
        let parsed = Checkpoint::parse(text);
        // Lines such as "Goal: …" are headings to whoever reads leniently; written anew, what follows would be under them.
        let has_heading = text.lines().any(|line| line.starts_with('#') && line != ADDED);
        if parsed.known_headings < LEAST_HEADINGS || !has_heading {
            return Page::Plain(text.to_owned());
        }
        let mut checkpoint = Box::new(parsed.checkpoint);
        let adds_goal = checkpoint.goal.is_none() && goal.is_some();
        if adds_goal {
            checkpoint.goal = goal;
        }
        Page::Typed { checkpoint, adds_goal }
    }

    fn adds_goal(&self) -> bool {
        matches!(self, Page::Typed { adds_goal: true, .. })
    }

    fn with(&self, essentials: &[&Lost]) -> String {
        match self {
            Page::Plain(text) if essentials.is_empty() => text.clone(),
            Page::Plain(text) => {
                let line = |lost: &&Lost| format!("- {}", one_line(lost));
                let lines: Vec<String> = essentials.iter().map(line).collect();
                format!("{}\n\n{ADDED}\n{}", text.trim_end(), lines.join("\n"))
            }
            Page::Typed { checkpoint, .. } => {
                let mut checkpoint = checkpoint.clone();
                for lost in essentials {
                    match lost.what {
                        What::Constraint => {
                            checkpoint.constraints.extend(Item::new(&lost.text, Some(source(lost))))
                        }
                        _ => checkpoint.names.extend(Name::new(&lost.text)),
                    }
                }
                checkpoint.render()
            }
        }
    }
}

fn source(lost: &Lost) -> Source {
    Source { message: lost.message, role: lost.role }
}

fn one_line(lost: &Lost) -> String {
    let words: Vec<&str> = lost.text.split_whitespace().collect();
    format!("{} {}", words.join(" "), source(lost))
}
