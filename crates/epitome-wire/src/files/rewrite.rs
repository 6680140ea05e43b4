//! Writing a transcript back: changed values are replaced where they stand, all other bytes are copied.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use epitome_core::Message;

use super::error::FileError;
use super::format::Format;
use super::record::{Cut, Record, Target};
use super::transcript::Transcript;
use crate::edit::{Edit, Edits, moved_breakpoint, splice_edits};
use crate::json::{Kind, Span, Splice, quote};
use crate::layout::{BlockLayout, Layout};

impl Transcript {
    /// The file's text with `edits` made and the `removed` messages gone, in the same format.
    ///
    /// With nothing to change it is `text` itself. A removed message takes its records along; so does a
    /// record all of whose blocks are removed. What referred to a record that is gone is tied to its
    /// parent, or to what follows, whichever keeps the meaning.
    pub fn rewrite(
        &self,
        edits: &BTreeMap<usize, Edits>,
        removed: &BTreeSet<usize>,
    ) -> Result<String, FileError> {
        self.change(&Changes { edits: edits.clone(), removed: removed.clone(), recast: BTreeMap::new() })
    }

    /// The file's text with these changes made.
    pub(super) fn change(&self, changes: &Changes) -> Result<String, FileError> {
        let Changes { edits, removed, recast } = changes;
        let unknown = edits.keys().chain(removed).find(|message| **message >= self.messages.len());
        if let Some(message) = unknown {
            return Err(FileError::NoSuchMessage(*message));
        }
        let mut rewrite = Rewrite::new(self);
        for (message, others) in recast {
            rewrite.recast_message(*message, others)?;
        }
        for message in removed {
            rewrite.remove_message(*message)?;
        }
        for (message, edits) in edits.iter().filter(|(message, _)| !removed.contains(message)) {
            rewrite.edit_message(*message, edits)?;
        }
        rewrite.cut_records();
        rewrite.tie_links()?;
        let mut out = String::with_capacity(self.text.len());
        rewrite.splice.write(&self.text, Span { start: 0, end: self.text.len() }, &mut out);
        Ok(out)
    }
}

/// What becomes of a transcript's messages, by their numbers.
#[derive(Default)]
pub(super) struct Changes {
    /// Blocks that change.
    pub(super) edits: BTreeMap<usize, Edits>,
    /// Messages that go.
    pub(super) removed: BTreeSet<usize>,
    /// Messages in whose record others stand from now on.
    pub(super) recast: BTreeMap<usize, Vec<Message>>,
}

struct Rewrite<'t> {
    transcript: &'t Transcript,
    splice: Splice,
    gone: Vec<bool>,
    /// Records that are written anew, and the messages in them.
    recast: HashMap<usize, &'t [Message]>,
    /// The records of each message.
    records: HashMap<usize, Vec<usize>>,
    /// Later records that repeat a record.
    twins: HashMap<usize, Vec<usize>>,
    /// Second places of each block's text, by message and block.
    copies: HashMap<(usize, usize), Vec<Span>>,
}

impl<'t> Rewrite<'t> {
    fn new(transcript: &'t Transcript) -> Self {
        let recast = HashMap::new();
        let (mut records, mut twins, mut copies) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (number, record) in transcript.records.iter().enumerate() {
            if let Some(message) = record.message {
                records.entry(message).or_insert_with(Vec::new).push(number);
            }
            if let Some(original) = record.twin_of {
                twins.entry(original).or_insert_with(Vec::new).push(number);
            }
        }
        for copy in &transcript.copies {
            copies.entry((copy.message, copy.block)).or_insert_with(Vec::new).push(copy.span);
        }
        let gone = vec![false; transcript.records.len()];
        Self { transcript, splice: Splice::new(), gone, recast, records, twins, copies }
    }

    fn remove_message(&mut self, message: usize) -> Result<(), FileError> {
        let records = self.records_of(message);
        if records.is_empty() {
            return Err(FileError::NotEditable { message, block: 0 });
        }
        records.into_iter().try_for_each(|record| self.remove_record(message, record))
    }

    fn recast_message(&mut self, message: usize, others: &'t [Message]) -> Result<(), FileError> {
        let record = self.transcript.recastable(message);
        let record = record.ok_or(FileError::NotEditable { message, block: 0 })?;
        self.recast.insert(record, others);
        let rest = self.records_of(message).into_iter().filter(|other| *other != record);
        rest.collect::<Vec<_>>().into_iter().try_for_each(|other| self.remove_record(message, other))
    }

    fn remove_record(&mut self, message: usize, record: usize) -> Result<(), FileError> {
        for number in self.with_twins(record) {
            match self.transcript.records.get(number).map(|record| record.cut) {
                None | Some(Cut::Never) => return Err(FileError::NotEditable { message, block: 0 }),
                Some(_) => self.gone[number] = true,
            }
        }
        Ok(())
    }

