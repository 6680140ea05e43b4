//! The validity checker: every rule has a conversation that breaks it and one that just does not.

use epitome_wire::Dialect::{self, Anthropic, Chat, Responses};
use epitome_wire::check::{Rule, Severity, Violation, check, check_rewrite};
use proptest::prelude::*;

use crate::notation::conversation;

fn rules(found: &[Violation]) -> Vec<Rule> {
    found.iter().map(|violation| violation.rule).collect()
}

#[track_caller]
fn case(dialect: Dialect, line: &str, expected: &[Rule]) {
    let found = check(dialect, None, &conversation(line));
    assert_eq!(rules(&found), expected, "{dialect}: {line}\n{found:#?}");
}

#[test]
fn anthropic_order() {
    case(Anthropic, "", &[Rule::NoMessages]);
    case(Anthropic, "u:ask a:answer u:next", &[]);
    case(Anthropic, "a:answer u:next", &[Rule::FirstMessageNotUser]);
    case(Anthropic, "u:ask u:again", &[Rule::RolesDoNotAlternate]);
    case(Anthropic, "u:ask a:one a:two u:next", &[Rule::RolesDoNotAlternate]);
    case(Anthropic, "u:ask a:answer", &[Rule::TrailingAssistant]);
    case(Anthropic, "u:ask s:note a:answer u:next", &[]);
    case(Anthropic, "u:ask a:answer s:note u:next", &[Rule::SystemNotAfterUser]);
    case(Anthropic, "s:note u:ask", &[Rule::SystemNotAfterUser]);
    case(Anthropic, "u:ask d:note", &[Rule::RoleNotInDialect]);
}

#[test]
fn anthropic_tools() {
    case(Anthropic, "u:ask a:call#1 u:ok#1 a:done u:next", &[]);
    case(Anthropic, "u:ask a:call#1+call#2 u:ok#2+ok#1+and a:done u:next", &[]);
    case(Anthropic, "u:ask a:call#1 u:next", &[Rule::ToolUseUnanswered]);
    case(Anthropic, "u:ask a:call#1+call#2 u:ok#1", &[Rule::ToolUseUnanswered]);
    case(Anthropic, "u:ask a:call#1", &[Rule::TrailingAssistant, Rule::ToolUsePending]);
    case(Anthropic, "u:ok#1 a:done u:next", &[Rule::ToolResultOrphan]);
    case(
        Anthropic,
        "u:ask a:call#1 u:ok#1 a:done u:ok#1",
        &[Rule::DuplicateToolResult, Rule::ToolResultOrphan],
    );
    case(Anthropic, "u:ask a:call#1 u:well+ok#1", &[Rule::ToolResultsNotFirst]);
    case(
        Anthropic,
        "u:ask a:call#1 u:ok#1 a:call#1 u:next",
        &[Rule::DuplicateToolUse, Rule::ToolUseUnanswered],
    );
    case(Anthropic, "u:!call#1", &[Rule::BlockInWrongRole, Rule::ToolUsePending]);
    case(Anthropic, "u:ask a:!ok#1 u:next", &[Rule::BlockInWrongRole, Rule::ToolResultOrphan]);
    case(Anthropic, "u:ask a:search$1+found=1+done u:next", &[]);
    case(Anthropic, "u:ask a:search$1 u:next", &[Rule::ServerToolUnanswered]);
    case(Anthropic, "u:ask a:search$1", &[Rule::TrailingAssistant]);
    case(Anthropic, "u:ask a:found=1 u:next", &[Rule::ServerToolResultOrphan]);
    case(Anthropic, "u:ask a:found=1+search$1+found=1 u:next", &[Rule::ServerToolResultOrphan]);
}

#[test]
fn anthropic_content() {
    case(Anthropic, "u:_", &[Rule::EmptyText]);
    case(Anthropic, "u: a:answer u:next", &[Rule::EmptyContent]);
    case(Anthropic, "u:ask a:", &[Rule::TrailingAssistant]);
    case(Anthropic, "u:ask a:call#1 u:#1", &[]);
    case(Anthropic, "u:a@ a:b@ u:c@ a:d@ u:e", &[]);
    case(Anthropic, "u:a@ a:b@ u:c@ a:d@ u:e@", &[Rule::TooManyCacheBreakpoints]);
    let system = conversation("s:policy@");
    let found = check(Anthropic, system.first(), &conversation("u:a@ a:b@ u:c@ a:d@ u:e"));
    assert_eq!(rules(&found), [Rule::TooManyCacheBreakpoints], "the system prompt's breakpoints count");
}

