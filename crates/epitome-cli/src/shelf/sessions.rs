//! `epitome sessions`: what there is, the latest recorded first.

use std::io::Write;

use epitome_ledger::Paging;
use epitome_ledger::model::{Session, SessionFilter};
use serde_json::{Value, json};

use super::more::say_more;
use super::show::is_undo;
use super::{Shelf, pick, purge};
use crate::args::{Paged, Sessions};
use crate::print::{Align, Table, grouped, moment, say};

/// Runs the command.
pub(super) fn run(arguments: &Sessions, shelf: &Shelf) -> anyhow::Result<()> {
    if arguments.purged {
        return purge::list(shelf, arguments.json);
    }
    let filter = SessionFilter {
        agent: arguments.agent.clone(),
        label: arguments.label.clone(),
        platform: arguments.platform.clone(),
        ..SessionFilter::default()
    };
    let mut page = shelf.wait(shelf.ledger.sessions(shelf.tenant, filter, paging(&arguments.paged)))?;
    page.items = page.items.into_iter().map(|session| counted(shelf, session)).collect::<Result<_, _>>()?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        for session in &page.items {
            serde_json::to_writer(&mut out, &as_json(session))?;
            writeln!(out)?;
        }
    } else {
        write!(out, "{}", table(&page.items))?;
    }
    match (page.items.is_empty(), &arguments.paged.after) {
        (true, Some(cursor)) => say(format_args!("no session that fits comes after {cursor}")),
        (true, None) => say("no session is recorded that fits"),
        _ => {}
    }
    if let Some(next) = page.next {
        say_more(next);
    }
    Ok(())
}

/// The session with its compactions alone counted as such. The ledger also counts undos, which are turns of the same kind.
pub(super) fn counted(shelf: &Shelf, mut session: Session) -> anyhow::Result<Session> {
    let (mut at, mut undos) = (session.head.filter(|_| session.compactions > 0), 0);
    // From each compaction to the one before it; there are few of them.
    while let Some(head) = at.take() {
        let Some((turn, record)) = shelf.wait(shelf.ledger.latest_compaction(shelf.tenant, head))? else {
            break;
        };
        undos += u64::from(is_undo(&record));
        if let Some(number) = turn.number.checked_sub(1) {
            let before = shelf.wait(shelf.ledger.turns(shelf.tenant, turn.id, number..turn.number))?;
            at = before.first().map(|turn| turn.id);
        }
    }
    session.compactions = session.compactions.saturating_sub(undos);
    Ok(session)
}

/// All sessions of the tenant.
pub(super) fn all(shelf: &Shelf) -> anyhow::Result<Vec<Session>> {
    let (mut all, mut paging) = (Vec::new(), Some(Paging::first(1000)));
    while let Some(page) = paging.take() {
        let found = shelf.wait(shelf.ledger.sessions(shelf.tenant, SessionFilter::default(), page))?;
        all.extend(found.items);
        paging = found.next.map(|next| Paging::after(next, 1000));
    }
    Ok(all)
}

/// The page that was asked for.
pub(super) fn paging(paged: &Paged) -> Paging {
    let limit = usize::from(paged.limit);
    match paged.after.as_ref().map(|cursor| cursor.parse()) {
        Some(Ok(cursor)) => Paging::after(cursor, limit),
        _ => Paging::first(limit),
    }
}

fn table(sessions: &[Session]) -> String {
    let mut table = Table::new(&[
        ("session", Align::Left),
        ("agent", Align::Left),
        ("begun", Align::Left),
        ("turns", Align::Right),
        ("messages", Align::Right),
        ("tokens", Align::Right),
        ("compacted", Align::Right),
        ("label", Align::Left),
    ]);
    for session in sessions {
        let compacted = match session.compactions {
            0 => String::new(),
            times => format!("{times}×"),
        };
        let fork = if session.origin.is_some() { "↳ " } else { "" };
        table.row([
            pick::short(session.id),
            session.agent.clone(),
            moment(session.created),
            grouped(session.turns),
            grouped(session.messages),
            grouped(session.tokens_total.0),
            compacted,
            format!("{fork}{}", pick::called(session)),
        ]);
    }
    table.render()
}

/// A session as other programs read it.
pub(super) fn as_json(session: &Session) -> Value {
    json!({
        "id": session.id,
        "agent": session.agent,
        "label": session.label,
        "platform": session.platform,
        "channel": session.channel,
        "external": session.external,
        "forked_from": session.origin.map(|origin| json!({
            "session": origin.session, "turn": origin.turn, "messages": origin.messages,
        })),
        "head": session.head,
        "turns": session.turns,
        "messages": session.messages,
        "compactions": session.compactions,
        "tokens": session.tokens_total,
        "context_tokens": session.tokens_used,
        "token_limit": session.token_limit,
        "chain": session.chain.to_string(),
        "created": session.created,
        "updated": session.updated,
    })
}
