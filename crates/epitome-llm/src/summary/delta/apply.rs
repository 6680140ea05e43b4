//! Makes the changes, all or none.

use std::collections::HashMap;

use epitome_core::checkpoint::{Checkpoint, Decision, Item, Section};

use super::{Change, Delta, DeltaError, Id, NAMES, name};

/// Of a checkpoint with more entries than this, no more than half may go at once.
const FEW: usize = 6;

impl Delta {
    /// The checkpoint with these changes. Entries that no change names are the same, in the same order.
    pub fn apply(&self, base: &Checkpoint) -> Result<Checkpoint, DeltaError> {
        let named = self.named(base)?;
        let mut next = base.clone();
        for (_, section) in NAMES {
            match section {
                Section::Goal => next.goal = changed_items(section, base.goal.iter(), &named)?.pop(),
                Section::Decisions => next.decisions = changed_decisions(base, &named)?,
                section => {
                    let items = changed_items(section, base.items(section).iter(), &named)?;
                    if let Some(list) = list_mut(&mut next, section) {
                        *list = items;
                    }
                }
            }
        }
        for change in &self.changes {
            match change {
                Change::Add { section, text } => add(&mut next, *section, text)?,
                Change::Move { id, section } => {
                    let item = number(base.items(id.section), id.number).cloned();
                    let item = item.ok_or_else(|| DeltaError::UnknownId(id.to_string()))?;
                    let list = list_mut(&mut next, *section);
                    list.ok_or_else(|| DeltaError::UnknownSection(name(*section).to_owned()))?.push(item);
                }
                Change::Replace { .. } | Change::Remove { .. } => {}
            }
        }
        Ok(next)
    }

    // The changes by the entry they name; each names one that is there, and none is named twice.
    fn named(&self, base: &Checkpoint) -> Result<HashMap<Id, &Change>, DeltaError> {
        let mut named = HashMap::new();
        for change in &self.changes {
            let (Change::Replace { id, .. } | Change::Move { id, .. } | Change::Remove { id }) = change
            else {
                continue;
            };
            if id.number == 0 || id.number > count(base, id.section) {
                return Err(DeltaError::UnknownId(id.to_string()));
            }
            if named.insert(*id, change).is_some() {
                return Err(DeltaError::Twice(id.to_string()));
            }
        }
        let gone = named.values().filter(|change| matches!(change, Change::Remove { .. })).count();
        let all: usize = NAMES.iter().map(|(_, section)| count(base, *section)).sum();
        if all > FEW && gone * 2 > all {
            return Err(DeltaError::Sweeping { gone, all });
        }
        Ok(named)
    }
}

fn count(base: &Checkpoint, section: Section) -> usize {
    match section {
        Section::Goal => usize::from(base.goal.is_some()),
        Section::Decisions => base.decisions.len(),
        section => base.items(section).len(),
    }
}

fn changed_items<'i>(
    section: Section,
    items: impl Iterator<Item = &'i Item>,
    named: &HashMap<Id, &Change>,
) -> Result<Vec<Item>, DeltaError> {
    let mut changed = Vec::new();
    for (number, item) in (1..).zip(items) {
        match named.get(&Id { section, number }) {
            None => changed.push(item.clone()),
            Some(Change::Replace { text, .. }) => changed.push(new_item(section, text)?),
            Some(_) => {}
        }
    }
    Ok(changed)
}

fn changed_decisions(base: &Checkpoint, named: &HashMap<Id, &Change>) -> Result<Vec<Decision>, DeltaError> {
    let mut changed = Vec::new();
    for (number, decision) in (1..).zip(&base.decisions) {
        match named.get(&Id { section: Section::Decisions, number }) {
            None => changed.push(decision.clone()),
            Some(Change::Replace { text, .. }) => changed.push(new_decision(text)?),
            Some(_) => {}
        }
    }
    Ok(changed)
}

fn add(next: &mut Checkpoint, section: Section, text: &str) -> Result<(), DeltaError> {
    match section {
        Section::Goal if next.goal.is_some() => return Err(DeltaError::Twice("goal".to_owned())),
        Section::Goal => next.goal = Some(new_item(section, text)?),
        Section::Decisions => next.decisions.push(new_decision(text)?),
        section => {
            let item = new_item(section, text)?;
            let list = list_mut(next, section);
            list.ok_or_else(|| DeltaError::UnknownSection(name(section).to_owned()))?.push(item);
        }
    }
    Ok(())
}

fn new_item(section: Section, text: &str) -> Result<Item, DeltaError> {
    Item::new(text, None).ok_or(DeltaError::Empty(name(section)))
}

fn new_decision(text: &str) -> Result<Decision, DeltaError> {
    Decision::from_statement(text, None).ok_or(DeltaError::Empty(name(Section::Decisions)))
}

fn number(items: &[Item], number: usize) -> Option<&Item> {
    items.get(number.checked_sub(1)?)
}

fn list_mut(checkpoint: &mut Checkpoint, section: Section) -> Option<&mut Vec<Item>> {
    Some(match section {
        Section::Constraints => &mut checkpoint.constraints,
        Section::Done => &mut checkpoint.done,
        Section::InProgress => &mut checkpoint.in_progress,
        Section::Dynamics => &mut checkpoint.dynamics,
        Section::NextSteps => &mut checkpoint.next_steps,
        Section::Context => &mut checkpoint.context,
        Section::Failed => &mut checkpoint.failed,
        Section::Created => &mut checkpoint.files.created,
        Section::Modified => &mut checkpoint.files.modified,
        Section::Deleted => &mut checkpoint.files.deleted,
        Section::Read => &mut checkpoint.files.read,
        _ => return None,
    })
}
