//! Changes to a checkpoint: what is named changes, everything else stays letter by letter.

use epitome_core::checkpoint::{Checkpoint, Decision, Excerpt, Item, Name, Section};
use epitome_llm::summary::{Change, Delta, DeltaError, Id, listing};
use proptest::prelude::*;

const LISTS: [Section; 11] = [
    Section::Constraints,
    Section::Done,
    Section::InProgress,
    Section::Dynamics,
    Section::NextSteps,
    Section::Context,
    Section::Failed,
    Section::Created,
    Section::Modified,
    Section::Deleted,
    Section::Read,
];

fn item(text: &str) -> Item {
    Item::new(text, None).unwrap()
}

fn base() -> Checkpoint {
    Checkpoint {
        goal: Some(item("Ship the importer")),
        constraints: vec![item("Never touch src/generated.rs"), item("Lines stay below 4096 bytes")],
        in_progress: vec![item("Write tests/dates.rs\nwith two lines")],
        decisions: vec![Decision::new("chrono", "it validates dates", None).unwrap()],
        context: vec![item("src/parser.rs:88")],
        excerpts: vec![Excerpt::new(vec!["month out of range".to_owned()], None).unwrap()],
        names: vec![Name::new("reads_dates").unwrap()],
        ..Checkpoint::default()
    }
}

#[test]
fn entries_are_listed_behind_their_ids() {
    assert_eq!(
        listing(&base()),
        "goal.1: Ship the importer\nconstraints.1: Never touch src/generated.rs\nconstraints.2: Lines stay below 4096 bytes\n\
         in_progress.1: Write tests/dates.rs\n    with two lines\ndecisions.1: chrono: it validates dates\ncontext.1: src/parser.rs:88"
    );
}

