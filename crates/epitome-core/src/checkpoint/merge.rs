//! Merges a checkpoint with a newer one, by the update rules of spec 008.1 v4.

use std::collections::{HashMap, HashSet};

use super::entry::{Decision, Item, OtherSection, Source};
use super::excerpt::{Excerpt, Name};
use super::model::{Checkpoint, Files, Section};
use super::similar::{Similar, key, path_key};

/// The state after both: everything of `old` that `new` does not supersede, and everything of `new`.
///
/// - What is done now is no longer in progress; what is in progress again is no longer done.
/// - New next steps replace the old ones; without new ones, those that are done now go.
/// - A newer decision on the same subject replaces the older.
/// - Of a file, the latest change counts; reading it is no change.
/// - Excerpts stand in the order of their messages; of names, those that were spoken of last stand last.
/// - Goal and latest request are the newer ones.
pub fn merge(old: Checkpoint, new: Checkpoint) -> Checkpoint {
    let completed = Similar::to(new.done.iter().map(Item::text));
    let reopened: HashSet<String> = new.in_progress.iter().map(|item| key(item.text())).collect();
    let still_open = |item: &Item| completed.nearest(item.text()).is_none();
    let still_done = |item: &Item| !reopened.contains(&key(item.text()));
    let next_steps = if new.next_steps.is_empty() {
        old.next_steps.into_iter().filter(still_open).collect()
    } else {
        new.next_steps
    };
    let open = old.in_progress.into_iter().filter(still_open).collect();
    let done = old.done.into_iter().filter(still_done).collect();
    Checkpoint {
        goal: new.goal.or(old.goal),
        constraints: united(old.constraints, new.constraints),
        in_progress: united(open, new.in_progress),
        done: united(done, new.done),
        decisions: decisions(old.decisions, new.decisions),
        dynamics: united(old.dynamics, new.dynamics),
        next_steps: united(next_steps, vec![]),
        context: united(old.context, new.context),
        excerpts: excerpts(old.excerpts, new.excerpts),
        names: names(old.names, new.names),
        files: files(old.files, new.files),
        failed: united(old.failed, new.failed),
        other: others(old.other, new.other),
        request: new.request.or(old.request),
    }
}

// Both, each text once. The older entry stays, as it says where the text was first said.
fn united(old: Vec<Item>, new: Vec<Item>) -> Vec<Item> {
    let mut seen = HashSet::new();
    old.into_iter().chain(new).filter(|item| seen.insert(key(item.text()))).collect()
}

fn excerpts(old: Vec<Excerpt>, new: Vec<Excerpt>) -> Vec<Excerpt> {
    let mut seen = HashSet::new();
    let both = old.into_iter().chain(new);
    let mut all: Vec<Excerpt> = both.filter(|excerpt| seen.insert(excerpt.clone())).collect();
    all.sort_by_key(|excerpt| excerpt.source().map(|source: Source| source.message));
    all
}

fn names(old: Vec<Name>, new: Vec<Name>) -> Vec<Name> {
    let mut seen = HashSet::new();
    let both: Vec<Name> = old.into_iter().chain(new).collect();
    let mut all: Vec<Name> = both.into_iter().rev().filter(|name| seen.insert(name.clone())).collect();
    all.reverse();
    all
}

fn decisions(old: Vec<Decision>, new: Vec<Decision>) -> Vec<Decision> {
    let mut latest: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Option<Decision>> = Vec::with_capacity(old.len() + new.len());
    for decision in old.into_iter().chain(new) {
        let before = latest.get(&key(decision.subject())).copied();
        let unchanged = before.and_then(|at| all.get(at)?.as_ref()).is_some_and(|before| {
            decision.rationale().is_empty() || key(before.rationale()) == key(decision.rationale())
        });
        if unchanged {
            continue;
        }
        if let Some(superseded) = before.and_then(|at| all.get_mut(at)) {
            *superseded = None;
        }
        latest.insert(key(decision.subject()), all.len());
        all.push(Some(decision));
    }
    all.into_iter().flatten().collect()
}

fn others(old: Vec<OtherSection>, new: Vec<OtherSection>) -> Vec<OtherSection> {
    let mut all: Vec<OtherSection> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for section in old.into_iter().chain(new) {
        match places.get(&key(section.title())).and_then(|at| all.get_mut(*at)) {
            Some(known) => known.items = united(std::mem::take(&mut known.items), section.items),
            None => {
                places.insert(key(section.title()), all.len());
                all.push(section);
            }
        }
    }
    all
}

fn files(old: Files, new: Files) -> Files {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Option<(Section, Item)>> = Vec::new();
    for (state, item) in listed(old).chain(listed(new)) {
        let path = path_key(item.text());
        let known = places.get(&path).and_then(|at| all.get_mut(*at));
        let before = known.as_ref().and_then(|known| known.as_ref().map(|(state, _)| *state));
        let now = before.map_or(state, |before| after(before, state));
        // A file that was only read once more says nothing new.
        if before == Some(now) && state == Section::Read {
            continue;
        }
        // What was changed last stands last.
        known.into_iter().for_each(|known| *known = None);
        places.insert(path, all.len());
        all.push(Some((now, item)));
    }
    let mut files = Files::default();
    for (state, item) in all.into_iter().flatten() {
        match state {
            Section::Created => files.created.push(item),
            Section::Deleted => files.deleted.push(item),
            Section::Read => files.read.push(item),
            _ => files.modified.push(item),
        }
    }
    files
}

fn listed(files: Files) -> impl Iterator<Item = (Section, Item)> {
    // Within one checkpoint a file that is listed twice was read before it was changed, and deleted last.
    let states = [
        (Section::Read, files.read),
        (Section::Created, files.created),
        (Section::Modified, files.modified),
        (Section::Deleted, files.deleted),
    ];
    states.into_iter().flat_map(|(state, items)| items.into_iter().map(move |item| (state, item)))
}

fn after(known: Section, latest: Section) -> Section {
    match (known, latest) {
        (known, Section::Read) => known,
        // What is new since the start stays new, however often it is changed.
        (Section::Created, Section::Modified) => Section::Created,
        (_, latest) => latest,
    }
}