#[test]
fn anthropic_takes_a_hundred_thousand_messages() {
    let mut messages = conversation("u:ask a:answer");
    messages = messages.into_iter().cycle().take(100_001).collect();
    assert_eq!(rules(&check(Anthropic, None, &messages)), [Rule::TooManyMessages]);
    assert!(check(Anthropic, None, &messages[..99_999]).is_empty());
}

#[test]
fn chat() {
    case(Chat, "s:policy u:ask a:call#1+call#2 t:ok#2 t:ok#1 a:done", &[]);
    case(Chat, "u:ask u:again a:one a:two", &[]);
    case(Chat, "u:ask a:call#1+call#2 t:ok#1 u:next", &[Rule::ToolUseUnanswered]);
    case(Chat, "u:ask a:call#1 u:wait t:ok#1", &[Rule::ToolUseUnanswered, Rule::ToolResultOrphan]);
    case(Chat, "u:ask a:call#1", &[Rule::ToolUsePending]);
    case(Chat, "u:ask t:ok#1 a:done", &[Rule::ToolResultOrphan]);
    case(Chat, "u:ask a:call#1 t:ok#1 t:ok#1", &[Rule::DuplicateToolResult]);
    case(Chat, "u:ask a:call#1+call#1 t:ok#1 a:done", &[Rule::DuplicateToolUse]);
    case(Chat, "u:ask a:call#1 t:ok#1 a:call#1 t:ok#1", &[]);
    case(Chat, "u:ask a:call#1 u:ok#1", &[Rule::ToolUseUnanswered, Rule::BlockInWrongRole]);
    case(Chat, "u:ask a: u:next", &[Rule::EmptyContent]);
    case(Chat, "u:_ a:answer", &[]);
}

#[test]
fn responses() {
    case(Responses, "u:ask a:~why a:call#1 t:ok#1 a:~so a:done u:next", &[]);
    case(Responses, "u:ask a:call#1 a:call#2 t:ok#2 t:ok#1", &[]);
    case(Responses, "u:ask a:call#1 u:wait t:ok#1", &[]);
    case(Responses, "u:ask a:call#1 u:next", &[Rule::ToolUseUnanswered]);
    case(Responses, "u:ask a:call#1", &[Rule::ToolUsePending]);
    case(Responses, "u:ask t:ok#1 a:call#1", &[Rule::ToolResultOrphan, Rule::ToolUsePending]);
    case(Responses, "u:ask a:call#1 t:ok#1 t:ok#1", &[Rule::DuplicateToolResult]);
    case(Responses, "u:ask a:~why u:next", &[Rule::ReasoningWithoutItem]);
    case(Responses, "u:ask a:~why", &[Rule::ReasoningWithoutItem]);
    case(Responses, "u:ask a:~one a:~two a:done", &[]);
    case(Responses, "u:ask a: u:next", &[Rule::EmptyContent]);
    case(Responses, "a:^packed u:next", &[]);
}

#[track_caller]
fn rewrite(dialect: Dialect, before: &str, after: &str, expected: &[Rule]) {
    let found = check_rewrite(dialect, &conversation(before), &conversation(after));
    assert_eq!(rules(&found), expected, "{dialect}: {before} -> {after}\n{found:#?}");
}

