//! The numbers by which roles, records and kinds lie in the database. They never change.

use epitome_core::Role;
use epitome_core::knowledge::Kind;

use crate::error::{LedgerError, Result};
use crate::model::{Completeness, FindingMark, Record, TurnKind};

pub(crate) fn of_role(role: Role) -> Result<i64> {
    Ok(match role {
        Role::System => 0,
        Role::Developer => 1,
        Role::User => 2,
        Role::Assistant => 3,
        Role::Tool => 4,
        other => return Err(LedgerError::BadRequest(format!("messages of role {other} cannot be recorded"))),
    })
}

pub(crate) fn role(code: i64) -> Result<Role> {
    Ok(match code {
        0 => Role::System,
        1 => Role::Developer,
        2 => Role::User,
        3 => Role::Assistant,
        4 => Role::Tool,
        other => return Err(LedgerError::damaged(format!("no role has the number {other}"))),
    })
}

pub(crate) fn of_record(record: Record) -> i64 {
    match record {
        Record::Input => 0,
        Record::Reply => 1,
        Record::CutOff => 2,
    }
}

pub(crate) fn record(code: i64) -> Result<Record> {
    Ok(match code {
        0 => Record::Input,
        1 => Record::Reply,
        2 => Record::CutOff,
        other => return Err(LedgerError::damaged(format!("no record has the number {other}"))),
    })
}

pub(crate) fn of_reply(completeness: Completeness) -> Record {
    match completeness {
        Completeness::Whole => Record::Reply,
        Completeness::CutOff => Record::CutOff,
    }
}

pub(crate) fn completeness(code: i64) -> Result<Completeness> {
    match record(code)? {
        Record::CutOff => Ok(Completeness::CutOff),
        Record::Reply => Ok(Completeness::Whole),
        Record::Input => Err(LedgerError::damaged("an input stands in the place of a reply")),
    }
}

pub(crate) fn of_turn(kind: TurnKind) -> i64 {
    match kind {
        TurnKind::Call => 0,
        TurnKind::Compaction => 1,
    }
}

pub(crate) fn turn(code: i64) -> Result<TurnKind> {
    Ok(match code {
        0 => TurnKind::Call,
        1 => TurnKind::Compaction,
        other => return Err(LedgerError::damaged(format!("no kind of turn has the number {other}"))),
    })
}

pub(crate) fn of_knowledge(kind: Kind) -> i64 {
    match kind {
        Kind::Fact => 0,
        Kind::Decision => 1,
        Kind::Preference => 2,
    }
}

pub(crate) fn knowledge(code: i64) -> Result<Kind> {
    Ok(match code {
        0 => Kind::Fact,
        1 => Kind::Decision,
        2 => Kind::Preference,
        other => return Err(LedgerError::damaged(format!("no kind of finding has the number {other}"))),
    })
}

pub(crate) fn of_mark(mark: FindingMark) -> i64 {
    match mark {
        FindingMark::Confirmed => 0,
        FindingMark::Rejected => 1,
        FindingMark::Superseded => 2,
    }
}

pub(crate) fn mark(code: i64) -> Result<FindingMark> {
    Ok(match code {
        0 => FindingMark::Confirmed,
        1 => FindingMark::Rejected,
        2 => FindingMark::Superseded,
        other => return Err(LedgerError::damaged(format!("no mark has the number {other}"))),
    })
}
