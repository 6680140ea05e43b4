//! Numbers as people read them.

use epitome_core::Tokens;

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    format!("{:#}", Tokens(number))
}

/// A size in bytes with a unit that keeps it short.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if size < 1000 {
        return format!("{size} B");
    }
    let mut value = size as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 999.95 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

/// `part` of `whole` in per cent, with one decimal where it is small.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    // What is nearly all is not all.
    if part < whole && share >= 99.5 {
        return format!("{:.1} %", (share * 10.0).floor() / 10.0);
    }
    if share > 0.0 && share < 9.95 { format!("{share:.1} %") } else { format!("{share:.0} %") }
}

/// `1 message`, `2 messages`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

/// The same of what a ledger counts.
pub(crate) fn count(count: u64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
        let cases = [(999, "999 B"), (1000, "1.0 KB"), (999_960, "1.0 MB"), (32_000_000, "32.0 MB")];
        for (size, expected) in cases {
            assert_eq!(bytes(size), expected);
        }
        let cases = [
            (1, 3, "33 %"),
            (1, 100, "1.0 %"),
            (0, 5, "0 %"),
            (5, 5, "100 %"),
            (1, 0, "0 %"),
            (9_996, 10_000, "99.9 %"),
        ];
        for (part, whole, expected) in cases {
            assert_eq!(percent(part, whole), expected);
        }
        assert_eq!(plural(1, "turn"), "1 turn");
        assert_eq!(plural(2000, "turn"), "2,000 turns");
    }
}
