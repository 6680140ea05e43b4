//! How much of a reply was heard so far.

use std::collections::HashSet;

use epitome_core::{Block, Message, Opaque};

use super::said::{Said, id_of};
use super::words::{Fit, Place};
use super::{Cut, results, same, thoughts};

/// The state of listening to what a client sent.
#[derive(Clone)]
pub(super) struct Heard<'a> {
    said: &'a Said,
    place: Place,
    /// Calls and all else that were heard, by their numbers.
    calls: HashSet<usize>,
    rest: HashSet<usize>,
    of: Vec<Option<usize>>,
    has_more: bool,
}

impl<'a> Heard<'a> {
    pub(super) fn new(said: &'a Said) -> Self {
        let of = vec![None; said.messages];
        let (calls, rest) = (HashSet::new(), HashSet::new());
        Self { said, place: Place::default(), calls, rest, of, has_more: false }
    }

    /// Hears a message of the assistant's; `None` where it says something else than the reply.
    pub(super) fn take(&mut self, at: usize, message: &Message, cut: Cut) -> Option<()> {
        for block in &message.blocks {
            let is_heard = match block {
                Block::Text(text) => self.take_text(at, &text.text, cut),
                Block::ToolUse(call) => {
                    let mut calls = (0..).zip(&self.said.calls);
                    let is_new = |number: &usize| !self.calls.contains(number);
                    let found = calls.find(|(number, (_, said))| is_new(number) && same::call(said, call));
                    match found {
                        Some((number, (of, _))) => {
                            self.touch(*of, at);
                            self.calls.insert(number)
                        }
                        None => cut == Cut::Perhaps && self.is_complete() && self.add_more(),
                    }
                }
                Block::Unknown(item) if self.take_reference(at, item) => true,
                block => {
                    let mut rest = (0..).zip(&self.said.rest);
                    let is_new = |number: &usize| !self.rest.contains(number);
                    let found =
                        rest.find(|(number, (_, said))| is_new(number) && same::optional(said, block));
                    found.is_some_and(|(number, (of, _))| {
                        self.touch(*of, at);
                        self.rest.insert(number)
                    })
                }
            };
            if !is_heard {
                return None;
            }
        }
        // Clients write an empty message where a reply had no text, beside its calls or alone.
        if message.blocks.iter().all(is_blank) {
            let is_untouched = |number: &usize| self.of.get(*number) == Some(&None);
            let empty = self.said.empty.iter().copied().find(is_untouched);
            let first = || (0..self.of.len()).find(is_untouched).filter(|_| !self.said.says_anything());
            match empty.or_else(first) {
                Some(number) => self.touch(number, at),
                None if self.is_complete() => return None,
                None => {}
            }
        }
        Some(())
    }

    fn take_text(&mut self, at: usize, text: &str, cut: Cut) -> bool {
        match self.hear(at, text) {
            Fit::Same => true,
            _ if self.take_refusal(at, text) => true,
            // Some clients write a thought into the text that they send back.
            Fit::Other => thoughts::behind(text).is_some_and(|words| self.hear(at, words) == Fit::Same),
            Fit::More => cut == Cut::Perhaps && self.add_more(),
        }
    }

    fn hear(&mut self, at: usize, text: &str) -> Fit {
        let mut place = self.place;
        let mut touched = Vec::new();
        let fit = place.hear(&self.said.texts, text, |message| touched.push(message));
        if fit != Fit::Other {
            self.place = place;
            touched.into_iter().for_each(|message| self.touch(message, at));
        }
        fit
    }

    // A refusal comes back as such, as a text, or not at all.
    fn take_refusal(&mut self, at: usize, text: &str) -> bool {
        let mut rest = (0..).zip(&self.said.rest);
        let found = rest.find(|(number, (_, block))| {
            !self.rest.contains(number) && same::refusal(block).is_some_and(|said| said.trim() == text.trim())
        });
        found.is_some_and(|(number, (of, _))| {
            self.touch(*of, at);
            self.rest.insert(number)
        })
    }

    // An item that is only named counts as repeated.
    fn take_reference(&mut self, at: usize, item: &Opaque) -> bool {
        let id = id_of(item.raw.as_str()).filter(|_| item.kind == "item_reference");
        let Some((of, _)) = self.said.ids.iter().find(|(_, known)| Some(known) == id.as_ref()) else {
            return false;
        };
        let texts = self.said.texts.iter().filter(|(message, _)| message == of).count();
        if texts > 0 {
            let next = self.said.texts.get(self.place.text);
            if next.is_none_or(|(message, _)| message != of) || !self.place.is_at_start_of(self.place.text) {
                return false;
            }
            self.place.text += texts;
        }
        let numbers = |all: &mut dyn Iterator<Item = usize>| all.collect::<Vec<_>>();
        let calls = self.said.calls.iter().enumerate().filter(|(_, (message, _))| message == of);
        self.calls.extend(numbers(&mut calls.map(|(number, _)| number)));
        let rest = self.said.rest.iter().enumerate().filter(|(_, (message, _))| message == of);
        self.rest.extend(numbers(&mut rest.map(|(number, _)| number)));
        self.touch(*of, at);
        true
    }

    // Whatever is said goes on from nothing, so nothing has no more.
    fn add_more(&mut self) -> bool {
        self.has_more = self.said.says_anything();
        self.has_more
    }

    fn touch(&mut self, message: usize, at: usize) {
        if let Some(place) = self.of.get_mut(message) {
            place.get_or_insert(at);
        }
    }

    /// Whether all texts and calls were heard.
    pub(super) fn is_complete(&self) -> bool {
        self.place.is_at_start_of(self.said.texts.len()) && self.calls.len() == self.said.calls.len()
    }

    /// Whether some text or a call was heard.
    pub(super) fn is_begun(&self) -> bool {
        self.place != Place::default() || !self.calls.is_empty()
    }

    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether nothing was heard since `before`.
    pub(super) fn is_unmoved_since(&self, before: &Self) -> bool {
        let state = |heard: &Self| (heard.place, heard.calls.len(), heard.rest.len(), heard.has_more);
        state(self) == state(before) && self.of == before.of
    }

    /// Whether a message only brings results of calls that were heard.
    pub(super) fn answers(&self, message: &Message) -> bool {
        let is_heard = |id: &&str| {
            let heard = self.calls.iter().filter_map(|number| self.said.calls.get(*number));
            heard.into_iter().any(|(_, call)| same::ids(&call.id, id))
        };
        results(message).is_some_and(|ids| ids.iter().all(is_heard))
    }

    /// Whether a message only brings what tools gave that the provider ran: that came with the reply.
    pub(super) fn gives(&self, message: &Message) -> bool {
        let is_said = |block: &Block| {
            let is_given = matches!(block, Block::ToolResult(_) | Block::Unknown(_));
            let mut rest = (0..).zip(&self.said.rest);
            is_given
                && rest.any(|(number, (_, said))| !self.rest.contains(&number) && same::optional(said, block))
        };
        !message.blocks.is_empty() && message.blocks.iter().all(is_said)
    }

    pub(super) fn places(self) -> Vec<Option<usize>> {
        self.of
    }
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text(text) if text.text.trim().is_empty())
}