    fn edit_message(&mut self, message: usize, edits: &[(usize, Edit)]) -> Result<(), FileError> {
        let transcript = self.transcript;
        let mut sorted: Vec<&(usize, Edit)> = edits.iter().collect();
        for (block, _) in &sorted {
            if transcript.block_span(message, *block).is_none() {
                return Err(FileError::NotEditable { message, block: *block });
            }
        }
        // Neighbours are removed together with the commas between them, so they come in the file's order.
        sorted.sort_by_key(|(block, _)| transcript.block_span(message, *block).map(|span| span.start));
        let records = self.records_of(message);
        if records.is_empty() {
            return self.edit_record(message, None, &sorted);
        }
        for number in records {
            let Some(record) = transcript.records.get(number) else { continue };
            let inside = |block: usize| {
                transcript.block_span(message, block).is_some_and(|span| within(span, record.span))
            };
            let here: Vec<&(usize, Edit)> =
                sorted.iter().copied().filter(|(block, _)| inside(*block)).collect();
            let blocks = transcript.layouts.get(message).map_or(0, |layout| layout.blocks.len());
            let all = (0..blocks).filter(|block| inside(*block)).count();
            let removed = here.iter().filter(|(_, edit)| *edit == Edit::Remove).count();
            if all > 0 && removed == all {
                self.remove_record(message, number)?;
            } else {
                self.edit_record(message, Some(number), &here)?;
            }
        }
        Ok(())
    }

    fn edit_record(
        &mut self,
        message: usize,
        record: Option<usize>,
        edits: &[&(usize, Edit)],
    ) -> Result<(), FileError> {
        let transcript = self.transcript;
        let text = &transcript.text;
        let Some(layout) = transcript.layouts.get(message) else { return Ok(()) };
        let start =
            record.and_then(|record| transcript.records.get(record)).map_or(0, |record| record.span.start);
        let twins = record.map_or_else(Vec::new, |record| self.with_twins(record));
        let mut bases: Vec<usize> = twins
            .into_iter()
            .filter_map(|twin| transcript.records.get(twin)?.span.start.checked_sub(start))
            .collect();
        if bases.is_empty() {
            bases.push(0);
        }
        for (block, edit) in edits.iter().copied() {
            let Some(place) = layout.blocks.get(*block) else { continue };
            let allowed = match edit {
                Edit::Text(_) => place.text.is_some(),
                Edit::Remove | Edit::Become(_) => is_element(text, place.block),
            };
            if !allowed {
                return Err(FileError::NotEditable { message, block: *block });
            }
        }
        for base in bases {
            let mut plain: Edits = Vec::new();
            for (block, edit) in edits.iter().copied() {
                match (edit, layout.blocks.get(*block)) {
                    (Edit::Text(new), Some(place @ BlockLayout { text: Some(span), .. })) => {
                        let moved = moved_breakpoint(text, place, base).unwrap_or_default();
                        self.splice.replace(span.shifted(base), self.value(*span, new) + &moved);
                        for copy in self.copies.get(&(message, *block)).into_iter().flatten() {
                            self.splice.replace(copy.shifted(base), quote(new));
                        }
                    }
                    _ => plain.push((*block, edit.clone())),
                }
            }
            splice_edits(text, layout, base, &plain, &mut self.splice);
        }
        Ok(())
    }

