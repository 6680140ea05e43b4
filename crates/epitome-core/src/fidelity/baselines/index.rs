//! A naive index: what stands in the text as a list, and the newest messages with their output masked.

use std::collections::HashSet;

use super::mask::masked;
use super::material::{Material, Output};
use crate::fidelity::context::Context;
use crate::fidelity::items::items;
use crate::fidelity::sentences::constraints;
use crate::fidelity::texts::{Said, Voice, texts};
use crate::tokens::MESSAGE_OVERHEAD;
use crate::units::Tokens;

pub(super) fn index(material: &Material<'_>, budget: Tokens) -> Context {
    let list = list(material, Tokens(budget.0 / 2));
    let used = MESSAGE_OVERHEAD + (material.count)(&list);
    let tail: Vec<(usize, Output)> = masked(material, budget - used);
    let mut context = material.context(&tail);
    context.texts.insert(0, list);
    context.tokens += used;
    context
}

// Constraints first, then items, the newest first, one a line.
fn list(material: &Material<'_>, room: Tokens) -> String {
    let mut seen = HashSet::new();
    let (mut sentences, mut names) = (Vec::new(), Vec::new());
    let first = material.atoms.first().map_or(0, |atom| atom.start);
    for message in material.messages.iter().skip(first).rev() {
        for Said { voice, text, .. } in texts(message) {
            if voice == Voice::User {
                sentences.extend(constraints(&text));
            }
            let found = items(&text).into_iter().filter_map(|item| text.get(item)).map(str::to_owned);
            names.extend(found.filter(|name| seen.insert(name.clone())));
        }
    }
    let mut list = String::new();
    let mut left = room - MESSAGE_OVERHEAD;
    for line in sentences.into_iter().chain(names) {
        let tokens = (material.count)(&line) + Tokens(1);
        if tokens > left {
            continue;
        }
        left = left - tokens;
        list.push_str(&line);
        list.push('\n');
    }
    list
}
