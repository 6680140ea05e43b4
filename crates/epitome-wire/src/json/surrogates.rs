//! Half characters: an escape like `\ud83d` says something only together with the one behind it.

use std::borrow::Cow;

/// An escaped string in which every half without its other half is a replacement character.
pub(crate) fn mended(escaped: &str) -> Cow<'_, str> {
    if !may_have_half(escaped) {
        return Cow::Borrowed(escaped);
    }
    let mut out = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (whole, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(whole);
        rest = behind;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether some half in an escaped text is without its other half.
pub(crate) fn has_half(escaped: &str) -> bool {
    matches!(mended(escaped), Cow::Owned(whole) if whole != escaped)
}

fn may_have_half(escaped: &str) -> bool {
    ["\\ud", "\\uD"].iter().any(|half| escaped.contains(half))
}

/// The number of the `\uXXXX` that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_characters_stay_and_halves_are_replaced() {
        let cases = [
            ("plain \\n", "plain \\n"),
            ("\\ud83d\\ude00", "\\ud83d\\ude00"),
            ("\\uD83D", "\\ufffd"),
            ("a\\ud83d\\n\\ude00b", "a\\ufffd\\n\\ufffdb"),
            ("\\ud83d\\ud83d\\ude00", "\\ufffd\\ud83d\\ude00"),
            ("\\\\ud83d", "\\\\ud83d"),
            ("\\ud7ff\\u00e9é", "\\ud7ff\\u00e9é"),
        ];
        for (escaped, expected) in cases {
            assert_eq!(mended(escaped), expected);
        }
    }
}
