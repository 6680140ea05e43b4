//! Checkpoints: what is written is read back exactly, and what holds of all of them.

use std::cell::Cell;

use epitome_core::Role;
use epitome_core::checkpoint::{
    Checkpoint, Decision, Excerpt, Files, Item, Name, OtherSection, READERS_NOTE, Request, Source, drift,
    merge,
};
use proptest::prelude::*;

pub(crate) fn items(texts: &[&str]) -> Vec<Item> {
    texts.iter().map(|text| Item::new(text, None).unwrap()).collect()
}

fn said(text: &str, message: usize, role: Role) -> Item {
    Item::new(text, Some(Source { message, role })).unwrap()
}

pub(crate) fn excerpt(pieces: &[&str], message: usize, role: Role) -> Excerpt {
    let pieces = pieces.iter().map(|piece| (*piece).to_owned()).collect();
    Excerpt::new(pieces, Some(Source { message, role })).unwrap()
}

pub(crate) fn names(names: &str) -> Vec<Name> {
    names.split(' ').map(|name| Name::new(name).unwrap()).collect()
}

pub(crate) fn decision(subject: &str, rationale: &str) -> Decision {
    Decision::new(subject, rationale, None).unwrap()
}

pub(crate) fn sample() -> Checkpoint {
    Checkpoint {
        goal: Some(said("Ship the importer before Friday.", 1, Role::User)),
        constraints: vec![said("No new dependencies", 3, Role::User)],
        done: items(&["Read the old importer", "Wrote the CSV reader"]),
        in_progress: items(&["Port the tests"]),
        decisions: vec![decision("Parser", "hand-written, it is 80 lines")],
        dynamics: items(&["Prefers short answers"]),
        next_steps: items(&["Port the tests", "Delete the old importer"]),
        context: vec![said(
            "`cargo test -p importer` fails with:\n\n  error[E0433]\n# not a heading",
            9,
            Role::Tool,
        )],
        excerpts: vec![
            excerpt(&["fn rows() {\n    todo!()\n}", "## Goal"], 5, Role::Assistant),
            excerpt(&["#6 user"], 6, Role::Tool),
        ],
        names: names("rows src/csv.rs --flag #1234 5 6 7 8 9 10 11 12 W13"),
        files: Files { created: items(&["src/csv.rs"]), read: items(&["src/old.rs"]), ..Files::default() },
        failed: items(&["serde_csv: cannot read quoted newlines"]),
        other: vec![OtherSection::new("Glossary", items(&["row: a line"])).unwrap()],
        request: Request::new(
            "Now delete it.\n## Goal\n- [ ] not a step\n",
            Some(Source { message: 12, role: Role::User }),
        ),
    }
}

