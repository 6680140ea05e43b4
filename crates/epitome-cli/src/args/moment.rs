//! Dates and times as people write them.

use epitome_core::Time;

/// A moment: `2026-02-03`, or with a time and a zone behind it.
pub(crate) fn parse_time(text: &str) -> Result<Time, String> {
    let whole = if text.trim().len() == 10 { format!("{}T00:00:00Z", text.trim()) } else { text.to_owned() };
    epitome_wire::files::parse_time(&whole)
        .ok_or_else(|| format!("{text:?} is no time; write 2026-02-03 or 2026-02-03T06:17:55Z"))
}
