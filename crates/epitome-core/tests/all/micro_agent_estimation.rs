//! The C# micro agent's estimation table, row by row.

use epitome_core::tokens::micro_agent_estimate;
use epitome_core::{Block, Message, Role, Tokens};

use crate::support::{call_block, image, result_of, thinking};

fn estimate(blocks: Vec<Block>) -> Tokens {
    micro_agent_estimate(&[Message::new(Role::User, blocks)])
}

#[test]
fn text_by_its_length() {
    assert_eq!(estimate(vec![Block::text("x".repeat(400))]), Tokens(100));
    // .Length counts UTF-16 units: two for an emoji.
    assert_eq!(estimate(vec![Block::text("🙂🙂")]), Tokens(1));
}

#[test]
fn tool_use_by_name_and_input() {
    let block = call_block("bash", "1");
    let Block::ToolUse(call) = &block else { panic!("a tool call") };
    let chars = call.name.len() + call.input.len();
    assert_eq!(estimate(vec![block.clone()]), Tokens(chars as u64 / 4));
}

#[test]
fn tool_result_by_its_texts() {
    let content = vec![Block::text("a".repeat(30)), image(), Block::text("b".repeat(10))];
    assert_eq!(estimate(vec![result_of("1", content)]), Tokens(10));
}

#[test]
fn nothing_else_counts() {
    assert_eq!(estimate(vec![image(), thinking("a long thought about nothing in particular")]), Tokens::ZERO);
}

#[test]
fn characters_are_summed_before_they_are_divided() {
    let messages: Vec<_> = (0..4).map(|_| Message::text(Role::User, "abc")).collect();
    assert_eq!(micro_agent_estimate(&messages), Tokens(3));
}
