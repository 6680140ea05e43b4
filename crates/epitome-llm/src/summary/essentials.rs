//! What nobody can do without, of what messages say: the user's words, and names and numbers by how much they are used.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use epitome_core::loss::Sources;
use epitome_core::secrets::masked;
use epitome_core::{Block, Message, Role, items};

/// Shorter stretches of words stand everywhere.
const SHORTEST: usize = 8;
/// Names that the user says, and that the agent uses, are worth so many times as much.
const SAID: u64 = 3;
const USED: u64 = 2;

/// The essentials of a conversation.
pub(super) struct Essentials {
    /// All that is said and answered, with single spaces.
    all: String,
    /// What the user says of it.
    users: String,
    /// What each name and number is worth, as it is written.
    worths: HashMap<String, u64>,
}

#[derive(Default)]
struct Uses {
    count: u32,
    said: bool,
    used: bool,
}

impl Essentials {
    /// Those of the messages that a summary is of.
    pub(super) fn of(sources: &Sources<'_>) -> Self {
        let (mut all, mut users) = (String::new(), String::new());
        let mut uses: HashMap<String, Uses> = HashMap::new();
        for (role, text) in sources.messages.iter().flat_map(texts) {
            let text = masked(text);
            let said = flat(&text);
            for item in items::find(&text).filter(items::Found::is_telling) {
                let uses = uses.entry(item.text.to_owned()).or_default();
                uses.count += 1;
                uses.said |= role == Role::User;
                uses.used |= role == Role::Assistant;
            }
            if role == Role::User {
                users.extend([said.as_str(), "\n"]);
            }
            all.extend([said.as_str(), "\n"]);
        }
        let worths = uses.into_iter().map(|(name, uses)| (name, worth(&uses))).collect();
        Self { all, users, worths }
    }

    /// Whether all of this is said in the messages word for word.
    pub(super) fn say(&self, words: &str) -> bool {
        stretches(words).all(|stretch| stretch.stands_in(&self.all))
    }

    /// Whether some of it is in the user's words.
    pub(super) fn is_users(&self, words: &str) -> bool {
        stretches(words).any(|stretch| stretch.text.len() >= SHORTEST && stretch.stands_in(&self.users))
    }

    /// What the names and numbers in a text are worth together that others do not have, each counted once.
    pub(super) fn worth(&self, text: &str, others: &HashSet<String>) -> u64 {
        let names = names(text).into_iter().filter(|name| !others.contains(name));
        names.filter_map(|name| self.worths.get(&name)).sum()
    }
}

// Each time that it is used again tells less than the time before.
fn worth(uses: &Uses) -> u64 {
    let said = if uses.said { SAID } else { 1 };
    let used = if uses.used { USED } else { 1 };
    said * used * u64::from((uses.count + 1).ilog2())
}

/// The names and numbers in a text, as they are written.
pub(super) fn names(text: &str) -> HashSet<String> {
    items::find(text).filter(items::Found::is_telling).map(|item| item.text.to_owned()).collect()
}

/// A text with single spaces.
pub(super) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text, with single spaces, has all of these words as they stand.
pub(super) fn has(text: &str, words: &str) -> bool {
    stretches(words).all(|stretch| stretch.stands_in(text))
}

/// Words that stand together.
struct Stretch<'w> {
    text: Cow<'w, str>,
    /// Whether it begins and ends where a word does: at dots it may have been cut anywhere.
    is_whole: (bool, bool),
}

impl Stretch<'_> {
    /// Whether a text, with single spaces, has it word for word: `do` is not said by who says `done`.
    fn stands_in(&self, text: &str) -> bool {
        let is_part = |left: Option<char>, right: Option<char>| {
            left.zip(right).is_some_and(|(left, right)| is_in_word(left) && is_in_word(right))
        };
        let (begins, ends) = self.is_whole;
        let mut found = text.match_indices(self.text.as_ref());
        found.any(|(at, same)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let behind = text.get(at + same.len()..).and_then(|behind| behind.chars().next());
            !(begins && is_part(before, same.chars().next())
                || ends && is_part(same.chars().next_back(), behind))
        })
    }
}

// Whether a character stands in words that spaces part. Scripts from that of Thai on do not part words, or seldom matter here.
fn is_in_word(character: char) -> bool {
    const UNPARTED: char = '\u{e00}';
    character == '_' || character.is_alphanumeric() && character < UNPARTED
}

// What stands together: lines, and in them what stands around dots.
fn stretches(words: &str) -> impl Iterator<Item = Stretch<'_>> {
    words.lines().flat_map(|line| {
        let mut parts = line.split(" … ").map(str::trim).enumerate().peekable();
        std::iter::from_fn(move || {
            let (number, part) = parts.next()?;
            let bare = part.trim_end_matches(['…', ' ']);
            let is_whole = (number == 0, parts.peek().is_none() && bare.len() == part.len());
            Some((bare, is_whole))
        })
        .filter(|(bare, _)| !bare.is_empty())
        .map(|(bare, is_whole)| match flat(bare) {
            same if same == bare => Stretch { text: Cow::Borrowed(bare), is_whole },
            other => Stretch { text: Cow::Owned(other), is_whole },
        })
    })
}

// The texts of a message, each with who speaks in it.
fn texts(message: &Message) -> Vec<(Role, &str)> {
    let mut found = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text(text) => found.push((message.role, text.text.as_str())),
            Block::ToolUse(call) | Block::ServerToolUse(call) => {
                found.push((message.role, call.input.as_str()));
            }
            Block::ToolResult(result) | Block::ServerToolResult(result) => {
                let told = result.content.iter().filter_map(|block| match block {
                    Block::Text(text) => Some((Role::Tool, text.text.as_str())),
                    _ => None,
                });
                found.extend(told);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_where_they_stand_as_such() {
        let text = "It is done in src/parser.rs, port 8443; use 40 workers, naïve ones. 不要删除文件";
        let cases = [
            ("done", true),
            ("do", false),
            ("one", false),
            ("It is done", true),
            ("t is done", false),
            ("src/parser.rs", true),
            ("parser", true),
            ("parse", false),
            ("port 844", false),
            ("port 8443", true),
            ("use 4", false),
            ("na", false),
            ("ïve", false),
            // Who cuts may cut a word.
            ("It is do…", true),
            ("It is … arser.rs, port 8443", true),
            ("is … orkers", true),
            ("s done … workers", false),
            ("done in\nuse   40 workers", true),
            ("done in\nuse 4", false),
            ("删除", true),
            ("ones", true),
        ];
        for (words, stands) in cases {
            assert_eq!(has(text, words), stands, "{words}");
        }
    }
}