    // pi takes nothing but arrays for the content of a tool result; all other formats take a string, too.
    fn value(&self, old: Span, new: &str) -> String {
        let is_array = Kind::of(old.of(&self.transcript.text)) == Some(Kind::Array);
        match is_array && self.transcript.format == Format::Pi {
            true => format!(r#"[{{"type":"text","text":{}}}]"#, quote(new)),
            false => quote(new),
        }
    }

    fn cut_records(&mut self) {
        let transcript = self.transcript;
        let mut elements = Layout::default();
        let mut removed: Edits = Vec::new();
        for (record, gone) in transcript.records.iter().zip(&self.gone) {
            match record.cut {
                Cut::Line(span) if *gone => self.splice.replace(span, ""),
                Cut::Element => {
                    if *gone {
                        removed.push((elements.blocks.len(), Edit::Remove));
                    }
                    elements.blocks.push(BlockLayout { block: record.span, text: None });
                }
                _ => {}
            }
        }
        splice_edits(&transcript.text, &elements, 0, &removed, &mut self.splice);
    }

    // Ties what referred to records that are gone, and writes those anew that hold other messages now.
    fn tie_links(&mut self) -> Result<(), FileError> {
        let transcript = self.transcript;
        if !self.gone.contains(&true) && self.recast.is_empty() {
            return Ok(());
        }
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (number, record) in transcript.records.iter().enumerate() {
            if let Some(id) = &record.id {
                by_id.entry(id).or_insert(number);
            }
        }
        for (number, record) in transcript.records.iter().enumerate() {
            if self.is_gone(number) {
                continue;
            }
            let tied = self.tied(record, &by_id);
            match self.recast.get(&number) {
                Some(messages) => {
                    self.splice.replace(record.span, transcript.recast(record, messages, &tied)?)
                }
                None => {
                    for (span, value) in tied {
                        self.splice.replace(span, value);
                    }
                }
            }
        }
        Ok(())
    }

    // The references of a record that have to change.
    fn tied(&self, record: &Record, by_id: &HashMap<&str, usize>) -> Vec<(Span, String)> {
        let tied = record.links.iter().filter_map(|link| {
            let value = match &link.to {
                Target::Back(id) => self.back(record, by_id, id),
                Target::Ahead(id) => self.ahead(by_id, id),
                Target::Number(number) => Some(self.kept_before(*number).to_string()),
                Target::Count(records) => {
                    let left = records.iter().filter(|record| !self.is_gone(**record)).count();
                    (left < records.len()).then(|| left.to_string())
                }
            };
            Some((link.span, value.filter(|value| value != link.span.of(&self.transcript.text))?))
        });
        tied.collect()
    }

    // The nearest ancestor that is still there; `None` where nothing changes.
    fn back(&self, from: &Record, by_id: &HashMap<&str, usize>, id: &str) -> Option<String> {
        let first = *by_id.get(id)?;
        if !self.is_gone(first) {
            return None;
        }
        let by_records = self.kept_record(by_id, first, |_| true);
        let by_messages = self.kept_message(from, first);
        // Records can hang elsewhere than their messages do: parallel results on their calls, lines that were written
        // twice on either copy. The message counts.
        let spoken = self.kept_record(by_id, first, |record| record.message.is_some());
        let message = spoken.and_then(|record| record.message);
        let own = from.message.is_some() && message == from.message;
        let agree = own || message == by_messages.and_then(|record| record.message);
        let kept = if agree { by_records } else { by_messages };
        let id = kept.and_then(|record| record.id.as_deref());
        Some(id.map_or_else(|| "null".to_owned(), quote))
    }

    // The nearest record of some kind before this one, by the references of records.
    fn kept_record(
        &self,
        by_id: &HashMap<&str, usize>,
        gone: usize,
        is_wanted: fn(&Record) -> bool,
    ) -> Option<&'t Record> {
        let records = &self.transcript.records;
        let mut at = gone;
        for _ in 0..records.len() {
            let record = records.get(at)?;
            if !self.is_gone(at) && is_wanted(record) {
                return Some(record);
            }
            at = *by_id.get(record.parent.as_deref()?)?;
        }
        None
    }

    // What is left of the nearest message before a record; one without a message follows the one that is gone.
    fn kept_message(&self, from: &Record, gone: usize) -> Option<&'t Record> {
        let kept =
            |message: usize| self.records.get(&message)?.iter().rev().find(|record| !self.is_gone(**record));
        let followed = || self.transcript.records.get(gone)?.message;
        let itself = if from.message.is_none() { followed() } else { None };
        let start = from.message.or(itself)?;
        let number = *itself.into_iter().chain(self.ancestors(start)).find_map(kept)?;
        self.transcript.records.get(number)
    }

    fn ancestors(&self, message: usize) -> impl Iterator<Item = usize> {
        let parent = |message: &usize| self.transcript.parents.get(*message).copied().flatten();
        // A file can be damaged so that its links run in a circle.
        std::iter::successors(parent(&message), parent).take(self.transcript.messages.len())
    }

    // The record itself or else the next one that is still there and has an id.
    fn ahead(&self, by_id: &HashMap<&str, usize>, id: &str) -> Option<String> {
        let first = *by_id.get(id)?;
        if !self.is_gone(first) {
            return None;
        }
        let rest = self.transcript.records.iter().enumerate().skip(first);
        let next =
            rest.filter(|(number, _)| !self.is_gone(*number)).find_map(|(_, record)| record.id.as_deref());
        next.map(quote)
    }

    fn kept_before(&self, number: usize) -> usize {
        self.gone.iter().take(number).filter(|gone| !**gone).count()
    }

    fn is_gone(&self, record: usize) -> bool {
        self.gone.get(record).copied().unwrap_or(false)
    }

    fn records_of(&self, message: usize) -> Vec<usize> {
        self.records.get(&message).cloned().unwrap_or_default()
    }

    fn with_twins(&self, record: usize) -> Vec<usize> {
        let twins = self.twins.get(&record).into_iter().flatten();
        std::iter::once(record).chain(twins.copied()).collect()
    }
}

fn within(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

// Whether the value is an element of an array and can be taken out of it.
fn is_element(text: &str, value: Span) -> bool {
    let before = text.get(..value.start).unwrap_or_default().trim_end();
    let after = text.get(value.end..).unwrap_or_default().trim_start();
    before.ends_with(['[', ',']) && after.starts_with([']', ','])
}
