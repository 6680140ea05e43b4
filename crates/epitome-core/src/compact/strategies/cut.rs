//! Makes the cut that a seed chooses a legal one.

use crate::compact::cuts::Cuts;
use crate::compact::plan::Limits;

/// A legal cut for the one that was chosen; `None` where nothing was chosen or nothing can be cut.
///
/// A choice that is legal stands. Otherwise the cut moves on to the next exchange, as spec 008.1 v4 has it; but where
/// that would keep less than is `enough`, because one exchange alone exceeds what may be kept, the cut falls inside
/// that exchange, before one of its later turns. What a summary stands for already is not shown again.
pub(crate) fn legal(
    cuts: &Cuts,
    chosen: usize,
    limits: &Limits<'_>,
    enough: impl Fn(usize) -> bool,
) -> Option<usize> {
    let standing = limits.previous.map_or(0, |previous| previous.standing());
    let cut = match chosen {
        0 => None,
        _ if cuts.check(chosen).is_ok() => Some(chosen),
        _ => cuts
            .next(chosen)
            .filter(|cut| enough(*cut))
            .or_else(|| cuts.next_turn(chosen))
            .or_else(|| cuts.previous_turn(chosen)),
    };
    Some(cut.unwrap_or(0).max(standing)).filter(|cut| *cut > cuts.leading())
}
