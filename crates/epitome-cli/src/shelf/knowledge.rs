//! `epitome knowledge`: what was learnt, and what somebody says of it.

use std::io::Write;

use epitome_ledger::LedgerError;
use epitome_ledger::model::{FindingFilter, FindingMark, FindingState, RecordedFinding};
use serde_json::json;

use super::more::say_more;
use super::sessions::paging;
use super::{Shelf, pick};
use crate::args::Knowledge;
use crate::fail::failure;
use crate::print::{FAINT, HEADING, paint, say};

/// Lists what was learnt.
pub(super) fn list(arguments: &Knowledge, shelf: &Shelf) -> anyhow::Result<()> {
    let session = match &arguments.session {
        Some(named) => Some(pick::session(shelf, named)?.id),
        None => None,
    };
    let states = if arguments.all { Vec::new() } else { FindingState::COUNTING.to_vec() };
    let filter = FindingFilter { agent: arguments.agent.clone(), session, kind: arguments.kind, states };
    let page = shelf.wait(shelf.ledger.findings(shelf.tenant, filter, paging(&arguments.paged)))?;
    if page.items.is_empty() && !arguments.json {
        say("nothing was learnt of this; what a compaction hides is learnt from");
    }
    page.items.iter().try_for_each(|finding| print(finding, arguments.json))?;
    if let Some(next) = page.next {
        say_more(next);
    }
    Ok(())
}

/// Confirms or rejects one.
pub(super) fn judge(arguments: &Knowledge, shelf: &Shelf) -> anyhow::Result<()> {
    let judged = [(arguments.confirm, FindingMark::Confirmed), (arguments.reject, FindingMark::Rejected)];
    for (id, mark) in judged {
        let Some(id) = id else { continue };
        let marked = shelf.wait_any(async {
            let found = match arguments.dry_run {
                true => shelf.ledger.finding(shelf.tenant, id).await,
                false => shelf.ledger.mark_finding(shelf.tenant, id, mark).await,
            };
            match found {
                Err(LedgerError::NotFound { .. }) => {
                    Err(failure(format!("nothing was learnt under {id}"), "epitome knowledge lists the ids"))
                }
                marked => Ok(marked?),
            }
        })?;
        print(&marked, arguments.json)?;
        if arguments.dry_run {
            let verdict = if mark == FindingMark::Confirmed { "confirmed" } else { "rejected" };
            say(format_args!("it would be {verdict}; nothing was changed (--dry-run)"));
        }
    }
    Ok(())
}

fn print(finding: &RecordedFinding, json: bool) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if json {
        let told = json!({
            "id": finding.id.to_string(),
            "kind": finding.kind,
            "state": finding.state.as_str(),
            "agent": finding.agent,
            "subject": finding.subject,
            "text": finding.text,
            "session": finding.session.to_string(),
            "message": finding.message,
            "supersedes": finding.supersedes.map(|id| id.to_string()),
            "time": finding.time.0,
        });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    let state = match finding.state {
        FindingState::Current => String::new(),
        FindingState::Review => ", unconfirmed".to_owned(),
        state => format!(", {state}"),
    };
    let place = format!("{} · message {} of {}", finding.id, finding.message, pick::short(finding.session));
    writeln!(out, "{} {}", paint(HEADING, format_args!("{}{state}", finding.kind)), paint(FAINT, place))?;
    writeln!(out, "  {}", finding.text)?;
    Ok(())
}
