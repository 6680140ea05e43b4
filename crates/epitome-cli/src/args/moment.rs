//! Dates and times as people write them.

use epitome_core::Time;

use crate::print::moment;

/// A moment: `2026-02-03`, or with a time and a zone behind it.
pub(crate) fn parse_time(text: &str) -> Result<Time, String> {
    let whole = if text.trim().len() == 10 { format!("{}T00:00:00Z", text.trim()) } else { text.to_owned() };
    let day = whole.get(..10).and_then(|day| epitome_wire::files::parse_time(&format!("{day}T00:00:00Z")));
    // The thirtieth of February is read as the second of March.
    let is_day = day.is_some_and(|day| whole.starts_with(moment(day).get(..10).unwrap_or_default()));
    epitome_wire::files::parse_time(&whole)
        .filter(|_| is_day)
        .ok_or_else(|| format!("{text:?} is no time; write 2026-02-03 or 2026-02-03T06:17:55Z"))
}
