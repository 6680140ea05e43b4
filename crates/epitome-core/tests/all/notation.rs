//! Conversations written as one line, for cases as data.
//!
//! A word is a message: `s` system, `u` user, `a` assistant, `t` tool; then its blocks: `+1` a call with id 1, `-1` its
//! result, `~` thinking, `!` a provider's compaction item, `#` an image, `*30` a text of 30 tokens. A message
//! without blocks says a word.

use epitome_core::{Block, Message, Opaque, RawJson, Role};

use crate::support::{call_block, image, result_block, thinking};

/// The messages of a line.
pub(crate) fn talk(line: &str) -> Vec<Message> {
    line.split_whitespace().map(message).collect()
}

/// A text of exactly this many tokens.
pub(crate) fn words(tokens: usize) -> String {
    vec!["a"; tokens].join(" ")
}

fn message(word: &str) -> Message {
    let (role, blocks) = word.split_at(1);
    let role = match role {
        "s" => Role::System,
        "u" => Role::User,
        "a" => Role::Assistant,
        "t" => Role::Tool,
        other => panic!("no role {other}"),
    };
    let mut starts: Vec<usize> =
        blocks.char_indices().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, _)| at).collect();
    starts.push(blocks.len());
    let mut blocks: Vec<Block> = starts.windows(2).map(|ends| block(&blocks[ends[0]..ends[1]])).collect();
    if blocks.is_empty() {
        blocks.push(Block::text("word"));
    }
    Message::new(role, blocks)
}

fn block(notation: &str) -> Block {
    let (sign, rest) = notation.split_at(1);
    match sign {
        "+" => call_block("bash", rest),
        "-" => result_block(rest, "done"),
        "~" => thinking("hm"),
        "!" => Block::Compaction(Opaque { kind: "compaction".into(), raw: RawJson::new("{\"sealed\":1}") }),
        "#" => image(),
        "*" => Block::text(words(rest.parse().expect("a number of tokens"))),
        other => panic!("no block {other}"),
    }
}
