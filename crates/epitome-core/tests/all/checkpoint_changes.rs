//! How checkpoints change: merging follows the update rules of spec 008.1 v4, shrinking its order of importance,
//! and drift tells what was lost.

use epitome_core::checkpoint::{Checkpoint, Files, Item, Request, Section, Versions, drift, merge};

use crate::checkpoint::{decision, items, sample};

fn texts(items: &[Item]) -> Vec<&str> {
    items.iter().map(Item::text).collect()
}

#[test]
fn merging_follows_the_update_rules() {
    let old = Checkpoint {
        goal: Some(items(&["Build it"]).remove(0)),
        constraints: items(&["Use tabs"]),
        done: items(&["Set up CI", "Drafted the API"]),
        in_progress: items(&["Implement the parser", "Write docs"]),
        decisions: vec![decision("Database", "SQLite, simple"), decision("Language", "Rust")],
        next_steps: items(&["Implement the lexer", "Release"]),
        files: Files {
            created: items(&["src/a.rs", "src/tmp.rs"]),
            modified: items(&["src/b.rs"]),
            read: items(&["src/c.rs", "src/d.rs"]),
            ..Files::default()
        },
        request: Request::new("go on", None),
        ..Checkpoint::default()
    };
    let new = Checkpoint {
        constraints: items(&["use tabs.", "No unsafe"]),
        done: items(&["Implemented parser"]),
        in_progress: items(&["Drafted the API"]),
        decisions: vec![decision("database", "PostgreSQL, several writers")],
        next_steps: items(&["Benchmark"]),
        files: Files {
            modified: items(&["src/a.rs", "src/c.rs"]),
            deleted: items(&["`src/tmp.rs`: no longer needed"]),
            read: items(&["src/b.rs", "src/e.rs"]),
            ..Files::default()
        },
        request: Request::new("and now faster", None),
        ..Checkpoint::default()
    };
    let merged = merge(old.clone(), new);
    assert_eq!(merged.goal.as_ref().unwrap().text(), "Build it", "preserved unless superseded");
    assert_eq!(texts(&merged.constraints), ["Use tabs", "No unsafe"]);
    assert_eq!(texts(&merged.done), ["Set up CI", "Implemented parser"]);
    assert_eq!(
        texts(&merged.in_progress),
        ["Write docs", "Drafted the API"],
        "completed went, reopened came"
    );
    assert_eq!(texts(&merged.next_steps), ["Benchmark"]);
    let subjects: Vec<_> = merged.decisions.iter().map(|it| (it.subject(), it.rationale())).collect();
    assert_eq!(subjects, [("Language", "Rust"), ("database", "PostgreSQL, several writers")]);
    assert_eq!(texts(&merged.files.created), ["src/a.rs"], "new since the start, however often changed");
    assert_eq!(texts(&merged.files.modified), ["src/b.rs", "src/c.rs"], "reading is no change");
    assert_eq!(texts(&merged.files.deleted), ["`src/tmp.rs`: no longer needed"]);
    assert_eq!(texts(&merged.files.read), ["src/d.rs", "src/e.rs"]);
    assert_eq!(merged.request.unwrap().text(), "and now faster");

    let finished = Checkpoint { done: items(&["Implemented lexer"]), ..Checkpoint::default() };
    assert_eq!(texts(&merge(old, finished).next_steps), ["Release"], "without new steps, done ones go");
}

