//! Mending: what a summary made up is flagged or struck, what nobody can do without is added.

use epitome_core::checkpoint::Checkpoint;
use epitome_core::loss::{self, ADDED, Mended, OnInvention, Sources};
use epitome_core::{Message, Role};

fn talk() -> Vec<Message> {
    vec![
        Message::text(
            Role::User,
            "Speed up the importer in src/import.rs. Never write to the production database.",
        ),
        Message::text(
            Role::Assistant,
            "Reading src/import.rs fails with ParseError, then ParseError again in src/import.rs.",
        ),
        Message::text(
            Role::User,
            "Keep memory below 512MB. My key is API_KEY=sk-proj-9hT3vQ81LmZx27RbYw45KcPd.",
        ),
    ]
}

fn mended(summary: &str, policy: OnInvention, most: usize) -> Mended {
    let messages = talk();
    let sources = Sources::new(&messages);
    let loss = loss::check(summary, &sources);
    loss::mend(summary, &loss, &sources, policy, &|text| text.len() <= most)
}

const CHECKPOINT: &str = "## Constraints & Preferences\n- Keep memory below 512MB. (#2 user)\n\n\
    ## Progress\n### Done\n- [x] Rewrote src/export.rs\n- [x] Read the importer";

#[test]
fn inventions_are_flagged() {
    let Mended { text, flagged, struck, .. } = mended(CHECKPOINT, OnInvention::Flag, 10_000);
    assert!(text.contains("- [x] Rewrote src/export.rs [unverified: src/export.rs]"), "{text}");
    assert_eq!((flagged, struck), (1, 0));
    let again = Checkpoint::parse(&text).checkpoint.render();
    assert_eq!(again, text, "a mended checkpoint is one");
}

#[test]
fn inventions_are_struck() {
    let Mended { text, flagged, struck, .. } = mended(CHECKPOINT, OnInvention::Strike, 10_000);
    assert!(!text.contains("export") && text.contains("Read the importer"), "{text}");
    assert_eq!((flagged, struck), (0, 1));
    let small = mended(CHECKPOINT, OnInvention::Flag, CHECKPOINT.len());
    assert_eq!((small.flagged, small.struck), (0, 1), "where a flag does not fit, the line goes");
    assert!(small.text.len() <= CHECKPOINT.len());
}

#[test]
fn a_flag_stands_before_the_source() {
    let text = mended("- Memory is 999MB (#2 user)", OnInvention::Flag, 10_000).text;
    assert!(text.starts_with("- Memory is 999MB [unverified: 999MB] (#2 user)"), "{text}");
}

#[test]
fn invented_names_are_struck_from_their_list() {
    let summary =
        "## Goal\nSpeed up the importer\n\n## Critical Context\n### Names\n ParseError frobnicate_all";
    let text = mended(summary, OnInvention::Flag, 10_000).text;
    assert!(text.contains("\n ParseError") && !text.contains("frobnicate"), "{text}");
}

#[test]
fn essentials_are_added_in_their_place() {
    let Mended { text, added, .. } = mended(CHECKPOINT, OnInvention::Flag, 10_000);
    let checkpoint = Checkpoint::parse(&text).checkpoint;
    assert_eq!(
        checkpoint.goal.unwrap().text().split('.').next(),
        Some("Speed up the importer in src/import")
    );
    let orders: Vec<&str> = checkpoint.constraints.iter().map(|item| item.text()).collect();
    assert_eq!(orders, ["Keep memory below 512MB.", "Never write to the production database."]);
    assert!(checkpoint.names.iter().any(|name| name.as_str() == "ParseError"), "{text}");
    assert!(added >= 3);
}

#[test]
fn essentials_are_added_below_anything_else() {
    let text = mended("The importer is slow.", OnInvention::Flag, 10_000).text;
    let (before, after) = text.split_once(ADDED).unwrap();
    assert_eq!(before, "The importer is slow.\n\n");
    assert!(after.starts_with("\n- Keep memory below 512MB. (#2 user)\n- Never write"), "{after}");
}

#[test]
fn nothing_is_added_beyond_the_cap() {
    for most in 0..600 {
        let Mended { text, .. } = mended(CHECKPOINT, OnInvention::Flag, most);
        assert!(text.len() <= most.max(CHECKPOINT.len()), "{most}: {text}");
    }
    let tight = mended("The importer is slow.", OnInvention::Flag, 90).text;
    assert!(tight.contains("512MB") && !tight.contains("production"), "{tight}");
}

#[test]
fn what_is_faithful_stays_as_it_is() {
    let summary = "Never write to the production database. Keep memory below 512MB. \
        The importer in src/import.rs fails with ParseError.";
    let messages = talk();
    let sources = Sources::new(&messages);
    let loss = loss::check(summary, &sources);
    let mended = loss::mend(summary, &loss, &sources, OnInvention::Flag, &|_| true);
    assert_eq!(mended, Mended { text: summary.to_owned(), added: 0, flagged: 0, struck: 0 });
}

#[test]
fn secrets_are_neither_reported_nor_added() {
    let messages = talk();
    let sources = Sources::new(&messages);
    let loss = loss::check("", &sources);
    let told = format!("{loss}{}", serde_json::to_string(&loss).unwrap());
    assert!(!told.contains("9hT3vQ81"), "{told}");
    assert!(!mended("Nothing.", OnInvention::Flag, 10_000).text.contains("9hT3vQ81"));
}

#[test]
fn a_report_reads_well() {
    let messages = talk();
    let loss = loss::check("- The limit is 75 files\n- ParseError (#1 assistant)", &Sources::new(&messages));
    let text = loss.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "              hidden    kept   reworded pointed at   missing");
    assert!(lines[1].starts_with("constraint         2       0          0          0         2"), "{text}");
    assert!(text.contains("  constraint  Keep memory below 512MB.  (#2 user)"), "{text}");
    assert!(
        text.contains(
            "  number      75: stands nowhere in the source\n              in: The limit is 75 files"
        ),
        "{text}"
    );
    assert_eq!(loss.summary(), "1 kept, 0 in another form, 1 only pointed at, 5 missing, 1 invented");
}

// Its lines may look like headings to a lenient reader.
#[test]
fn a_summary_that_is_no_checkpoint_stays_as_it_is() {
    let plain = "Goal: Speed up the importer in src/import.rs.\nUser: Keep memory below 512MB.\nFailed: ParseError\nNames: src/import.rs";
    let text = mended(plain, OnInvention::Strike, 10_000).text;
    assert!(text.starts_with(plain), "{text}");
    assert!(text.contains(ADDED) && text.contains("- Never write to the production database."), "{text}");
}
