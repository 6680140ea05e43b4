//! Finding what the user names: a session by the first digits of its id or by its name, a turn by its number.

use epitome_ledger::Paging;
use epitome_ledger::model::{Session, SessionId, Turn};

use super::{Shelf, sessions};
use crate::fail::{failure, misuse};

/// Digits of an id that are shown where it need not be whole.
const DIGITS: usize = 8;

/// The first digits of an id, by which a session is named.
pub(super) fn short(id: SessionId) -> String {
    id.to_string().chars().take(DIGITS).collect()
}

/// What a person calls a session: its label, else the name that its agent knows it under.
pub(super) fn called(session: &Session) -> &str {
    session.label.as_deref().or(session.external.as_deref()).unwrap_or_default()
}

/// Whether this may be the beginning of an id.
pub(super) fn is_id(named: &str) -> bool {
    let is_digit = |digit: char| digit.is_ascii_hexdigit() || digit == '-';
    !named.is_empty() && named.len() <= 36 && named.chars().all(is_digit)
}

/// The session whose id begins like this; where there is none, the one of this name.
pub(super) fn session(shelf: &Shelf, named: &str) -> anyhow::Result<Session> {
    let hint =
        "epitome sessions lists them; the first digits of an id are enough, or the whole name of a session";
    let is_id = is_id(named);
    let found = match is_id {
        true => shelf.wait(shelf.ledger.sessions_by_prefix(shelf.tenant, named))?,
        false => Vec::new(),
    };
    if let Some(session) = only(found, &format!("more than one session begins with {named}"))? {
        return Ok(session);
    }
    let found = by_name(shelf, named)?;
    match only(found, &format!("more than one session is called {named:?}"))? {
        Some(session) => Ok(session),
        None if is_id => Err(failure(format!("no session begins with {named}, and none is called so"), hint)),
        None => Err(misuse(format!("not a session: {named:?}"), hint)),
    }
}

/// The sessions that some agent knows under this name.
pub(super) fn by_name(shelf: &Shelf, name: &str) -> anyhow::Result<Vec<Session>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = sessions::all(shelf)?;
    found.retain(|session| session.external.as_deref() == Some(name));
    Ok(found)
}

// What was found, if anything, unless it is more than one.
fn only(mut found: Vec<Session>, several: &str) -> anyhow::Result<Option<Session>> {
    if found.len() > 1 {
        let some: Vec<String> = found.iter().take(5).map(|session| session.id.to_string()).collect();
        return Err(misuse(several, format!("write more digits of an id: {}", some.join(", "))));
    }
    Ok(found.pop())
}

/// All turns on the path of a session.
pub(super) fn turns(shelf: &Shelf, session: &Session) -> anyhow::Result<Vec<Turn>> {
    let Some(head) = session.head else { return Ok(Vec::new()) };
    let mut turns = Vec::new();
    let mut paging = Paging::first(1000);
    loop {
        let page = shelf.wait(shelf.ledger.history(shelf.tenant, head, paging))?;
        turns.extend(page.items);
        let Some(next) = page.next else { break };
        paging = Paging::after(next, 1000);
    }
    Ok(turns)
}

/// The turn of this number on the path of a session.
pub(super) fn turn(shelf: &Shelf, session: &Session, number: u64) -> anyhow::Result<Turn> {
    let found = turns(shelf, session)?.into_iter().find(|turn| turn.number == number);
    found.ok_or_else(|| {
        let last = session.turns.saturating_sub(1);
        misuse(
            format!("session {} has no turn {number}", short(session.id)),
            format!("its turns are 0 to {last}; epitome history {} prints them", short(session.id)),
        )
    })
}