#[test]
fn shrinking_follows_the_order_of_importance() {
    let full = || {
        let mut checkpoint = sample();
        checkpoint.done =
            (0..12).map(|number| items(&[&format!("finished step {number}")]).remove(0)).collect();
        checkpoint
    };
    let size = full().render().len();
    let mut gone: Vec<&str> = Vec::new();
    type Gone = fn(&Checkpoint) -> bool;
    let mut steps: Vec<(&str, Gone)> = vec![
        ("older done", |it| it.done.len() <= 5),
        ("files read", |it| it.files.read.is_empty()),
        ("excerpts", |it| it.excerpts.is_empty()),
        ("names", |it| it.names.is_empty()),
        ("other sections", |it| it.other.is_empty()),
        ("dynamics", |it| it.dynamics.is_empty()),
        ("constraints", |it| it.constraints.is_empty()),
        ("files created", |it| it.files.created.is_empty()),
        ("failed attempts", |it| it.failed.is_empty()),
        ("context", |it| it.context.is_empty()),
        ("recent done", |it| it.done.is_empty()),
        ("next steps", |it| it.next_steps.is_empty()),
        ("decisions", |it| it.decisions.is_empty()),
        ("in progress", |it| it.in_progress.is_empty()),
    ];
    let order: Vec<&str> = steps.iter().map(|(name, _)| *name).collect();
    for most in (0..size).rev() {
        let mut checkpoint = full();
        assert_eq!(checkpoint.shrink(&|text| text.len() <= most).fits, checkpoint.render().len() <= most);
        if let Some(at) = steps.iter().position(|(_, is_gone)| is_gone(&checkpoint)) {
            gone.push(steps.remove(at).0);
        }
        assert!(checkpoint.goal.is_some() && checkpoint.request.is_some());
    }
    assert_eq!(gone, order);
    let mut checkpoint = full();
    let newest_first = checkpoint.shrink(&|text| text.len() <= size - 40);
    assert!(newest_first.dropped >= 1);
    assert_eq!(checkpoint.done.last().unwrap().text(), "finished step 11");
    assert_ne!(checkpoint.done[0].text(), "finished step 0");
}

#[test]
fn a_large_entry_does_not_cost_the_small_ones() {
    let mut checkpoint = sample();
    let before = checkpoint.clone();
    checkpoint.context.push(items(&[&"x".repeat(5000)]).remove(0));
    let outcome = checkpoint.shrink(&|text| text.len() < 2000);
    assert_eq!((outcome.dropped, outcome.fits), (1, true));
    assert_eq!(checkpoint, before);
}

#[test]
fn a_pasted_request_is_cut_before_anything_is_dropped() {
    let mut checkpoint = sample();
    checkpoint.request = Request::new(&"paste ".repeat(5000), None);
    let outcome = checkpoint.shrink(&|text| text.len() < 4000);
    assert_eq!((outcome.dropped, outcome.cut, outcome.fits), (0, true, true));
    assert!(checkpoint.request.unwrap().text().ends_with("[…]"));
}

#[test]
fn drift_tells_what_was_lost() {
    let old = sample();
    let mut new = merge(sample(), Checkpoint { done: items(&["Port the tests"]), ..Checkpoint::default() });
    new.constraints.clear();
    new.decisions = vec![decision("Parser", "nom after all")];
    new.dynamics.push(items(&["Uses German now"]).remove(0));
    let change = drift(&old, &new);
    let of = |section| change.sections.iter().find(|it| it.section == section).unwrap();
    assert_eq!((of(Section::Constraints).lost, of(Section::Constraints).kept), (1, 0));
    assert_eq!(of(Section::Decisions).changed, 1);
    assert_eq!((of(Section::Dynamics).kept, of(Section::Dynamics).added), (1, 1));
    assert_eq!((of(Section::InProgress).kept, of(Section::InProgress).lost), (1, 0), "it is done now");
    assert!(change.score > 0.7 && change.score < 1.0, "{}", change.score);
    assert_eq!(drift(&old, &old).score, 1.0);
    assert_eq!(drift(&old, &Checkpoint::default()).score, 0.0);
    assert_eq!(drift(&Checkpoint::default(), &old).score, 1.0);
}

#[test]
fn two_versions_are_kept_and_compared() {
    let mut versions = Versions::default();
    assert_eq!(versions.drift(), None);
    versions.push("## Goal\nold".to_owned());
    assert_eq!(versions.drift(), None);
    versions.push(sample().render());
    versions.push(Checkpoint { constraints: vec![], ..sample() }.render());
    assert_eq!(versions.iter().count(), 2);
    assert_eq!(versions.iter().last(), versions.latest());
    let lost: usize = versions.drift().unwrap().sections.iter().map(|section| section.lost).sum();
    assert_eq!(lost, 1);
}