#[test]
fn thinking_stays_or_goes_as_a_whole() {
    let before = "u:ask a:~one+call#1 u:ok#1 a:~two+call#2 u:ok#2 a:~three+done u:next";
    rewrite(Anthropic, before, before, &[]);
    rewrite(Anthropic, before, "u:ask a:call#1 u:- a:call#2 u:ok#2 a:done u:next", &[]);
    let trimmed = "u:ask a:~one+call#1 u:-#1 a:~two+call#2 u:ok#2 a:~three+done u:next";
    rewrite(Anthropic, before, trimmed, &[Rule::ThinkingBehindEditedPrefix]);
    rewrite(Chat, before, trimmed, &[]);
    let summarised = "u:summary a:~three+done u:next";
    rewrite(Anthropic, before, summarised, &[Rule::ThinkingBehindEditedPrefix]);
    let thinned = "u:ask a:~one+call#1 u:ok#1 a:call#2 u:ok#2 a:~three+done u:next";
    rewrite(Anthropic, before, thinned, &[Rule::ThinkingRemovedFromMiddle, Rule::ThinkingBehindEditedPrefix]);
    rewrite(Chat, before, thinned, &[Rule::ThinkingRemovedFromMiddle]);
    let oldest = "u:ask a:call#1 u:ok#1 a:~two+call#2 u:ok#2 a:~three+done u:next";
    rewrite(Chat, before, oldest, &[Rule::ThinkingRemovedFromMiddle]);
    let latest = "u:ask a:~one+call#1 u:ok#1 a:~two+call#2 u:ok#2 a:done u:next";
    rewrite(Chat, before, latest, &[Rule::LatestThinkingChanged, Rule::ThinkingRemovedFromMiddle]);
    let altered = "u:ask a:~one+call#1 u:ok#1 a:~TWO+call#2 u:ok#2 a:~three+done u:next";
    rewrite(Anthropic, before, altered, &[Rule::ThinkingModified]);
    rewrite(Anthropic, "u:ask a:~~one+done u:next", "u:ask a:~~two+done u:next", &[Rule::ThinkingModified]);
    rewrite(Responses, "a:~one a:call#1 a:~two a:done", "a:~one a:call#1 a:done", &[]);
    rewrite(Responses, "a:~one a:call#1", "a:~eins a:call#1", &[Rule::ThinkingModified]);
}

#[test]
fn compaction_items_are_not_lost() {
    rewrite(Responses, "a:^packed u:ask a:done", "a:^packed u:ask", &[]);
    rewrite(Responses, "a:^packed u:ask a:done", "u:ask a:done", &[Rule::CompactionLost]);
    rewrite(Anthropic, "u:^packed+ask", "u:ask", &[Rule::CompactionLost]);
}

#[test]
fn names_are_what_people_read() {
    let found = check(Anthropic, None, &conversation("u:ask a:call#7 u:next"));
    assert_eq!(
        found[0].to_string(),
        "message 1: tool-use-unanswered (call 7 (call) has no result in the next message)"
    );
    assert_eq!(found[0].severity(), Severity::Error);
    assert_eq!(Rule::TrailingAssistant.severity(), Severity::Warning);
    let json = serde_json::to_string(&found[0].rule).unwrap();
    assert_eq!(json, format!("\"{}\"", found[0].rule), "one name everywhere");
}

#[test]
fn equal_words_with_and_without_thinking_are_two_messages() {
    let line = "u:ask a:~why+done u:again a:done u:next";
    rewrite(Anthropic, line, line, &[]);
    let before = "u:x a:done u:y a:~why+done u:z a:~t+end u:n";
    let stripped = "u:x a:done u:y a:done u:z a:~t+end u:n";
    rewrite(Chat, before, stripped, &[Rule::ThinkingRemovedFromMiddle]);
    rewrite(
        Anthropic,
        before,
        stripped,
        &[Rule::ThinkingRemovedFromMiddle, Rule::ThinkingBehindEditedPrefix],
    );
    rewrite(Chat, before, "u:y a:done u:z a:~t+end u:n", &[]);
}

#[test]
fn a_note_that_is_said_with_and_without_thinking_was_not_rewritten() {
    for dialect in Dialect::ALL {
        rewrite(dialect, "d:b d:b+~a ", "d:b d:b+~a ", &[]);
    }
}

proptest! {
    #![proptest_config(crate::support::cases(128))]

    #[test]
    fn any_conversation_can_be_checked(line in "([sduat]:([a_~^!]?[ab][#$=@]?[12]?\\+?){0,3} ){0,8}") {
        let messages = conversation(&line);
        for dialect in [Anthropic, Chat, Responses] {
            for violation in check(dialect, None, &messages) {
                prop_assert!(violation.message <= messages.len());
            }
            prop_assert!(check_rewrite(dialect, &messages, &messages).is_empty(), "nothing was rewritten");
        }
    }
}
