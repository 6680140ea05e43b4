//! Conformance with ADR 033: large messages are truncated to 2,000 characters with a `[truncated]` marker.
//!
//! The ADR truncates when the current topic outgrows its allocation; when that is so is up to the strategy
//! that sets `max_message_chars`. The exchange that is going on is left alone.

use epitome_core::prune::{Outcome, PrunedForm, Settings, read_text};
use epitome_core::settings;
use epitome_core::{Block, Chars, Message, RecallId, Role, Tokens};

use crate::support::*;

fn friday() -> Settings {
    let mut settings = settings::Settings::default();
    settings::apply(&mut settings, "maxMessageChars", "2000").unwrap();
    Settings { clear_at_least: Tokens(1), ..settings.prune }
}

fn text(message: &Message) -> &str {
    match &message.blocks[0] {
        Block::Text(text) => &text.text,
        other => panic!("{:?} is no text", other.kind()),
    }
}

#[test]
fn it_is_off_unless_a_strategy_asks_for_it() {
    assert_eq!(Settings::default().max_message_chars, None);
    let messages = [user(&output(9_000)), assistant(&output(9_000)), user("and then?")];
    assert_eq!(pruned(&messages, &Settings::default()), messages);
}

#[test]
fn messages_over_2000_characters_are_truncated() {
    let (question, answer) = (output(5_000), output(6_000));
    let messages = [user(&question), assistant(&answer), user("and then?")];
    let after = pruned(&messages, &friday());
    let expected = |text: &str, speaker: &str| {
        let recall = RecallId::of(text);
        format!("{}\n[truncated]\n[{speaker} · {} chars · recall {recall}]", &text[..2_000], text.len())
    };
    assert_eq!(text(&after[0]), expected(&question, "user"));
    assert_eq!(text(&after[1]), expected(&answer, "assistant"));
    assert_eq!(after[2], messages[2]);
}

#[test]
fn messages_up_to_2000_characters_stay() {
    let messages = [user(&output(2_000)), assistant(&output(1_999)), user("and then?")];
    assert_eq!(pruned(&messages, &friday()), messages);
}

#[test]
fn the_exchange_that_is_going_on_stays() {
    let messages = [user("hello"), assistant("hi"), user(&output(9_000)), assistant(&output(9_000))];
    assert_eq!(pruned(&messages, &friday()), messages);
}

#[test]
fn the_system_prompt_stays() {
    let messages = [Message::text(Role::System, output(9_000)), user("hello"), assistant("hi"), user("bye")];
    assert_eq!(pruned(&messages, &friday()), messages);
}

#[test]
fn a_truncated_message_says_what_it_was() {
    let question = "é".repeat(4_000);
    let after = pruned(&[user(&question), assistant("yes"), user("and then?")], &friday());
    let truncated = read_text(text(&after[0]), Outcome::Unknown).pruned.unwrap();
    assert_eq!(truncated.form, PrunedForm::Truncated { keep: Chars(2_000) });
    assert_eq!((truncated.chars, truncated.recall), (Chars(4_000), RecallId::of(&question)));
    assert_eq!(pruned(&after, &friday()), after, "and is not truncated twice");
}