#[test]
fn the_rendered_page_looks_like_this() {
    let expected = "\
## Goal
Ship the importer before Friday. (#1 user)

## Constraints & Preferences
- No new dependencies (#3 user)

## Progress
### Done
- [x] Read the old importer
- [x] Wrote the CSV reader

### In Progress
- [ ] Port the tests

## Key Decisions
- **Parser**: hand-written, it is 80 lines

## Conversation Dynamics
- Prefers short answers

## Next Steps
1. Port the tests
2. Delete the old importer

## Critical Context
- `cargo test -p importer` fails with: (#9 tool)

    error[E0433]
  # not a heading

### Excerpts
#5 assistant
 fn rows() {
     todo!()
 }

 ## Goal
#6 tool
 #6 user

### Names
 rows src/csv.rs --flag #1234 5 6 7 8 9 10 11 12
 W13

## Files
### Created
- src/csv.rs

### Read
- src/old.rs

## Failed Attempts
- serde_csv: cannot read quoted newlines

## Glossary
- row: a line

## Latest User Request (#12 user)
> Now delete it.
> ## Goal
> - [ ] not a step
>";
    assert_eq!(sample().render(), expected);
    let parsed = Checkpoint::parse(expected);
    assert_eq!(parsed.checkpoint, sample());
    assert_eq!(parsed.ignored, Vec::<String>::new());
    let windows = expected.replace('\n', "\r\n");
    assert_eq!(Checkpoint::parse(&windows).checkpoint, sample());
    let noted = format!("{READERS_NOTE}\n\n{expected}");
    assert_eq!(Checkpoint::parse(&noted).checkpoint, sample());
}

#[test]
fn an_empty_checkpoint_is_an_empty_page() {
    assert_eq!(Checkpoint::default().render(), "");
    assert_eq!(Checkpoint::parse("").checkpoint, Checkpoint::default());
    assert!(Checkpoint::default().is_empty());
}

#[test]
fn texts_that_once_did_not_come_back() {
    for text in ["## Goal\n===", "Progress\n---", "#", "None\n  a", "\\\n- a"] {
        let source = Some(Source { message: 0, role: Role::System });
        for source in [None, source] {
            let checkpoint = Checkpoint { goal: Item::new(text, source), ..Checkpoint::default() };
            assert_eq!(Checkpoint::parse(&checkpoint.render()).checkpoint, checkpoint, "{text:?}");
        }
    }
}

// Pieces out of which a text is made that looks like anything but itself.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: [&str; 71] = [
        "### Excerpts\n",
        "### Names\n",
        "#",
        "#3 user",
        "\n ",
        "## Goal",
        "# ",
        "### Done",
        "##",
        "**Goal:**",
        "**",
        "*",
        "- ",
        "* ",
        "+ ",
        "• ",
        "1. ",
        "2) ",
        "[x] ",
        "[ ] ",
        "✅ ",
        "❌",
        "> ",
        "```",
        "```json",
        "~~~",
        "---",
        "===",
        "| a | b |",
        "|---|",
        "\\",
        "\\\\",
        "\\- ",
        "\n",
        "\n\n",
        "\n  ",
        "\n\t",
        "\r\n",
        "\r",
        " ",
        "  ",
        "\t",
        ": ",
        "：",
        " — ",
        " - ",
        " because ",
        "(#3 user)",
        " (#?)",
        "(#12, Tool)",
        "(#",
        ")",
        "<summary>",
        "</summary>",
        "<goal>",
        "</goal>",
        "<analysis>",
        "{\"goal\": 1}",
        "None",
        "N/A",
        "Goal: ",
        "Next Steps",
        "Summary",
        "Here is",
        "目标",
        "\u{feff}",
        "\u{2028}",
        "\u{a0}",
        "Decision",
        "[a]",
        "`",
    ];
    prop_oneof![
        4 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        2 => "[a-z]{1,6}",
        1 => any::<char>().prop_map(String::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat())
}

fn source() -> impl Strategy<Value = Option<Source>> {
    let roles = vec![Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];
    let known = (any::<usize>(), proptest::sample::select(roles))
        .prop_map(|(message, role)| Source { message, role });
    proptest::option::of(known)
}

fn excerpts() -> impl Strategy<Value = Vec<Excerpt>> {
    let excerpt = (proptest::collection::vec(text(), 0..4), source())
        .prop_map(|(pieces, source)| Excerpt::new(pieces, source));
    proptest::collection::vec(excerpt, 0..4).prop_map(|excerpts| excerpts.into_iter().flatten().collect())
}

fn name_list() -> impl Strategy<Value = Vec<Name>> {
    proptest::collection::vec(text(), 0..16).prop_map(|texts| {
        texts.iter().flat_map(|text| text.split_whitespace()).filter_map(Name::new).collect()
    })
}

fn list() -> impl Strategy<Value = Vec<Item>> {
    let item = (text(), source()).prop_map(|(text, source)| Item::new(&text, source));
    proptest::collection::vec(item, 0..4).prop_map(|items| items.into_iter().flatten().collect())
}

fn checkpoint() -> impl Strategy<Value = Checkpoint> {
    let decision =
        (text(), text(), source()).prop_map(|(subject, why, source)| Decision::new(&subject, &why, source));
    let other = (text(), list()).prop_map(|(title, items)| OtherSection::new(&title, items));
    let goal = (text(), source()).prop_map(|(text, source)| Item::new(&text, source));
    let request = (text(), source()).prop_map(|(text, source)| Request::new(&text, source));
    let single =
        (goal, request, proptest::collection::vec(decision, 0..4), proptest::collection::vec(other, 0..3));
    let verbatim = (excerpts(), name_list());
    let all = (single, verbatim, proptest::collection::vec(list(), 11));
    all.prop_map(|((goal, request, decisions, other), (excerpts, names), lists)| {
        let mut lists = lists.into_iter();
        let mut next = || lists.next().unwrap_or_default();
        Checkpoint {
            goal,
            constraints: next(),
            done: next(),
            in_progress: next(),
            decisions: decisions.into_iter().flatten().collect(),
            dynamics: next(),
            next_steps: next(),
            context: next(),
            excerpts,
            names,
            files: Files { created: next(), modified: next(), deleted: next(), read: next() },
            failed: next(),
            other: other.into_iter().flatten().collect(),
            request,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_rendered_is_parsed_back(checkpoint in checkpoint()) {
        let page = checkpoint.render();
        let parsed = Checkpoint::parse(&page);
        prop_assert_eq!(&parsed.checkpoint, &checkpoint, "{}", page);
        prop_assert!(parsed.ignored.is_empty(), "{:?}", parsed.ignored);
        prop_assert_eq!(&Checkpoint::parse(&page.replace('\n', "\r\n")).checkpoint, &checkpoint);
        prop_assert_eq!(Checkpoint::parse(&format!("{READERS_NOTE}\n\n{page}")).checkpoint, checkpoint);
    }

    #[test]
    fn anything_is_parsed_to_something_that_survives(text in text(), more in text()) {
        let parsed = Checkpoint::parse(&format!("{text}\n{more}")).checkpoint;
        prop_assert_eq!(Checkpoint::parse(&parsed.render()).checkpoint, parsed);
    }

    #[test]
    fn merging_keeps_what_is_not_superseded(old in checkpoint(), new in checkpoint()) {
        // Without repetitions, and without files, of which only the last state stays.
        let new = Checkpoint { files: Files::default(), ..merge(Checkpoint::default(), new) };
        let merged = merge(old.clone(), new.clone());
        prop_assert_eq!(&merged, &merge(old, new.clone()));
        let change = drift(&new, &merged);
        prop_assert!(change.sections.iter().all(|section| section.lost == 0), "{:?}", change);
        prop_assert_eq!(merge(merged.clone(), Checkpoint::default()), merged);
    }

    #[test]
    fn shrinking_fits_and_drops_no_goal(checkpoint in checkpoint(), share in 0..100_usize) {
        let most = checkpoint.render().len() * share / 100;
        let asked = Cell::new(0);
        let fits = |text: &str| { asked.set(asked.get() + 1); text.len() <= most };
        let mut shrunk = checkpoint.clone();
        let outcome = shrunk.shrink(&fits);
        prop_assert_eq!(outcome.fits, shrunk.render().len() <= most);
        prop_assert_eq!(shrunk.goal.is_some(), checkpoint.goal.is_some());
        prop_assert_eq!(shrunk.request.is_some(), checkpoint.request.is_some());
        prop_assert!(asked.get() <= 100, "asked {} times", asked.get());
        let mut again = checkpoint;
        again.shrink(&fits);
        prop_assert_eq!(again, shrunk);
    }
}
