//! The validity checker: may this conversation be sent, and was that rewrite allowed?
//!
//! One named [`Rule`] per rule of the wire. [`check`] looks at one conversation, [`check_rewrite`] at a
//! conversation before and after somebody edited it. Both only report; nothing here repairs.

mod anthropic;
mod chat;
mod pairing;
mod responses;
mod rewrite;
mod rule;

use epitome_core::Message;

use crate::dialect::Dialect;

pub use rewrite::check_rewrite;
pub use rule::{Rule, Severity, Violation};

/// Every rule of `dialect` that sending `system` and `messages` would break, in the order of the messages.
///
/// ```
/// use epitome_core::{Message, Role};
/// use epitome_wire::{Dialect, check::{Rule, check}};
///
/// let messages = [Message::text(Role::User, "hello"), Message::text(Role::User, " ")];
/// let rules: Vec<Rule> = check(Dialect::Anthropic, None, &messages).iter().map(|broken| broken.rule).collect();
/// assert_eq!(rules, [Rule::RolesDoNotAlternate, Rule::EmptyText]);
/// ```
pub fn check(dialect: Dialect, system: Option<&Message>, messages: &[Message]) -> Vec<Violation> {
    let mut found = Vec::new();
    if messages.is_empty() {
        found.push(Violation::new(Rule::NoMessages, 0, "nothing to send"));
        return found;
    }
    match dialect {
        Dialect::Anthropic => anthropic::check(system, messages, &mut found),
        Dialect::Chat => chat::check(messages, &mut found),
        Dialect::Responses => responses::check(messages, &mut found),
    }
    found.sort_by_key(|violation| violation.message);
    found
}
