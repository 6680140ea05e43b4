//! `epitome doctor`: everything that must hold, checked. It repairs nothing.

use serde_json::json;

use super::Shelf;
use crate::args::Doctor;
use crate::fail::failure;
use crate::print::{BAD, FAINT, GOOD, count, grouped, paint, plural};

/// What is checked, for those who want to know what "nothing is wrong" means.
const CHECKED: [&str; 6] = [
    "the database's own pages",
    "bodies: every byte hashes to its name, packs unpack",
    "sessions: turns and messages without gaps, chain hashes, heads, counts, spans of forks",
    "compactions: segments tile their path, the nearest one is known at every turn",
    "rows: each belongs to a turn, a session and a tenant that is there, and events to their turns",
    "index: an entry for everything, found by its own words; recall ids point at messages",
];

/// Runs the command.
pub(super) fn run(arguments: &Doctor, shelf: &Shelf) -> anyhow::Result<()> {
    let checkup = shelf.wait(shelf.ledger.doctor())?;
    if arguments.json {
        let findings = checkup.findings.iter();
        let findings: Vec<_> =
            findings.map(|finding| json!({"subject": finding.subject, "problem": finding.problem})).collect();
        let notes = checkup.notes.iter();
        let notes: Vec<_> =
            notes.map(|note| json!({"subject": note.subject, "note": note.problem})).collect();
        let told = json!({
            "sessions": checkup.sessions, "turns": checkup.turns, "messages": checkup.messages,
            "bodies": checkup.bodies, "events": checkup.events, "checked": CHECKED, "findings": findings,
            "notes": notes,
        });
        println!("{told}");
    } else {
        anstream::println!(
            "{}, {}, {}, {}, {} in {}",
            count(checkup.sessions, "session"),
            count(checkup.turns, "turn"),
            count(checkup.messages, "message"),
            if checkup.bodies == 1 {
                "1 body".to_owned()
            } else {
                format!("{} bodies", grouped(checkup.bodies))
            },
            count(checkup.events, "event"),
            shelf.name,
        );
        for what in CHECKED {
            anstream::println!("  checked: {what}");
        }
        for note in &checkup.notes {
            anstream::println!("{} {note}", paint(FAINT, "note:"));
        }
        for finding in &checkup.findings {
            anstream::println!("{} {finding}", paint(BAD, "wrong:"));
        }
    }
    match checkup.findings.len() {
        0 if arguments.json => Ok(()),
        0 => {
            anstream::println!("{}", paint(GOOD, "nothing is wrong"));
            Ok(())
        }
        count => Err(failure(
            format!("{} in {}", plural(count, "finding"), shelf.name),
            "nothing was repaired; restore a backup, or save what can be read with epitome export",
        )),
    }
}
