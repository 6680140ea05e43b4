//! Finding what the user names: a session by the first digits of its id, a turn by its number.

use epitome_ledger::Paging;
use epitome_ledger::model::{Session, SessionId, Turn};

use super::Shelf;
use crate::fail::{failure, misuse};

/// Digits of an id that are shown where it need not be whole.
const DIGITS: usize = 8;

/// The first digits of an id, by which a session is named.
pub(super) fn short(id: SessionId) -> String {
    id.to_string().chars().take(DIGITS).collect()
}

/// The session whose id begins like this.
pub(super) fn session(shelf: &Shelf, named: &str) -> anyhow::Result<Session> {
    let hint = "epitome sessions lists them; the first digits of an id are enough";
    let is_id = |digit: char| digit.is_ascii_hexdigit() || digit == '-';
    if named.is_empty() || named.len() > 36 || !named.chars().all(is_id) {
        return Err(misuse(format!("not a session: {named:?}"), hint));
    }
    let mut found = shelf.wait(shelf.ledger.sessions_by_prefix(shelf.tenant, named))?;
    match found.len() {
        0 => Err(failure(format!("no session begins with {named}"), hint)),
        1 => Ok(found.remove(0)),
        _ => {
            let some: Vec<String> = found.iter().take(5).map(|session| session.id.to_string()).collect();
            Err(misuse(
                format!("more than one session begins with {named}"),
                format!("write more digits: {}", some.join(", ")),
            ))
        }
    }
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