#[test]
fn changes_are_made() {
    let answer = r#"Here you are:
```json
{"changes": [
  {"op": "move", "id": "in_progress.1", "section": "done"},
  {"op": "replace", "id": "decisions.1", "text": "jiff: it knows time zones"},
  {"op": "remove", "id": "context.1"},
  {"op": "add", "section": "next_steps", "text": "Publish"}
]}
```"#;
    let next = Delta::read(answer).unwrap().apply(&base()).unwrap();
    let expected = Checkpoint {
        in_progress: vec![],
        done: base().in_progress,
        decisions: vec![Decision::new("jiff", "it knows time zones", None).unwrap()],
        context: vec![],
        next_steps: vec![item("Publish")],
        ..base()
    };
    assert_eq!(next, expected);
    assert_eq!(Delta::read(r#"{"changes": []}"#).unwrap().apply(&base()).unwrap(), base());
}

#[test]
fn what_cannot_be_done_is_refused_as_a_whole() {
    let cases = [
        ("I cannot do that.", "Form"),
        (r#"{"changes": [{"op": "add""#, "Form"),
        (r#"{"summary": "all done"}"#, "Form"),
        (r#"{"changes": [{"op": "burn", "id": "goal.1"}]}"#, "Form"),
        (r#"{"changes": [{"op": "add", "section": "done"}]}"#, "Form"),
        (r#"{"changes": [{"op": "remove", "id": "constraints.3"}]}"#, "UnknownId"),
        (r#"{"changes": [{"op": "remove", "id": "constraints.0"}]}"#, "UnknownId"),
        (r#"{"changes": [{"op": "remove", "id": "rules.1"}]}"#, "UnknownId"),
        (r#"{"changes": [{"op": "move", "id": "decisions.1", "section": "done"}]}"#, "UnknownId"),
        (r#"{"changes": [{"op": "move", "id": "context.1", "section": "goal"}]}"#, "UnknownSection"),
        (r#"{"changes": [{"op": "add", "section": "excerpts", "text": "x"}]}"#, "UnknownSection"),
        (r#"{"changes": [{"op": "add", "section": "done", "text": "(none)"}]}"#, "Empty"),
        (
            r#"{"changes": [{"op": "remove", "id": "goal.1"}, {"op": "replace", "id": "goal.1", "text": "x"}]}"#,
            "Twice",
        ),
        (r#"{"changes": [{"op": "add", "section": "goal", "text": "another"}]}"#, "Twice"),
    ];
    for (answer, expected) in cases {
        let error = Delta::read(answer).and_then(|delta| delta.apply(&base())).unwrap_err();
        assert!(format!("{error:?}").starts_with(expected), "{answer}: {error:?}");
    }
}

#[test]
fn a_checkpoint_is_not_swept_away() {
    let done: Vec<Item> = (0..10).map(|number| item(&format!("step {number}"))).collect();
    let base = Checkpoint { done, ..Checkpoint::default() };
    let remove = |count: usize| Delta {
        changes: (1..=count)
            .map(|number| Change::Remove { id: Id { section: Section::Done, number } })
            .collect(),
    };
    assert_eq!(remove(6).apply(&base), Err(DeltaError::Sweeping { gone: 6, all: 10 }));
    assert_eq!(remove(5).apply(&base).unwrap().done, base.done[5..]);
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    proptest::collection::vec("[a-z#*\\-`\\[\\] :.]{1,12}x( [a-z]{1,8}){0,3}", 0..4)
        .prop_map(|texts| texts.iter().filter_map(|text| Item::new(text, None)).collect())
}

fn checkpoints() -> impl Strategy<Value = Checkpoint> {
    let lists = proptest::collection::vec(items(), LISTS.len());
    (lists, items()).prop_map(|(lists, others)| {
        let mut checkpoint = Checkpoint { goal: others.first().cloned(), ..Checkpoint::default() };
        checkpoint.decisions =
            others.iter().filter_map(|item| Decision::from_statement(item.text(), None)).collect();
        let [
            constraints,
            done,
            in_progress,
            dynamics,
            next_steps,
            context,
            failed,
            created,
            modified,
            deleted,
            read,
        ]: [Vec<Item>; 11] = lists.try_into().unwrap();
        Checkpoint {
            constraints,
            done,
            in_progress,
            dynamics,
            next_steps,
            context,
            failed,
            files: epitome_core::checkpoint::Files { created, modified, deleted, read },
            ..checkpoint
        }
    })
}

fn changes() -> impl Strategy<Value = Delta> {
    let section = || proptest::sample::select(LISTS.to_vec());
    let id = move || (section(), 1_usize..4).prop_map(|(section, number)| Id { section, number });
    let text = || "[a-z]{4,12}";
    let section = || proptest::sample::select(LISTS.to_vec());
    let change = prop_oneof![
        (section(), text()).prop_map(|(section, text)| Change::Add { section, text }),
        (id(), text()).prop_map(|(id, text)| Change::Replace { id, text }),
        (id(), section()).prop_map(|(id, section)| Change::Move { id, section }),
        id().prop_map(|id| Change::Remove { id }),
    ];
    proptest::collection::vec(change, 0..6).prop_map(|changes| Delta { changes })
}

proptest! {
    #[test]
    fn what_no_change_names_stays_as_it_was(base in checkpoints(), delta in changes()) {
        let Ok(next) = delta.apply(&base) else { return Ok(()) };
        prop_assert_eq!(&next.goal, &base.goal);
        prop_assert_eq!(&next.decisions, &base.decisions);
        for section in LISTS {
            let named = |number: usize| delta.changes.iter().any(|change| match change {
                Change::Replace { id, .. } | Change::Move { id, .. } | Change::Remove { id } => *id == Id { section, number },
                Change::Add { .. } => false,
            });
            let untouched: Vec<&Item> =
                (1..).zip(base.items(section)).filter(|(number, _)| !named(*number)).map(|(_, item)| item).collect();
            // They are all there, in their order.
            let mut rest = next.items(section).iter();
            for item in untouched {
                prop_assert!(rest.any(|other| other == item), "{} is gone from {:?}", item.text(), section);
            }
        }
        // And so they are once it was written and read back.
        prop_assert_eq!(Checkpoint::parse(&next.render()).checkpoint, next);
    }

    #[test]
    fn no_answer_is_too_odd_to_be_read(answer in "(?s).{0,300}") {
        let _ = Delta::read(&answer).and_then(|delta| delta.apply(&base()));
    }
}
