//! A checkpoint as a few lines of text, for summaries that are not checkpoints.

use crate::checkpoint::{Checkpoint, Decision, Excerpt, Item};

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
