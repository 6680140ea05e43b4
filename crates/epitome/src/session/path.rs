//! A path as the core wants it: every message in its place, nothing in the place of those that were not read.

use std::sync::Arc;

use epitome_core::{Entry, Message, Outline, Role, Tokens};

use super::shown::Shown;
use crate::error::Result;

/// The path of so many messages, of which these were read.
pub(crate) fn laid_out<'s>(
    length: u64,
    read: impl IntoIterator<Item = &'s Shown>,
) -> Result<(Vec<Entry>, Vec<Message>)> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let nothing = Outline { role: Role::User, tokens: Tokens::ZERO, bytes: 0, blocks: Vec::new() };
    let mut path = vec![Entry { outline: Arc::new(nothing), time: None }; length];
    let mut messages = vec![Message::new(Role::User, Vec::new()); length];
    for shown in read {
        let at = usize::try_from(shown.ordinal).unwrap_or(usize::MAX);
        if let (Some(entry), Some(message)) = (path.get_mut(at), messages.get_mut(at)) {
            *entry = Entry { outline: Arc::clone(&shown.outline), time: shown.time };
            *message = shown.message()?;
        }
    }
    Ok((path, messages))
}
