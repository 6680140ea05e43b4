//! A checkpoint as a few lines of text, for summaries that are not checkpoints; and such lines read back.

use crate::checkpoint::{Checkpoint, Decision, Excerpt, Item, Name, Request};
use crate::loss::ADDED;

/// What stands before names that nothing is said about.
pub(crate) const NAMES: &str = "Names: ";

/// What a checkpoint says, without headings.
pub(super) fn plain(checkpoint: &Checkpoint) -> String {
    let Checkpoint { goal, constraints, done, in_progress, decisions, dynamics, .. } = checkpoint;
    let Checkpoint { next_steps, context, excerpts, names, files, failed, other, request, .. } = checkpoint;
    let mut lines: Vec<String> = Vec::new();
    lines.extend(goal.as_ref().map(|goal| format!("Goal: {}", goal.text())));
    lines.extend(constraints.iter().map(|item| format!("User: {}", item.text())));
    let told = |before: &'static str| move |item: &Item| format!("{before}{}", item.text());
    lines.extend(done.iter().map(told("Done: ")));
    lines.extend(in_progress.iter().map(told("In progress: ")));
    lines.extend(decisions.iter().map(decided));
    // Nobody is named for these; behind a dash they do not pass for words of whoever is named above them.
    lines.extend(dynamics.iter().chain(context).map(told("- ")));
    lines.extend(next_steps.iter().map(told("Next: ")));
    lines.extend(failed.iter().map(told("Failed: ")));
    lines.extend(other.iter().flat_map(|section| &section.items).map(told("- ")));
    lines.extend(excerpts.iter().map(quoted));
    let listed = |what: &str, items: &[Item]| {
        let names: Vec<&str> = items.iter().map(Item::text).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    lines.extend(listed("Modified", &files.modified));
    lines.extend(listed("Created", &files.created));
    lines.extend(listed("Deleted", &files.deleted));
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    lines.extend((!names.is_empty()).then(|| format!("{NAMES}{}", names.join(" "))));
    lines.extend(request.as_ref().map(|request| format!("Latest request: {}", request.text())));
    lines.join("\n")
}

fn decided(decision: &Decision) -> String {
    match decision.rationale() {
        "" => format!("Decided: {}", decision.subject()),
        rationale => format!("Decided: {}: {rationale}", decision.subject()),
    }
}

fn quoted(excerpt: &Excerpt) -> String {
    let role = excerpt.source().map(|source| source.role.to_string());
    let (first, rest) = match role.as_deref() {
        Some(role) => (role.get(..1).unwrap_or_default().to_uppercase(), role.get(1..).unwrap_or_default()),
        None => (String::new(), ""),
    };
    format!("{first}{rest}: {}", excerpt.pieces().join("\n…\n"))
}

/// How lines begin that such a text is known by; others begin with a dash, or go on with what stands above them.
const OPENINGS: [&str; 15] = [
    "Goal: ",
    "User: ",
    "Done: ",
    "In progress: ",
    "Decided: ",
    "Next: ",
    "Failed: ",
    "Assistant: ",
    "Tool: ",
    "System: ",
    "Modified: ",
    "Created: ",
    "Deleted: ",
    NAMES,
    "Latest request: ",
];
const DASH: &str = "- ";

/// The checkpoint that such a text is of, without what `said` knows; `None` where it is a text of another form.
pub(super) fn read(text: &str, said: &dyn Fn(&str) -> bool) -> Option<Checkpoint> {
    let opens = |line: &str| OPENINGS.into_iter().find(|opening| line.starts_with(opening));
    let is_heading = |line: &str| line.starts_with('#') && line != ADDED;
    if text.lines().any(is_heading) || !text.lines().any(|line| opens(line).is_some()) {
        return None;
    }
    let mut entries: Vec<(&str, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && *line != ADDED) {
        let opening = opens(line).or_else(|| line.starts_with(DASH).then_some(DASH));
        match (opening, entries.last_mut()) {
            (Some(opening), _) => entries.push((opening, line.replacen(opening, "", 1))),
            // What a text begins with is nobody's in particular.
            (None, Some((opening, above))) if *opening != DASH => above.extend(["\n", line]),
            (None, _) => entries.push((DASH, line.to_owned())),
        }
    }
    let mut checkpoint = Checkpoint::default();
    let is_said = |text: &str| text.lines().filter(|line| line.trim() != "…").all(said);
    let is_listed = |opening: &str| matches!(opening, NAMES | "Modified: " | "Created: " | "Deleted: ");
    for (opening, text) in entries.iter().filter(|(opening, text)| is_listed(opening) || !is_said(text)) {
        put(&mut checkpoint, opening, text);
    }
    Some(checkpoint)
}

fn put(checkpoint: &mut Checkpoint, opening: &str, text: &str) {
    let item = || Item::new(text, None);
    let files = || text.split(", ").filter_map(|file| Item::new(file, None));
    match opening {
        "Goal: " => checkpoint.goal = item(),
        "User: " => checkpoint.constraints.extend(item()),
        "Done: " => checkpoint.done.extend(item()),
        "In progress: " => checkpoint.in_progress.extend(item()),
        "Decided: " => checkpoint.decisions.extend(Decision::from_statement(text, None)),
        "Next: " => checkpoint.next_steps.extend(item()),
        "Failed: " => checkpoint.failed.extend(item()),
        "Modified: " => checkpoint.files.modified.extend(files()),
        "Created: " => checkpoint.files.created.extend(files()),
        "Deleted: " => checkpoint.files.deleted.extend(files()),
        NAMES => checkpoint.names.extend(text.split_whitespace().filter_map(Name::new)),
        "Latest request: " => checkpoint.request = Request::new(text, None),
        _ => checkpoint.context.extend(item()),
    }
}
